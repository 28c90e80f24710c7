package control

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// orders returns a control ConfigMap with the mode and what inference offers.
func (w *world) orders(mode string) *corev1.ConfigMap {
	m := switchTo(mode)
	if w.play.amounts {
		m.Data[amountsKey] = w.bounds
	}
	if w.play.loans {
		m.Data[offerKey] = fmt.Sprint(w.offer)
		if !w.by.IsZero() {
			m.Data[reclaimKey] = w.by.UTC().Format(time.RFC3339)
		}
	}
	return m
}

// changeOffer changes how many nodes inference offers, and when it wants the others back: at once, or some minutes later.
func (w *world) changeOffer() bool {
	if !w.play.loans {
		return false
	}
	w.offer, w.by = w.draw.IntN(soakLent+1), time.Time{}
	if w.draw.IntN(2) == 0 {
		w.by = w.now().Add(w.skew + time.Duration(w.draw.IntN(300))*time.Second)
	}
	if m := w.maps["ns/"+ControlName]; m != nil && m.Data[modeKey] == "live" {
		w.putMap(w.orders("live"))
	}
	return true
}

func inference(n *corev1.Node) bool { return n.Labels[mirror.PoolLabel] == mirror.InferencePool }

// lent reports whether a node is on loan and not being returned.
func lent(n *corev1.Node) bool {
	return n.Labels[mirror.LoanedToLabel] == mirror.TrainingPool && n.Labels[mirror.ReturningLabel] == ""
}

// marked checks a change of a node's labels and taints by the program.
func (k *invariants) marked(was, is *corev1.Node) {
	k.counts["mark"]++
	if k.mode != Live {
		k.breach("node %s is changed in mode %s", is.Name, k.mode)
	}
	if !inference(is) {
		k.breach("node %s is changed, and is not of the inference pool", is.Name)
	}
	_, out := is.Labels[mirror.LoanedToLabel]
	_, before := was.Labels[mirror.LoanedToLabel]
	ours := func(t corev1.Taint) bool { return t.Key == mirror.LoanedToLabel }
	if out != slices.ContainsFunc(is.Spec.Taints, ours) {
		k.breach("node %s has labels %v and taints %v", is.Name, is.Labels, is.Spec.Taints)
	}
	switch {
	case lent(is) && !lent(was):
		k.counts["lend"]++
		if k.onLoan() >= k.offer {
			k.breach("node %s is lent beyond the %d nodes that inference offers", is.Name, k.offer)
		}
	case before && !out:
		k.counts["return"]++
		for _, pod := range k.w.pods {
			if own(pod) && !mirror.Ended(pod) && k.at(pod) == is.Name {
				k.breach("node %s is returned with pod %s", is.Name, key(pod))
			}
		}
	}
}

// onLoan returns how many nodes are on loan and not being returned.
func (k *invariants) onLoan() (n int) {
	for _, node := range k.w.nodes {
		if lent(node) {
			n++
		}
	}
	return n
}

// marks returns how many nodes are on loan, or being returned.
func (w *world) marks() (n int) {
	for _, node := range w.nodes {
		if node.Labels[mirror.LoanedToLabel] != "" {
			n++
		}
	}
	return n
}

// used returns how many nodes of the inference pool are on loan, or have pods of the program, which others may have bound there.
func (k *invariants) used() (n int) {
	for name, node := range k.w.nodes {
		holds := func(pod *corev1.Pod) bool { return own(pod) && !mirror.Ended(pod) && k.at(pod) == name }
		if inference(node) && (node.Labels[mirror.LoanedToLabel] != "" || slices.ContainsFunc(k.w.podList(), holds)) {
			n++
		}
	}
	return n
}

// reclaims reports whether a gang has a pod on a node that inference wants back, now or later.
func (k *invariants) reclaims(gang string, now bool) bool {
	for _, pod := range k.w.pods {
		n := k.w.nodes[k.at(pod)]
		if gangName(pod) == gang && n != nil && inference(n) && (n.Labels[mirror.ReturningLabel] != "" || (k.overdue || !now) && k.used() > k.offer) {
			return true
		}
	}
	return false
}

// scaled checks the number of pods that the program sets for the owner of an elastic gang. A gang of which pods have succeeded
// needs fewer.
func (k *invariants) scaled(is *batchv1.Job) {
	k.counts["scale"]++
	if k.mode != Live {
		k.breach("job %s is scaled in mode %s", key(is), k.mode)
	}
	for _, g := range k.w.gangs {
		if n := int(*is.Spec.Parallelism); g.key() == key(is) && !g.over && (n < g.least || n > g.pods) {
			k.breach("job %s is scaled to %d pods, want %d to %d", key(is), n, g.least, g.pods)
		}
	}
}
