package control

import (
	"fmt"
	"testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
)

// TestDoubtsOfFullNodes checks that a binding whose answer was lost is not repeated to a node that takes the pod no longer: the
// program asks where the pod is.
func TestDoubtsOfFullNodes(t *testing.T) {
	for _, x := range []struct {
		node, want string
	}{{"", ""}, {"n1", "n1"}, {"n2", ""}} {
		pod := aPod("p", "")
		l, client, _ := liveLoop(t, aPod("p", x.node))
		l.bound.note(act.Binding{Pod: pod, Node: "n1"}, fmt.Errorf("bind: %w", act.ErrUnknown))
		if err := l.bound.dispel(t.Context(), l.Actor, func(act.Binding) bool { return false }); err != nil {
			t.Fatal(err)
		}
		if got := l.bound.node[pod.UID]; got != x.want || len(l.bound.doubt) > 0 {
			t.Errorf("the pod is on %q, and counts as bound to %q, with %d in doubt", x.node, got, len(l.bound.doubt))
		}
		if got := names(client, "create", "binding"); len(got) > 0 {
			t.Errorf("the program has bound %v", got)
		}
	}
}
