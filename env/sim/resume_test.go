package sim_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestResumeGoesOnAsTheEpisode checks that an episode resumed from a state, with the true works and future jobs, continues
// exactly as a fork of the original episode: to the last event, operation, GPU and nanosecond of progress. The open transaction
// may already contain operations. Resume must not change the state, and reused memory must make no difference.
func TestResumeGoesOnAsTheEpisode(t *testing.T) {
	seen := map[string]int{}
	var again sim.Sim // its memory is reused for every episode
	many(t, 6000, func(t *rapid.T) {
		e := drawOrderly(t)
		at, seed := rapid.IntRange(0, 12).Draw(t, "decisions before"), rapid.Uint64().Draw(t, "seed")
		first, second := &recorder{Scheduler: drawScheduler(t)()}, drawScheduler(t)
		s := begin(t, e)
		goOn(t, s, first, seed, at)
		if s.Outcome() != (sim.Outcome{}) {
			return
		}
		tx := s.State().Txn()
		if rapid.Bool().Draw(t, "with operations") {
			propose := simtest.Chaos{}
			propose.Reset(seed)
			must.Do(t, propose.Schedule(tx))
		}
		var fork sim.Sim
		s.Fork(&fork)
		rest := truth(&e, s.State(), first.next(tx.Now()))
		for _, what := range moment(s.State(), rest) {
			seen[what]++
		}
		was := portray(t, s.State())
		fresh := &sim.Sim{}
		for _, dst := range []*sim.Sim{fresh, &again} {
			must.Do(t, dst.Resume(&e.Config, &s.State().View, rest))
		}
		for _, dst := range []*sim.Sim{&fork, fresh, &again} {
			dst.State().Txn().Tell(dst.State().Introduce()) // as Continue does
		}
		want := goOn(t, &fork, second(), seed+1, -1)
		for name, dst := range map[string]*sim.Sim{"fresh": fresh, "again": &again} {
			if got := goOn(t, dst, second(), seed+1, -1); got != want {
				t.Fatalf("%s memory: resumed, it went on with\n%s\nthe fork with\n%s", name, got, want)
			}
		}
		if is := portray(t, s.State()); is != was {
			t.Fatalf("the state was\n%s\nand became\n%s", was, is)
		}
	})
	if t.Logf("resumed %v", seen); seen["at all"] < 300 {
		return
	}
	for _, what := range []string{
		"with running jobs", "with waiting jobs", "with jobs that are done", "with jobs to come", "with restarting jobs", "with shared GPUs",
		"with gangs across servers", "with servers on loan", "with servers owed", "with servers down", "with GPUs out of order",
		"with stopped jobs", "with a call to come", "with operations", "with jobs just started",
	} {
		if seen[what] < seen["at all"]/300 {
			t.Errorf("resumed %s %d times, want one of three hundred", what, seen[what])
		}
	}
}

// moment returns the properties of the state from which an episode is resumed, for counting the tested cases.
func moment(s *cluster.State, rest sim.Rest) (all []string) {
	is := map[string]bool{
		"at all": true, "with running jobs": len(s.Running()) > 0, "with waiting jobs": len(s.Pending()) > 0,
		"with jobs to come": len(rest.Future) > 0, "with a call to come": rest.Wake > 0, "with operations": len(s.Txn().Ops()) > 0,
		"with servers on loan": s.Lent() > 0, "with jobs that are done": len(s.Pending())+len(s.Running())+len(rest.Future) < s.Jobs(),
	}
	if owed, _ := s.Owed(); owed > 0 {
		is["with servers owed"] = true
	}
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		if s.Down(id) {
			is["with servers down"] = true
		}
		if s.Working(id) < s.Server(id).GPUs {
			is["with GPUs out of order"] = true
		}
	}
	for _, id := range s.Running() {
		p := s.Placement(id)
		if s.Since(id) > s.Now() {
			is["with restarting jobs"] = true
		}
		if p[0].GPUMilli < cluster.WholeGPU {
			is["with shared GPUs"] = true
		}
		if len(p) > 1 {
			is["with gangs across servers"] = true
		}
		if s.Fresh(id) {
			is["with jobs just started"] = true
		}
	}
	for _, id := range s.Pending() {
		if s.Starts(id) > 0 {
			is["with stopped jobs"] = true
		}
	}
	for what, yes := range is {
		if yes {
			all = append(all, what)
		}
	}
	return all
}

