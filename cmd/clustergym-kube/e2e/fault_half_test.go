package e2e

import (
	"time"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// whole notes whether a gang is bound in part, and for how long it was. A pod that has succeeded holds nothing, and nobody
// waits for it.
func (k *checker) whole(gang string) {
	need := k.need[gang]
	if need == 0 {
		return
	}
	bound := 0
	for _, pod := range k.pods {
		switch {
		case gangOf(pod) != gang || pod.DeletionTimestamp != nil:
		case mirror.Ended(pod):
			need--
		case pod.Spec.NodeName != "":
			bound++
		}
	}
	since, was := k.half[gang]
	switch half := bound > 0 && bound < need; {
	case half && !was:
		k.half[gang] = time.Now().Add(-k.still())
	case !half && was:
		k.over(gang, since)
		delete(k.half, gang)
	}
}

// over ends the time that a gang was bound in part.
func (k *checker) over(gang string, since time.Time) {
	took := time.Now().Add(-k.still()).Sub(since)
	k.worst = max(k.worst, took)
	if took > gangDeadline+gangSlack {
		k.fault("gang %s was bound in part for %v, want at most %v and some", gang, took.Round(time.Millisecond), gangDeadline)
	}
}

// still is for how long the checker's clock has stood still.
func (k *checker) still() time.Duration {
	if k.since.IsZero() {
		return k.stopped
	}
	return k.stopped + time.Since(k.since)
}

// freeze stops the clock of gangs that are bound in part: nobody can do anything about them. thaw has it go on.
func (k *checker) freeze() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.since = time.Now()
}

func (k *checker) thaw() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped, k.since = k.still(), time.Time{}
}
