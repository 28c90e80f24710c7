package control

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/internal/must"
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
		must.Do(t, l.book(t.Context(), n, noon))
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

// TestStopsOfAProcessCount checks that the stops of a process count for an hour by its monotonic clock, though somebody sets the
// clock of its machine forward by a day and deletes the ledger.
func TestStopsOfAProcessCount(t *testing.T) {
	l, client, _ := liveLoop(t)
	l.ledger.limit = 2
	wall := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	must.Do(t, l.ledger.book(t.Context(), 2, both(wall, time.Hour)))
	must.Do(t, client.CoreV1().ConfigMaps("ns").Delete(t.Context(), ledgerName, metav1.DeleteOptions{}))
	for _, x := range []struct {
		after time.Duration
		want  int
	}{{time.Minute, 0}, {59 * time.Minute, 0}, {time.Hour, 2}} {
		l.ledger.known = false
		got, err := l.ledger.left(t.Context(), both(wall.Add(24*time.Hour+x.after), time.Hour+x.after))
		if err != nil || got != x.want {
			t.Errorf("%v later: %d stops are left, error %v, want %d", x.after, got, err, x.want)
		}
	}
}
