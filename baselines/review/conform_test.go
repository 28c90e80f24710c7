package review_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/review"
	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

// drawReview draws what is offered over a base. One that chooses amounts itself does not expect others.
func drawReview(t *rapid.T, base string) review.Config {
	name, _, _ := strings.Cut(base, "+")
	b, _ := baselines.Find(name)
	return usual(t, base, func(c *review.Config) {
		c.Menu = c.Menu || b.Orders() && rapid.Bool().Draw(t, "menu")
		c.Deltas = rapid.Bool().Draw(t, "deltas")
		c.Items = rapid.SampledFrom([]int{0, 1, 3, 7, 20}).Draw(t, "items")
		c.Hold = time.Duration(rapid.SampledFrom([]int{1, 30, 400, 7200}).Draw(t, "hold")) * time.Second
	})
}

// Where the judge prefers the base's own, the log is that of the base alone, byte for byte.
func TestTheBaseGoesOnAsIfAlone(t *testing.T) {
	choices := 0
	names := bases()
	many(t, 1000, func(t *rapid.T) {
		e, base := drawEpisode(t), rapid.SampledFrom(names).Draw(t, "base")
		plain, err := baselines.New(base)
		if err != nil {
			t.Fatal(err)
		}
		want := written(t, end(t, begin(t, e), plain))
		j := &judge{choose: func(*cluster.Txn, []review.Offer) (int, error) {
			choices++
			return 0, nil
		}}
		if got := written(t, end(t, begin(t, e), review.New("reviewed", drawReview(t, base), j))); got != want {
			t.Fatalf("%s under review:\n%s\nalone:\n%s", base, got, want)
		}
	})
	if t.Logf("%d choices", choices); choices < 500 {
		t.Errorf("%d choices in all, want 500 or more", choices)
	}
}

// Whatever a judge takes, every job finishes and nobody errs. At every choice the offers are at most as many as wanted, the
// first is the base's own, all others are feasible, each starts, moves and stops what its kind says, and the state is what the
// operations so far have made of the one at the beginning: thinking leaves no trace.
func TestAnyChoiceWillDo(t *testing.T) {
	var seen [review.Kinds]int
	names := bases()
	many(t, 2000, func(t *rapid.T) {
		e, base := drawEpisode(t), rapid.SampledFrom(names).Draw(t, "base")
		c := drawReview(t, base)
		take := taste(t)
		var before cluster.State
		choices := 0
		p := review.New("reviewed", c, &judge{
			begin: func(tx *cluster.Txn) {
				choices = 0
				if len(tx.Ops()) > 0 {
					t.Fatalf("%d operations at the beginning", len(tx.Ops()))
				}
				tx.State().CopyTo(&before)
			},
			choose: func(tx *cluster.Txn, offers []review.Offer) (int, error) {
				if choices++; choices > endless {
					t.Fatalf("%s: %d choices in one decision", base, choices)
				}
				now, trace := portray(tx.State()), before.Txn()
				for _, o := range tx.Ops() {
					if p := o.Proposal(); trace.Do(&p) != nil {
						t.Fatalf("%s: operation %+v is not feasible at the beginning", base, p)
					}
				}
				if want := portray(&before); now != want {
					t.Fatalf("%s: the state is\n%s\nwant that after %d operations\n%s", base, now, len(tx.Ops()), want)
				}
				trace.Rollback(0)
				if n := len(offers) - 1; n < 1 || n > c.Items && offers[1].Kind != review.Veto {
					t.Fatalf("%s: %d offers, want 1 to %d", base, n, c.Items)
				}
				for i := range offers {
					o, mark := &offers[i], tx.Mark()
					if (o.Kind == review.Own) != (i == 0) {
						t.Fatalf("%s: offer %d is %v", base, i, o.Kind)
					}
					if err := o.Apply(tx); err != nil {
						t.Fatalf("%s: offer %d, %v, is not feasible: %v", base, i, o.Kind, err)
					}
					if err := says(o); err != nil {
						t.Fatalf("%s: %v", base, err)
					}
					tx.Rollback(mark)
				}
				if is := portray(tx.State()); is != now {
					t.Fatalf("%s: the state was\n%s\nand became, after offers that were taken back,\n%s", base, now, is)
				}
				i := take(offers)
				seen[offers[i].Kind]++
				return i, nil
			},
		})
		end(t, begin(t, e), p)
	})
	t.Logf("took %v", seen)
	for kind, n := range seen {
		if n == 0 {
			t.Errorf("never took %v", review.Kind(kind))
		}
	}
}

// taste draws what a judge prefers: anything, anything but the base's own, or some kinds to others.
func taste(t *rapid.T) func(offers []review.Offer) int {
	draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "draws"), 1))
	rank := draw.Perm(review.Kinds)
	tastes := []func(offers []review.Offer) int{
		func(offers []review.Offer) int { return draw.IntN(len(offers)) },
		func(offers []review.Offer) int { return 1 + draw.IntN(len(offers)-1) },
		func(offers []review.Offer) int {
			best := 0
			for i := range offers {
				if rank[offers[i].Kind] < rank[offers[best].Kind] {
					best = i
				}
			}
			return best
		},
	}
	return rapid.SampledFrom(tastes).Draw(t, "taste")
}

// says reports an offer whose operations are not what its kind says.
func says(o *review.Offer) error {
	kinds := ""
	for _, p := range o.Ops {
		kinds += p.Kind.String() + " "
	}
	want := map[review.Kind]string{
		review.Packed: "place ", review.Alone: "place ", review.Aligned: "place ", review.Sized: "place ", review.First: "place ",
		review.Begin: "place ", review.Drop: "place ", review.Preempt: "preempt place ", review.Grow: "resize ",
	}
	text, told := want[o.Kind]
	switch o.Kind {
	case review.Wait, review.Stop, review.Reserve, review.Gather:
		told = true
	case review.Move:
		if kinds == "migrate " || kinds == "resize " {
			return nil
		}
		told = true
	}
	if told && kinds != text {
		return fmt.Errorf("%v does %q, want %q", o.Kind, kinds, text)
	}
	return nil
}
