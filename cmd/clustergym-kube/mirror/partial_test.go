package mirror

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/internal/must"
)

// TestPartlyBoundGangsThatCannotBeCompleted checks that a partly bound gang of which a waiting pod is refused counts as partly
// bound, so that it is given up in time: it holds GPUs.
func TestPartlyBoundGangsThatCannotBeCompleted(t *testing.T) {
	in := inGang("g", 3)
	o := &Objects{Nodes: []*corev1.Node{aNode("a")}, Pods: []*corev1.Pod{
		aPod("p0", in, on("a")), aPod("p1", in), aPod("p2", in, asks(gpu, "7")),
	}}
	v := must.Get(Build(o, config(), now))(t)
	if len(v.Partial) != 1 || len(v.Partial[0].Bound) != 1 || v.Partial[0].Lacks != 2 || len(v.Refused) != 2 {
		t.Errorf("%d gangs are partly bound, %d pods refused, want 1 and 2: %+v", len(v.Partial), len(v.Refused), v.Partial)
	}
}
