package sim_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// at1000 returns a state at 1000 s. Its servers have one GPU each, belong to the inference pool and are on loan. Each runs a job
// with the server's name and 100 s of progress.
func at1000(t *testing.T, servers, rules string) *cluster.State {
	t.Helper()
	var list, jobs []string
	for name := range strings.SplitSeq(servers, " ") {
		list = append(list, fmt.Sprintf(`{"name": "%s", "gpus": 1, "cpu_milli": null, "mem_mib": null, "pool": "inference", "on_loan": true}`, name))
		jobs = append(jobs, fmt.Sprintf(`{"id": "%s", "submit_s": 900, "workers": 1, "state": "running", "progress_s": 100, "speed": 3,
			"placement": [{"server": "%s", "workers": 1, "gpus": [0]}]}`, name, name))
	}
	text := fmt.Sprintf(`{"version": 1, "now_s": 1000, "servers": [%s], "jobs": [%s]%s}`,
		strings.Join(list, ", "), strings.Join(jobs, ", "), rules)
	return must.Get(cluster.ReadSnapshot(strings.NewReader(text)))(t)
}

// anHour returns a Rest in which every job has one more hour of work.
func anHour(s *cluster.State) sim.Rest {
	return sim.Rest{Work: func(id cluster.JobID) time.Duration { return s.Progress(id) + time.Hour }}
}

// observer is a scheduler that records the events after its first call and proposes nothing.
type observer struct {
	said  []string
	gives bool // in its first call it preempts the first job and returns its server
}

func (*observer) Name() string       { return "observer" }
func (*observer) Reset(uint64) error { return nil }

func (l *observer) Schedule(tx *cluster.Txn) error {
	if l.gives {
		l.gives = false
		if err := errors.Join(tx.Preempt(0), tx.Reclaim(0)); err != nil {
			return err
		}
	}
	names := map[cluster.EventKind]string{cluster.Arrived: "arrives", cluster.Finished: "finishes", cluster.Interrupted: "is interrupted",
		cluster.Respeed: "changes speed"}
	others := map[cluster.EventKind]string{cluster.Failed: "fails", cluster.Repaired: "repaired", cluster.Offered: "offered", cluster.Woke: "woke"}
	for _, e := range tx.Events() {
		if e.Kind == cluster.Found {
			continue
		}
		what := others[e.Kind]
		if name, of := names[e.Kind]; of {
			what = tx.View().Spec(e.Job).Name + " " + name
		}
		l.said = append(l.said, fmt.Sprintf("%v %s", (tx.Now()-1000*time.Second).Seconds(), what))
	}
	return nil
}

