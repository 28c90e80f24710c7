package candidates_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestAGuardGoesOnAsTheReview checks that a guard that is committed to a candidate continues a fork exactly like the walk that
// takes this candidate and then only the base's own: to the last operation, GPU and finish. Rollouts that evaluate candidates
// rely on this.
func TestAGuardGoesOnAsTheReview(t *testing.T) {
	var forks [candidates.Narrow]int
	names := []string{
		"sjfskip", "sjf", "fifo", "fjf", "sjfhold", "srtf", "srsf", "sjfskip+menu", "sjfhold+menu", "srtf+menu", "srsf+menu",
	}
	simtest.Many(t, 3000, func(t *rapid.T) {
		e := simtest.Draw(t)
		base := rapid.SampledFrom(names).Draw(t, "base")
		c := usual(t, base, func(c *candidates.Config) {
			c.Menu = c.Menu || rapid.Bool().Draw(t, "menu")
			c.Hold = time.Duration(rapid.SampledFrom([]int{30, 400, 7200}).Draw(t, "hold")) * time.Second
			c.Items = 12
			inner := c.Base
			c.Base = func() cluster.Scheduler { return &forgetful{Scheduler: inner()} }
		})
		at := rapid.IntRange(0, 12).Draw(t, "choices before")
		take := taste(t)
		ever := rapid.Bool().Draw(t, "took others before")
		run := simtest.Begin(t, e)
		guard := candidates.NewGuard(c.Base(), c.Start(), nil)
		want := &diary{}
		kind, from, n := candidates.Own, time.Duration(0), 0
		var fork sim.Sim
		got := &diary{Scheduler: candidates.New("reviewed", c, &judge{choose: func(tx *cluster.Txn, list []candidates.Candidate) (int, error) {
			n++
			switch {
			case n <= at:
				if ever {
					return take(list), nil
				}
				return 0, nil
			case n > at+1:
				return 0, nil
			}
			i := take(list)
			o := &list[i]
			kind, from = o.Kind, tx.Now()
			run.Fork(&fork)
			must.Do(t, o.Apply(fork.State().Txn()))
			guard.Commit(o)
			want.Scheduler = guard
			must.Do(t, fork.Continue(want, 1, nil))
			return i, nil
		}})}
		simtest.End(t, run, got)
		if want.Scheduler == nil {
			return
		}
		forks[kind]++
		if !fork.Outcome().Terminated {
			t.Fatalf("%s after %v at %v: outcome of the fork %+v", base, kind, from, fork.Outcome())
		}
		first := slices.IndexFunc(got.lines, func(line string) bool { return stamp(t, line) >= from })
		lines := slices.DeleteFunc(slices.Clone(got.lines[max(first, 0):]), func(line string) bool {
			return strings.HasPrefix(line, fmt.Sprintf("%v finish", from))
		})
		if text, should := strings.Join(lines, "\n"), strings.Join(want.lines, "\n"); text != should {
			t.Fatalf("%s, hold %v, after %v at %v it went on with\n%s\nand the guard with\n%s", base, c.Hold, kind, from, text, should)
		}
	})
	t.Logf("forked %v", forks)
	if kinds := candidates.Narrow - count(forks[:], 0); kinds < 12 {
		t.Errorf("forked at %d kinds of candidates, want 12 or more", kinds)
	}
}

// count returns how many of the numbers equal n.
func count(numbers []int, n int) (times int) {
	for _, v := range numbers {
		if v == n {
			times++
		}
	}
	return times
}

// stamp returns the time at the beginning of a line of a diary.
func stamp(t rapid.TB, line string) time.Duration {
	text, _, _ := strings.Cut(line, " ")
	return must.Get(time.ParseDuration(text))(t)
}

// forgetful is a base that keeps no state between decisions.
type forgetful struct {
	cluster.Scheduler
	seed uint64
}

func (f *forgetful) Reset(seed uint64) error {
	f.seed = seed
	return f.Scheduler.Reset(seed)
}

func (f *forgetful) Schedule(tx *cluster.Txn) error {
	if err := f.Scheduler.Reset(f.seed); err != nil {
		return err
	}
	tx.Tell(tx.View().Introduce())
	return f.Scheduler.Schedule(tx)
}
