package candidates_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// drawReview draws the configuration of the search beside a base. It adds Menu only for a base that does not choose amounts
// itself.
func drawReview(t *rapid.T, base string) candidates.Config {
	name, _, _ := strings.Cut(base, "+")
	b, _ := all.Table().Find(name)
	return usual(t, base, func(c *candidates.Config) {
		c.Menu = c.Menu || b.Orders() && rapid.Bool().Draw(t, "menu")
		c.Deltas = rapid.Bool().Draw(t, "deltas")
		c.Items = rapid.SampledFrom([]int{0, 1, 3, 7, 20}).Draw(t, "items")
		c.Hold = time.Duration(rapid.SampledFrom([]int{1, 30, 400, 7200}).Draw(t, "hold")) * time.Second
	})
}

// TestTheBaseGoesOnAsIfAlone checks that, if the judge always takes the base's own candidate, the log is that of the base alone,
// byte for byte.
func TestTheBaseGoesOnAsIfAlone(t *testing.T) { goesOnAsIfAlone(t, 1000, drawReview) }

// goesOnAsIfAlone checks this under drawn settings, and that there are choices.
func goesOnAsIfAlone(t *testing.T, times int, draw func(t *rapid.T, base string) candidates.Config) {
	choices := 0
	names := bases()
	simtest.Many(t, times, func(t *rapid.T) {
		e, base := simtest.Draw(t), rapid.SampledFrom(names).Draw(t, "base")
		plain := must.Get(all.New(base))(t)
		want := simtest.Written(t, simtest.End(t, simtest.Begin(t, e), plain))
		j := &judge{choose: func(*cluster.Txn, []candidates.Candidate) (int, error) {
			choices++
			return 0, nil
		}}
		if got := simtest.Written(t, simtest.End(t, simtest.Begin(t, e), candidates.New("reviewed", draw(t, base), j))); got != want {
			t.Fatalf("%s under review:\n%s\nalone:\n%s", base, got, want)
		}
	})
	if t.Logf("%d choices", choices); choices < 500 {
		t.Errorf("%d choices in all, want 500 or more", choices)
	}
}

// TestAnyChoiceWillDo checks that, whatever a judge takes, every job finishes and no error occurs. At every choice there are at
// most as many candidates as configured, the first is the base's own, all are feasible, and each starts, moves and stops what its
// kind says and has the members that a plain loop finds. The state contains only the effect of the operations so far: the search
// leaves no trace.
func TestAnyChoiceWillDo(t *testing.T) {
	var seen [candidates.Narrow]int
	var known coalitionsSeen
	names := bases()
	simtest.Many(t, 2000, func(t *rapid.T) {
		e, base := simtest.Draw(t), rapid.SampledFrom(names).Draw(t, "base")
		c := drawReview(t, base)
		take := taste(t)
		var before cluster.State
		var planned []start
		inner := c.Base
		c.Base = func() cluster.Scheduler { return planner{inner(), &planned} }
		choices, departed := 0, false
		p := candidates.New("reviewed", c, &judge{
			begin: func(tx *cluster.Txn) {
				choices = 0
				if len(tx.Ops()) > 0 {
					t.Fatalf("%d operations at the beginning", len(tx.Ops()))
				}
				tx.View().CopyTo(&before)
			},
			choose: func(tx *cluster.Txn, list []candidates.Candidate) (int, error) {
				if choices++; choices > endless {
					t.Fatalf("%s: %d choices in one decision", base, choices)
				}
				now, trace := simtest.Portray(tx.View()), before.Txn()
				for _, o := range tx.Ops() {
					if p := o.Proposal(); trace.Do(&p) != nil {
						t.Fatalf("%s: operation %+v is not feasible at the beginning", base, p)
					}
				}
				if want := simtest.Portray(&before.View); now != want {
					t.Fatalf("%s: the state is\n%s\nwant that after %d operations\n%s", base, now, len(tx.Ops()), want)
				}
				trace.Rollback(0)
				if n := len(list) - 1; n < 1 || n > c.Items && list[1].Kind != candidates.Veto {
					t.Fatalf("%s: %d candidates beside its own, want 1 to %d", base, n, c.Items)
				}
				for i := range list {
					o, mark := &list[i], tx.Mark()
					if (o.Kind == candidates.Own) != (i == 0) {
						t.Fatalf("%s: candidate %d is %v", base, i, o.Kind)
					}
					if err := o.Apply(tx); err != nil {
						t.Fatalf("%s: candidate %d, %v, is not feasible: %v", base, i, o.Kind, err)
					}
					if err := says(o); err != nil {
						t.Fatalf("%s: %v", base, err)
					}
					tx.Rollback(mark)
					checkMembers(t, tx, list, i, planned, departed, &known)
				}
				if is := simtest.Portray(tx.View()); is != now {
					t.Fatalf("%s: the state was\n%s\nand became, after candidates that were taken back,\n%s", base, now, is)
				}
				i := take(list)
				seen[list[i].Kind]++
				departed = departed || i > 0
				return i, nil
			},
		})
		simtest.End(t, simtest.Begin(t, e), p)
	})
	t.Logf("took %v; members checked: %+v", seen, known)
	known.judge(t)
	for kind, n := range seen {
		if n == 0 {
			t.Errorf("never took %v", candidates.Kind(kind))
		}
	}
}

// taste draws the preference of a judge: any candidate, any other than the base's own, or some kinds before others.
func taste(t *rapid.T) func(list []candidates.Candidate) int {
	draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "draws"), 1))
	rank := draw.Perm(candidates.Narrow)
	tastes := []func(list []candidates.Candidate) int{
		func(list []candidates.Candidate) int { return draw.IntN(len(list)) },
		func(list []candidates.Candidate) int { return 1 + draw.IntN(len(list)-1) },
		func(list []candidates.Candidate) int {
			best := 0
			for i := range list {
				if rank[list[i].Kind] < rank[list[best].Kind] {
					best = i
				}
			}
			return best
		},
	}
	return rapid.SampledFrom(tastes).Draw(t, "taste")
}

// says returns an error if the operations of a candidate do not match its kind.
func says(o *candidates.Candidate) error {
	kinds := ""
	for _, p := range o.Ops {
		kinds += p.Kind.String() + " "
	}
	want := map[candidates.Kind]string{
		candidates.Packed: "place ", candidates.Alone: "place ", candidates.Aligned: "place ", candidates.Sized: "place ", candidates.First: "place ",
		candidates.Begin: "place ", candidates.Drop: "place ", candidates.Preempt: "preempt place ", candidates.Grow: "resize ",
	}
	text, told := want[o.Kind]
	switch o.Kind {
	case candidates.Wait, candidates.Stop, candidates.Reserve, candidates.Gather:
		told = true
	case candidates.Move:
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
