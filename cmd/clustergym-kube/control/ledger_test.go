package control

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
)

// TestLedger checks that the hour's stops survive the process and expire after the hour, and that no stops are allowed if the
// ledger cannot be written.
func TestLedger(t *testing.T) {
	client := fake.NewClientset()
	open := func() *ledger { return &ledger{client: client, namespace: "ns", limit: 3} }
	left := func(l *ledger, now time.Time, want int) {
		t.Helper()
		if n, err := l.left(t.Context(), now); n != want || err != nil {
			t.Errorf("%d stops left, error %v; want %d", n, err, want)
		}
	}
	l := open()
	left(l, noon, 3)
	for _, n := range []int{1, 1} {
		if err := l.book(t.Context(), n, noon); err != nil {
			t.Fatal(err)
		}
	}
	left(l, noon, 1)
	left(open(), noon.Add(59*time.Minute), 1)
	left(open(), noon.Add(time.Hour), 3)
	broken := errors.New("no such luck")
	client.PrependReactor("update", "configmaps", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, broken })
	if err := l.book(t.Context(), 1, noon); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	left(l, noon, 1)
	client.PrependReactor("get", "configmaps", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, broken })
	if n, err := open().left(t.Context(), noon); n != 0 || !errors.Is(err, broken) {
		t.Errorf("%d stops left, error %v; want none that the ledger does not know", n, err)
	}
	odd := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: ledgerName}, Data: map[string]string{stopsKey: "many"},
	})
	if n, err := (&ledger{client: odd, namespace: "ns", limit: 3}).left(t.Context(), noon); n != 0 || err == nil {
		t.Errorf("%d stops left, error %v; want none by a ledger that cannot be read", n, err)
	}
}

// TestBound checks that a binding is stored until the watch shows it, even if its result is unknown.
func TestBound(t *testing.T) {
	pods := crew{name: "g", pods: 4, gpus: 1}.list()
	b := newBound()
	for i, err := range []error{nil, act.ErrUnknown, act.ErrElsewhere, nil} {
		b.note(act.Binding{Pod: pods[i], Node: "a"}, err)
	}
	expect := func(when string, want ...types.UID) {
		t.Helper()
		for _, uid := range want {
			if b.node[uid] != "a" {
				t.Errorf("%s: pod %s is forgotten", when, uid)
			}
		}
		if len(b.node) != len(want) {
			t.Errorf("%s: %v remembered, want %v", when, b.node, want)
		}
	}
	b.settle(pods)
	expect("at once", "g-0", "g-1", "g-3")
	pods[0].Spec.NodeName = "a"
	b.settle(pods)
	expect("when the watch shows one", "g-1", "g-3")
	b.settle(pods[:1])
	expect("when the others are gone")
	if len(b.doubt) > 0 {
		t.Errorf("%d pods are in doubt that are gone", len(b.doubt))
	}
}
