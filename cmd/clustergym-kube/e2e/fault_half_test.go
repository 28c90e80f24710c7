package e2e

import (
	"time"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// whole notes in the checker's map since at which instant a gang became partly bound: some of its pods are bound, others are
// missing. A pod that has succeeded does not count as missing.
func (k *checker) whole(gang string) {
	bound, need := k.members(gang)
	if k.need[gang] == 0 {
		return
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

// members returns how many pods of a gang are bound, and how many have to be.
func (k *checker) members(gang string) (bound, need int) {
	need = k.need[gang]
	for _, pod := range k.pods {
		switch {
		case gangOf(pod) != gang || pod.DeletionTimestamp != nil:
		case mirror.Ended(pod):
			need--
		case pod.Spec.NodeName != "":
			bound++
		}
	}
	return bound, need
}

// over records how long a gang was partly bound.
func (k *checker) over(gang string, since time.Time) {
	took := time.Now().Add(-k.still()).Sub(since)
	k.worst = max(k.worst, took)
	if took > gangDeadline+gangSlack {
		k.fault("gang %s was bound in part for %v, want at most %v and some", gang, took.Round(time.Millisecond), gangDeadline)
	}
}

// still returns for how long the checker's clock was frozen in total.
func (k *checker) still() time.Duration {
	if k.since.IsZero() {
		return k.stopped
	}
	return k.stopped + time.Since(k.since)
}

// freeze stops the checker's clock while no program can complete a partly bound gang. thaw starts the clock again.
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
