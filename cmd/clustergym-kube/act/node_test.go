package act

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/internal/must"
)

type rt = runtime.Object

var (
	taintLoan  = corev1.Taint{Key: mirror.LoanedToLabel, Value: mirror.TrainingPool, Effect: corev1.TaintEffectNoSchedule}
	taintOther = corev1.Taint{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule}
	taintAlien = corev1.Taint{Key: mirror.LoanedToLabel, Value: "x", Effect: corev1.TaintEffectNoExecute} // not ours
)

func testNode(labels map[string]string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "un", ResourceVersion: "7", Labels: labels},
		Spec:       corev1.NodeSpec{Taints: taints},
	}
}

func TestLoans(t *testing.T) {
	loaned := map[string]string{"a": "b", mirror.LoanedToLabel: mirror.TrainingPool}
	returning := map[string]string{"a": "b", mirror.LoanedToLabel: mirror.TrainingPool, mirror.ReturningLabel: "true"}
	plain := map[string]string{"a": "b"}
	for _, test := range []struct {
		name    string
		do      func(*Actor) error
		node    *corev1.Node
		labels  map[string]string
		taints  []corev1.Taint
		patches int
	}{
		{"loan", func(a *Actor) error { return a.Loan(t.Context(), "n") },
			testNode(plain, taintOther, taintAlien), loaned, []corev1.Taint{taintOther, taintAlien, taintLoan}, 1},
		{"loan of a node without labels", func(a *Actor) error { return a.Loan(t.Context(), "n") },
			testNode(nil), map[string]string{mirror.LoanedToLabel: mirror.TrainingPool}, []corev1.Taint{taintLoan}, 1},
		{"loan again", func(a *Actor) error { return a.Loan(t.Context(), "n") },
			testNode(loaned, taintLoan, taintOther), loaned, []corev1.Taint{taintLoan, taintOther}, 0},
		{"loan where the taint was lost", func(a *Actor) error { return a.Loan(t.Context(), "n") },
			testNode(loaned, taintOther), loaned, []corev1.Taint{taintOther, taintLoan}, 1},
		{"loan of a node that is being returned", func(a *Actor) error { return a.Loan(t.Context(), "n") },
			testNode(returning, taintLoan), loaned, []corev1.Taint{taintLoan}, 1},
		{"start return", func(a *Actor) error { return a.StartReturn(t.Context(), "n") },
			testNode(loaned, taintOther, taintLoan), returning, []corev1.Taint{taintOther, taintLoan}, 1},
		{"start return again", func(a *Actor) error { return a.StartReturn(t.Context(), "n") },
			testNode(returning, taintLoan), returning, []corev1.Taint{taintLoan}, 0},
		{"start return of a node that is not on loan", func(a *Actor) error { return a.StartReturn(t.Context(), "n") },
			testNode(plain, taintOther), plain, []corev1.Taint{taintOther}, 0},
		{"end return", func(a *Actor) error { return a.EndReturn(t.Context(), "n") },
			testNode(returning, taintOther, taintLoan, taintAlien), plain, []corev1.Taint{taintOther, taintAlien}, 1},
		{"end return again", func(a *Actor) error { return a.EndReturn(t.Context(), "n") },
			testNode(plain, taintOther), plain, []corev1.Taint{taintOther}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := fake.NewClientset(test.node)
			must.Do(t, test.do(&Actor{Client: client}))
			expectNode(t, client, test.labels, test.taints)
			if n := calls(client, "patch", "nodes"); n != test.patches {
				t.Errorf("%d patches, want %d", n, test.patches)
			}
		})
	}
}

func expectNode(t *testing.T, client *fake.Clientset, labels map[string]string, taints []corev1.Taint) {
	t.Helper()
	node := must.Get(client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{}))(t)
	if !maps.Equal(node.Labels, labels) {
		t.Errorf("labels %v, want %v", node.Labels, labels)
	}
	if !slices.Equal(node.Spec.Taints, taints) {
		t.Errorf("taints %v, want %v", node.Spec.Taints, taints)
	}
}

// TestLoanMinglesWithOthers checks that Loan keeps a taint and a label that somebody else adds between its read and its write.
func TestLoanMinglesWithOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(testNode(nil))
		late := 2
		client.PrependReactor("patch", "nodes", func(action ktesting.Action) (bool, rt, error) {
			patch := string(action.(ktesting.PatchAction).GetPatch())
			if late > 0 {
				late--
				other := testNode(map[string]string{"late": "1"}, taintOther)
				other.ResourceVersion = "8"
				return true, nil, errors.Join(client.Tracker().Update(action.GetResource(), other, ""), conflict("n"))
			}
			if want := `"resourceVersion":"8"`; !containsOnce(patch, want) {
				t.Errorf("patch %s, want %s in it", patch, want)
			}
			return false, nil, nil
		})
		a := Actor{Client: client}
		must.Do(t, a.Loan(t.Context(), "n"))
		expectNode(t, client, map[string]string{"late": "1", mirror.LoanedToLabel: mirror.TrainingPool}, []corev1.Taint{taintOther, taintLoan})
	})
}

func TestLoanFails(t *testing.T) {
	a := Actor{Client: fake.NewClientset()}
	if err := a.Loan(t.Context(), "n"); !errors.Is(err, ErrGone) {
		t.Errorf("no such node: got %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(testNode(nil))
		failing(client, "patch", "nodes", conflict("n"), conflict("n"), conflict("n"), conflict("n"))
		a := Actor{Client: client}
		if err := a.Loan(t.Context(), "n"); err == nil || calls(client, "patch", "nodes") != attempts {
			t.Errorf("others always faster: got %v after %d patches", err, calls(client, "patch", "nodes"))
		}
	})
}