// TestResumeContinuesAsAFork checks that Continue passes time in a resumed episode, and in forks of it, exactly as in a fork of
// the original.
func TestResumeContinuesAsAFork(t *testing.T) {
	many(t, 1500, func(t *rapid.T) {
		e, seed := drawOrderly(t), rapid.Uint64().Draw(t, "seed")
		first, second := &recorder{Scheduler: drawScheduler(t)()}, drawScheduler(t)
		s := begin(t, e)
		goOn(t, s, first, seed, rapid.IntRange(0, 12).Draw(t, "decisions before"))
		if s.Outcome() != (sim.Outcome{}) {
			return
		}
		var fork, resumed, forked, other sim.Sim
		s.Fork(&fork)
		rest := truth(&e, s.State(), first.next(s.State().Now()))
		must.Do(t, resumed.Resume(&e.Config, &s.State().View, rest))
		resumed.Fork(&forked)
		forked.Fork(&other)
		rest.Work, rest.Future = func(id cluster.JobID) time.Duration { return time.Hour + s.State().Progress(id) }, nil
		if err := resumed.Resume(&e.Config, &s.State().View, rest); err != nil { // must not affect the forks taken before
			t.Fatal(err)
		}
		want := passing(&fork, second())
		for _, dst := range []*sim.Sim{&forked, &other} {
			if got := passing(dst, second()); got != want {
				t.Fatalf("resumed:\n%s\nthe fork:\n%s", got, want)
			}
		}
	})
}

// drawOrderly draws an episode whose jobs are submitted in the order of their ids.
func drawOrderly(t *rapid.T) sim.Episode {
	cfg := drawConfig(t)
	cfg.Hidden, cfg.Phases = sim.Hidden{}, sim.Phases{} // a resumed episode goes on with what schedulers know
	e := sim.Episode{Config: cfg, Jobs: drawJobs(t, &cfg)}
	slices.SortStableFunc(e.Jobs, func(a, b trace.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	if rapid.IntRange(0, 1).Draw(t, "warm") == 0 {
		e.Running = drawRunning(t, e)
	}
	return e
}

// truth returns the true future of an episode.
func truth(e *sim.Episode, s *cluster.State, wake time.Duration) sim.Rest {
	known := 0
	for known < len(e.Jobs) && s.Phase(cluster.JobID(known)) != cluster.Unsubmitted {
		known++
	}
	return sim.Rest{
		Work: func(id cluster.JobID) time.Duration { return e.Jobs[id].Work }, Future: e.Jobs[known:], Wake: wake,
	}
}

// recorder wraps a scheduler and records the wake-ups that it requests.
type recorder struct {
	cluster.Scheduler
	asked time.Duration
}

func (r *recorder) Schedule(tx *cluster.Txn) error {
	r.asked = r.next(tx.Now())
	err := r.Scheduler.Schedule(tx)
	if at, ok := tx.Wake(); ok && (r.asked == 0 || at < r.asked) {
		r.asked = at
	}
	return err
}

// next returns the next requested wake-up, 0 for none.
func (r *recorder) next(now time.Duration) time.Duration {
	if r.asked <= now {
		return 0
	}
	return r.asked
}

// passing lets a scheduler play to the end or to its first error, and returns how time passes as text.
func passing(s *sim.Sim, sched cluster.Scheduler) string {
	var b strings.Builder
	err := s.Continue(sched, 7, func(from, to time.Duration, jobs int) bool {
		fmt.Fprintln(&b, from, to, jobs)
		return true
	})
	fmt.Fprintln(&b, s.Outcome(), s.State().Now(), err)
	return b.String()
}

// portray returns everything observable of a state as text.
func portray(t rapid.TB, s *cluster.State) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintln(&b, s.Now(), s.Jobs(), s.Pending(), s.Running(), s.Offer(), s.Lent(), s.FreeTotal())
	fmt.Fprintln(&b, s.Txn().Events(), s.Txn().Refused())
	for _, o := range s.Txn().Ops() {
		fmt.Fprintln(&b, o.Kind, o.Job, o.Server, o.First(), o.Before(), o.Placement(), o.GPUs())
	}
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		fmt.Fprintln(&b, s.Open(id), s.FreeCPU(id), s.FreeMem(id), s.GPUUse(id), s.Residents(id))
	}
	for id := range cluster.JobID(s.Jobs()) {
		fmt.Fprintln(&b, id, s.Spec(id), s.Phase(id), s.Starts(id), s.Progress(id), s.Attained(id), s.Placement(id), s.GPUs(id))
		done, from, rate := s.Course(id)
		fmt.Fprintln(&b, done, from, rate, s.Readings(id))
	}
	return b.String()
}
