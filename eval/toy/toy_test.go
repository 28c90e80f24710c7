package toy

import (
	"bytes"
	"encoding/csv"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
)

func TestBest(t *testing.T) {
	const m = time.Minute
	for _, c := range []struct {
		name        string
		e           Episode
		start, wait time.Duration // sums
	}{
		// Started at once: the single worker ends at 101, and the gang runs from 101 to 121. If it waits, the gang runs from 2 to 22 and
		// the single worker to 122. Both came at 1.
		{"waiting is right", Episode{2 * m, 20 * m, 100 * m}, (2 + 100 + 120) * m, (2 + 21 + 121) * m},
		// Started at once: it ends at 11, and the gang runs from 60 to 80.
		{"starting is right", Episode{60 * m, 20 * m, 10 * m}, (60 + 10 + 79) * m, (60 + 79 + 89) * m},
	} {
		if c.e.Start() != c.start/3 || c.e.Wait() != c.wait/3 || c.e.Best() != min(c.start, c.wait)/3 {
			t.Errorf("%s: %v and %v, want %v and %v", c.name, c.e.Start(), c.e.Wait(), c.start/3, c.wait/3)
		}
	}
}

// TestDraw checks that draws repeat, that both choices are right often, and that no restart could pay.
func TestDraw(t *testing.T) {
	all := Draw(3, 400)
	if !slices.Equal(all, Draw(3, 400)) || slices.Equal(all, Draw(4, 400)) {
		t.Error("draws do not depend on the seed alone")
	}
	waits := 0
	for i := range all {
		e := &all[i]
		if e.Wait() < e.Start() {
			waits++
		}
		if e.First > Longest || e.First+e.Gang+e.Single > gap {
			t.Errorf("%+v is too long", e)
		}
	}
	if waits < 100 || waits > 300 {
		t.Errorf("waiting is right in %d of 400", waits)
	}
	var b bytes.Buffer
	must.Do(t, WriteCSV(&b, all))
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 1+3*400 || rows[5][1] != "2" || rows[5][2] != "86460" {
		t.Errorf("%d rows, error %v", len(rows), err)
	}
}
