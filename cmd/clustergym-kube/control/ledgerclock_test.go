package control

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStopsOfAProcessCount checks that the stops of a process count for an hour by its monotonic clock, though somebody sets the
// clock of its machine forward by a day and deletes the ledger.
func TestStopsOfAProcessCount(t *testing.T) {
	l, client, _ := liveLoop(t)
	l.ledger.limit = 2
	wall := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := l.ledger.book(t.Context(), 2, both(wall, time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ConfigMaps("ns").Delete(t.Context(), ledgerName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
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
