package belief

import (
	"math"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

// TestSpeedsFollowBeliefs checks that Speed answers by what Of says of the present configuration, however often other
// configurations were asked about and whatever was read or saved in between, and that after a Save it answers like a belief that
// was never asked before.
func TestSpeedsFollowBeliefs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, learns := newToy(t, 8), rapid.IntRange(0, 9).Draw(t, "learns") > 0
		l, silent := NewSpeeds(learns), NewSpeeds(learns)
		spec := cluster.JobSpec{Model: "vision", User: "ada", Workers: rapid.Int32Range(1, 2).Draw(t, "workers"), Request: amount(3)}
		c.submit(spec)
		c.submit(spec)
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			saved := false
			switch rapid.IntRange(0, 3).Draw(t, "between") {
			case 0:
				drawReadings(t, c, l, silent)
			case 1:
				saved = true
			}
			id := cluster.JobID(rapid.IntRange(0, int(c.n)-1).Draw(t, "job"))
			tx := c.Begin(nil)
			for range rapid.IntRange(1, 12).Draw(t, "placements") {
				a := amount(float64(rapid.IntRange(1, 9).Draw(t, "cores")))
				if tx.Place(id, cluster.Placement{{Workers: c.Spec(id).Workers, Amount: a}}) != nil {
					continue
				}
				got, at := l.Speed(&c.View, id), c.Configuration(id)
				if mean, _ := l.Of(&c.View, c.Spec(id), &at); got != math.Exp(mean) {
					t.Fatalf("speed %v in %+v, want %v", got, at, math.Exp(mean))
				}
				if saved {
					l.Save()
					silent.Save()
					if got, want := l.Speed(&c.View, id), silent.Speed(&c.View, id); got != want {
						t.Fatalf("saved, it says %v in %+v, want %v", got, at, want)
					}
				}
				tx.Rollback(0)
			}
		}
	})
}
