package mirror

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/env/pods"
)

// terms reads what users state about a gang whose pods have so many GPUs each. It returns a fault if some of that is wrong.
func (b *builder) terms(c *podGang, own []*corev1.Pod, podGPUs int32) (t pods.Terms, f *fault) {
	read := make([]*pods.Pod, len(own))
	for i, pod := range own {
		read[i] = gang.Neutral(pod)
	}
	t, wrong := c.Terms(read, c.Elastic(podGPUs))
	t.Estimate = cmp.Or(t.Estimate, min(max(b.Estimate, 0), longest))
	switch {
	case c.Other != 0:
		f = faultf(reasonPodsDiffer, "annotation %s is %d and %d on pods of one gang, want one number",
			pods.MinMemberNote, c.Least, c.Other)
	case len(wrong) > 0:
		f = faultf(reasonAnnotation, "%v", wrong[0])
	}
	return t, f
}