// TestResumeKnowsPastFromFuture checks that Resume takes the present from the state, treats outages and demand in the past as
// having happened, and lets those in the future happen.
func TestResumeKnowsPastFromFuture(t *testing.T) {
	s := func(n int) time.Duration { return time.Duration(n) * time.Second }
	job := func(at time.Duration) trace.Job {
		return trace.Job{JobSpec: cluster.JobSpec{Name: "new", Submit: at, Workers: 1, Request: cluster.Amount{GPUMilli: 1000}}}
	}
	for _, c := range []struct {
		name           string
		servers, rules string
		cfg            sim.Config
		rest           sim.Rest
		want           string
	}{
		{"what is given back does not shorten the time of the others", "gives b c", `, "offer": 2, "reclaim_by_s": 1050`,
			sim.Config{Demand: []sim.Demand{{At: s(1010)}}, Grace: s(10)}, sim.Rest{},
			"10 offered, 50 b is interrupted, 50 c is interrupted"},
		{"what the past is said to have offered does not count", "a b", "",
			sim.Config{Demand: []sim.Demand{{At: 0}, {At: s(1010), Offer: 1}}, Grace: s(10)}, sim.Rest{},
			"10 offered, 20 a is interrupted, 3600 b finishes"},
		{"servers stay until they must be back", "a b", `, "offer": 1, "reclaim_by_s": 1050`, sim.Config{}, sim.Rest{},
			"50 a is interrupted, 3600 b finishes"},
		{"those that should be back already go at once", "a b", `, "offer": 1, "reclaim_by_s": 999`, sim.Config{}, sim.Rest{},
			"1e-09 a is interrupted, 3600 b finishes"},
		{"a new offer takes nobody's time away, and gives its own", "a b", `, "offer": 1, "reclaim_by_s": 1050`,
			sim.Config{Demand: []sim.Demand{{At: s(1010)}}, Grace: s(100)}, sim.Rest{}, "10 offered, 50 a is interrupted, 110 b is interrupted"},
		{"one that is stricter waits for the state's", "a b", `, "offer": 1, "reclaim_by_s": 1050`,
			sim.Config{Demand: []sim.Demand{{At: s(1010)}}, Grace: s(10)}, sim.Rest{}, "10 offered, 50 a is interrupted, 50 b is interrupted"},
		{"a new offer leaves time for what was offered before", "a b", `, "offer": 2`,
			sim.Config{Demand: []sim.Demand{{At: s(1010), Offer: 1}}, Grace: s(10)}, sim.Rest{}, "10 offered, 20 a is interrupted, 3600 b finishes"},
		{"demand of the past", "a", "", sim.Config{Demand: []sim.Demand{{At: 0, Offer: 1}, {At: s(1000), Offer: 0}}, Grace: s(5)}, sim.Rest{},
			"3600 a finishes"},
		{"outages of the past, under way, of this very instant and of the future", "a", "", sim.Config{Outages: []sim.Outage{
			{From: 0, To: s(1), GPU: -1}, {From: s(900), To: s(1020), GPU: -1}, {From: s(1000), To: s(1030)}, {From: s(1040), To: s(1050)},
		}}, sim.Rest{}, "20 repaired, 30 repaired, 40 fails, 40 a is interrupted, 50 repaired"},
		{"jobs to come, now and later", "a", "", sim.Config{}, sim.Rest{Future: []trace.Job{job(s(1000)), job(s(1007))}},
			"0 new arrives, 7 new arrives, 3600 a finishes"},
		{"a call to come", "a", "", sim.Config{}, sim.Rest{Wake: s(1012)}, "12 woke, 3600 a finishes"},
		{"a call that has been", "a", "", sim.Config{}, sim.Rest{Wake: s(1000)}, "3600 a finishes"},
		{"a horizon", "a", "", sim.Config{Horizon: s(1200)}, sim.Rest{}, ""},
		{"a horizon of the past", "a", "", sim.Config{Horizon: s(200)}, sim.Rest{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, dst, l := at1000(t, c.servers, c.rules), new(sim.Sim), &observer{gives: strings.HasPrefix(c.servers, "gives")}
			c.rest.Work = anHour(from).Work
			must.Do(t, dst.Resume(&c.cfg, &from.View, c.rest))
			must.Do(t, dst.Continue(l, 1, nil))
			said := slices.DeleteFunc(l.said, func(what string) bool { return strings.HasSuffix(what, "changes speed") })
			if got := strings.Join(said, ", "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestResumeTakesItsPhysics checks that jobs run at the state's speeds until the first commit, and then at those of the physics.
// Schedulers keep the state's profile, or get that of the physics if the state has none.
func TestResumeTakesItsPhysics(t *testing.T) {
	from, dst := at1000(t, "a", ""), new(sim.Sim)
	model := physics.Compose(physics.Jitter{Sigma: 0.5})
	must.Do(t, dst.Resume(&sim.Config{Physics: model}, &from.View, anHour(from)))
	if got := dst.State().PlannedRate(0); got != 3 {
		t.Errorf("speed %v, want that of the state, 3", got)
	}
	dst.Commit()
	if got, want := dst.State().PlannedRate(0), model.Speed(&dst.State().View, 0); got != want || got == 1 {
		t.Errorf("speed %v, want that of the physics, %v", got, want)
	}
	if p := dst.State().Profile(); p == nil || p.Speed(&dst.State().View, 0) != 1 {
		t.Error("schedulers do not know the physics, or its jitter, too")
	}
	if tx, ok := dst.Next(); !ok || !slices.Contains(tx.Events(), cluster.Event{Kind: cluster.Respeed}) {
		t.Error("nobody is told of the change")
	}
	known := physics.Compose(physics.InterServer{Penalty: 0.5})
	from.SetProfile(known)
	must.Do(t, dst.Resume(&sim.Config{Physics: model}, &from.View, anHour(from)))
	if p, ok := dst.State().Profile().(physics.Model); !ok || p.Name() != known.Name() {
		t.Errorf("schedulers know %v, want what they knew", dst.State().Profile())
	}
}

// TestResumeAfterATransaction checks that Resume does not repeat a wake-up requested in a transaction that has ended; the caller
// passes it as Rest.Wake.
func TestResumeAfterATransaction(t *testing.T) {
	from, dst := at1000(t, "a", ""), new(sim.Sim)
	tx := from.Begin(nil)
	tx.WakeAt(from.Now() + 5)
	tx.End()
	from.Advance(from.Now() + 10)
	l := new(observer)
	must.Do(t, dst.Resume(&sim.Config{}, &from.View, anHour(from)))
	if err := dst.Continue(l, 1, nil); err != nil || slices.ContainsFunc(l.said, func(s string) bool { return strings.Contains(s, "woke") }) {
		t.Errorf("%v, %v", err, l.said)
	}
}

// TestWhatCannotBeResumed checks that Resume returns an error that names the reason and leaves an episode that is over, and that
// a later Resume works.
func TestWhatCannotBeResumed(t *testing.T) {
	from := at1000(t, "a b", "")
	job := trace.Job{JobSpec: cluster.JobSpec{Name: "new", Submit: 1000 * time.Second, Workers: 1, Request: cluster.Amount{GPUMilli: 1000}}}
	early, broken, short := job, job, job
	early.Submit--
	broken.Workers = 0
	short.Work = -1
	later := job
	later.Submit++
	half := func(id cluster.JobID) time.Duration { return from.Progress(id) - 1 }
	var dst sim.Sim
	for _, c := range []struct {
		name string
		cfg  sim.Config
		from *cluster.State
		rest sim.Rest
		want string
	}{
		{"less work than is done", sim.Config{}, from, sim.Rest{Work: half}, "job a: work 1m39.999999999s, want at least its progress 1m40s"},
		{"a job of the past", sim.Config{}, from, sim.Rest{Future: []trace.Job{early}}, "not before now"},
		{"jobs in disorder", sim.Config{}, from, sim.Rest{Future: []trace.Job{later, job}}, "not before now"},
		{"a job that cannot be", sim.Config{}, from, sim.Rest{Future: []trace.Job{broken}}, "0 workers"},
		{"a job of less than no work", sim.Config{}, from, sim.Rest{Future: []trace.Job{short}}, "work -1ns"},
		{"rules that cannot be", sim.Config{Grace: -1}, from, sim.Rest{}, "grace"},
		{"an outage of no server", sim.Config{Outages: []sim.Outage{{To: 1, Server: 2}}}, from, sim.Rest{}, "no such unit"},
		{"an outage of no GPU", sim.Config{Outages: []sim.Outage{{To: 1, GPU: 1}}}, from, sim.Rest{}, "no such unit"},
		{"an offer of more than there is", sim.Config{Demand: []sim.Demand{{Offer: 3}}}, from, sim.Rest{}, "0 to 2"},
		{"an episode from itself", sim.Config{}, nil, sim.Rest{}, "same episode"},
	} {
		if c.rest.Work == nil {
			c.rest.Work = anHour(from).Work
		}
		for _, used := range []bool{false, true} {
			if used {
				must.Do(t, dst.Resume(&sim.Config{}, &from.View, anHour(from)))
				if c.from == nil {
					c.from = dst.State()
				}
			} else if dst = (sim.Sim{}); c.from == nil {
				continue
			}
			if err := dst.Resume(&c.cfg, &c.from.View, c.rest); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
			if _, ok := dst.Next(); ok {
				t.Errorf("%s: the episode goes on", c.name)
			}
		}
	}
	must.Do(t, dst.Resume(&sim.Config{}, &from.View, anHour(from)))
	if err := dst.Continue(new(observer), 1, nil); err != nil || !dst.Outcome().Terminated {
		t.Errorf("%v, %+v", err, dst.Outcome())
	}
}
