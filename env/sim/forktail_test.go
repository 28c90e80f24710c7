package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestForkGoesOnAsItsOriginal checks that a fork taken with an open transaction, its original, and an episode that was never
// forked continue identically, down to the last event, operation, GPU and nanosecond of progress, and that Continue plays a fork
// as the original is played.
func TestForkGoesOnAsItsOriginal(t *testing.T) {
	played, forks, continued, fork := 0, 0, 0, sim.Sim{} // its memory is reused for every fork
	many(t, 6000, func(t *rapid.T) {
		played++
		e, seed := drawEpisode(t), rapid.Uint64().Draw(t, "seed")
		at := rapid.IntRange(0, 12).Draw(t, "decisions before the fork")
		first, second := drawScheduler(t), func() cluster.Scheduler { return &simtest.Chaos{} }
		alone := begin(t, e)
		goOn(t, alone, first(), seed, at)
		want := goOn(t, alone, second(), seed+1, -1)
		forked := begin(t, e)
		goOn(t, forked, first(), seed, at)
		if forked.Outcome() == (sim.Outcome{}) {
			forks++
		}
		forked.Fork(&fork)
		if checkContinue(t, &fork, alone, second(), seed+1) {
			continued++
		}
		forked.Fork(&fork)
		if got := goOn(t, &fork, second(), seed+1, -1); got != want {
			t.Fatalf("the fork went on with\n%s\nthe original with\n%s", got, want)
		}
		if got := goOn(t, forked, second(), seed+1, -1); got != want {
			t.Fatalf("the original went on with\n%s\nwithout a fork with\n%s", got, want)
		}
		if one, two := written(t, alone.Log()), written(t, forked.Log()); one != two {
			t.Fatalf("the original wrote\n%s\nwithout a fork\n%s", two, one)
		}
		if n := len(fork.Log().Records); n > 0 {
			t.Fatalf("the fork kept %d records, want none", n)
		}
	})
	if t.Logf("%d of %d forks before the end, %d continued", forks, played, continued); forks < played/20 || continued < forks/2 {
		t.Errorf("%d of %d forks before the end, %d continued, want more", forks, played, continued)
	}
}

// checkContinue checks that Continue ends a fork as the original has ended, after as much time of all jobs together. It
// returns false if the scheduler failed.
func checkContinue(t rapid.TB, fork, ended *sim.Sim, sched cluster.Scheduler, seed uint64) bool {
	t.Helper()
	from, rest, want := fork.State().Now(), time.Duration(0), time.Duration(0)
	if fork.Continue(sched, seed, func(from, to time.Duration, jobs int) bool {
		rest += time.Duration(jobs) * (to - from)
		return true
	}) != nil {
		return false // the scheduler may fail on a state that another one made
	}
	log, end := ended.Log(), ended.State().Now()
	left := make([]time.Duration, len(log.Jobs)) // when the jobs leave
	for i := range left {
		left[i] = end
	}
	for i := range log.Records {
		if r := &log.Records[i]; r.Kind == sim.Finish {
			left[r.Job] = r.At
		}
	}
	for i := range left {
		want += max(left[i]-max(log.Jobs[i].Submit, from), 0)
	}
	if rest != want || fork.Outcome() != ended.Outcome() || fork.State().Now() != end {
		t.Fatalf("from %v the fork ends at %v with %+v after %v of all jobs, the original at %v with %+v after %v",
			from, fork.State().Now(), fork.Outcome(), rest, end, ended.Outcome(), want)
	}
	return true
}

// begin opens the first transaction of an episode.
func begin(t rapid.TB, e sim.Episode) *sim.Sim {
	t.Helper()
	s := must.Get(e.New())(t)
	s.Next()
	return s
}

// goOn plays the given number of decisions from the open transaction on (-1: all) and leaves the next transaction open. It
// returns as text everything that could be observed, up to an error of the scheduler.
func goOn(t rapid.TB, s *sim.Sim, sched cluster.Scheduler, seed uint64, decisions int) string {
	t.Helper()
	must.Do(t, sched.Reset(seed))
	var b strings.Builder
	for n := 0; n != decisions && s.Outcome() == (sim.Outcome{}); n++ {
		tx := s.State().Txn()
		fmt.Fprintln(&b, tx.Now(), tx.Events())
		if err := sched.Schedule(tx); err != nil { // it may fail on a state that another scheduler made
			fmt.Fprintln(&b, err)
			break
		}
		for _, o := range tx.Ops() {
			fmt.Fprintln(&b, o.Kind, o.Job, o.Server, o.Before(), o.Placement(), o.GPUs())
		}
		s.Commit()
		s.Next()
		st := s.State()
		for id := range cluster.JobID(st.Jobs()) {
			if st.Phase(id) != cluster.Unsubmitted {
				fmt.Fprintln(&b, id, st.Phase(id), st.Progress(id), st.Since(id), st.PlannedRate(id), st.Attained(id), st.GPUs(id), st.Readings(id))
			}
		}
	}
	fmt.Fprintln(&b, s.State().Now(), s.Outcome())
	return b.String()
}
