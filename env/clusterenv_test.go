package env_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

const second = time.Second

// twoOnOne configures a server with one GPU, and a long job and a short job that arrive at the same time.
func twoOnOne(c *env.Config) {
	c.Sim.Cluster = cluster.Uniform(1, 1)
	these(c, job(10*second, 1, 100*second), job(10*second, 1, 10*second))
}

// number returns the number of the first candidate of a kind.
func number(t testing.TB, ts *env.TimeStep, kind candidates.Kind) game.Action {
	t.Helper()
	k := slices.IndexFunc(ts.List, func(c candidates.Candidate) bool { return c.Kind == kind })
	if k < 0 {
		t.Fatalf("at %v no candidate to %v among %v", ts.Now, kind, ts.List)
	}
	return game.Action(1 + k)
}

// TestEpisodeOfTwoJobs plays two jobs in one round, in which the agent starts the short one first.
func TestEpisodeOfTwoJobs(t *testing.T) {
	e := small(t, twoOnOne)
	var ts env.TimeStep
	must.Do(t, e.Reset(1, &ts))
	if ts.Now != 10*second || ts.Elapsed != ts.Now || ts.Reward != 0 || ts.Over() || ts.Prior != 1 || len(ts.Taken) > 0 {
		t.Fatalf("first step: %+v", ts)
	}
	if c := ts.List[0]; c.Kind != candidates.Own || c.Job != 0 || len(ts.List) < 3 || len(ts.Coalition) != len(ts.List) {
		t.Fatalf("the first round shows %+v with coalitions %v", ts.List, ts.Coalition)
	}
	for n, legal := range ts.Legal(0) {
		if legal != (n <= len(ts.List)) {
			t.Fatalf("mask %v of %d candidates", ts.Legal(0), len(ts.List))
		}
	}
	first := number(t, &ts, candidates.First)
	must.Do(t, e.Step([]game.Action{first}, &ts))
	if !ts.Terminated || ts.Truncated != "" || ts.Now != 120*second || ts.Elapsed != 110*second || ts.Reward != -120 || !slices.Equal(ts.Taken, []game.Action{first}) {
		t.Fatalf("last step: %+v", ts)
	}
	if !slices.Equal(ts.Rewards, []float64{-120}) || len(ts.List) != 0 || ts.Prior != game.Pass {
		t.Errorf("last step: rewards %v, %d candidates, prior %d", ts.Rewards, len(ts.List), ts.Prior)
	}
	if err := e.Step([]game.Action{0}, &ts); !errors.Is(err, env.ErrOver) {
		t.Errorf("step after the end: %v", err)
	}
}

// TestToPassStarvesNobody checks that, when agents pass, jobs wait and the agents are asked again, until a job has waited for too
// long and starts.
func TestToPassStarvesNobody(t *testing.T) {
	e := small(t, twoOnOne)
	asked := []time.Duration{}
	play(t, e, 1, func(ts *env.TimeStep, joint []game.Action) {
		asked = append(asked, ts.Now)
		clear(joint)
	})
	if len(asked) < 20 || asked[1] != asked[0]+5*time.Minute {
		t.Errorf("rounds at %v, want one every 5 min", asked)
	}
	state := e.Log().Records
	if end := state[len(state)-1].At; end < 2*time.Hour || end > 2*time.Hour+10*time.Minute {
		t.Errorf("the episode ends at %v, want soon after 2 h", end)
	}
}

// TestPriorPlaysAlone checks that agents who follow the prior get the prior's schedule, whatever it does to running jobs.
func TestPriorPlaysAlone(t *testing.T) {
	for _, prior := range []string{"fifo", "sjfskip", "srtf", "las+menu", "srsf+menu+move", "a-srpt", "lyra"} {
		e, rounds := small(t, func(c *env.Config) { c.Game = reviewed(t, prior) }), 0
		for seed := range uint64(5) {
			_, n := play(t, e, seed, byPrior)
			rounds += n
			got := written(t, e.Log())
			alone := must.Get(e.Alone(t.Context(), seed))(t)
			if want := written(t, alone); got != want {
				t.Errorf("%s, seed %d: by its prior the team plays\n%s\nalone the prior plays\n%s", prior, seed, got, want)
			}
		}
		if rounds < 20 {
			t.Errorf("%s: %d rounds, want 20 or more", prior, rounds)
		}
	}
}

func written(t testing.TB, l *sim.Log) string {
	t.Helper()
	var b strings.Builder
	c := *l
	c.Scheduler = ""
	must.Do(t, c.Write(&b))
	return b.String()
}

// TestFlowSumsToCompletionTimes checks that Flow rewards sum to minus the completion times, under any policy.
func TestFlowSumsToCompletionTimes(t *testing.T) {
	salt := 0
	for name, choose := range map[string]func(*env.TimeStep, []game.Action){
		"prior": byPrior, "pass": pass,
		"anything": func(ts *env.TimeStep, joint []game.Action) { salt++; act(ts, salt, joint) },
	} {
		e := small(t, func(c *env.Config) { c.Reward = env.Flow{Scale: time.Second} })
		got, _ := play(t, e, 3, choose)
		want := 0.0
		for _, r := range e.Log().Records {
			switch r.Kind {
			case sim.Submit:
				want += r.At.Seconds()
			case sim.Finish:
				want -= r.At.Seconds()
			}
		}
		if math.Abs(got-want) > 1e-9*math.Abs(want) || want > -500 {
			t.Errorf("%s: rewards sum to %v, completion times to %v", name, got, -want)
		}
	}
}

// TestAgreement checks that a gang is refused if a server of its coalition names another candidate or passes, and that no job
// starts then.
func TestAgreement(t *testing.T) {
	gang := func(c *env.Config) {
		c.Sim.Cluster = cluster.Uniform(2, 1)
		these(c, job(0, 1, 100*second), job(0, 2, 10*second), job(0, 1, 100*second))
	}
	for _, c := range []struct {
		agree game.Agreement
		joint func(n game.Action) []game.Action
		taken bool
		why   []game.Reason
	}{
		{game.All, func(n game.Action) []game.Action { return []game.Action{n, n} }, true, nil},
		{game.All, func(n game.Action) []game.Action { return []game.Action{n, 0} }, false, []game.Reason{game.Disagreed}},
		{game.All, func(n game.Action) []game.Action { return []game.Action{0, n} }, false, []game.Reason{game.Disagreed}},
		{game.Lead, func(n game.Action) []game.Action { return []game.Action{n, 0} }, true, nil},
		{game.Lead, func(n game.Action) []game.Action { return []game.Action{0, n} }, false, []game.Reason{game.Disagreed}},
	} {
		e := small(t, func(cfg *env.Config) { gang(cfg); cfg.Game.Agree = c.agree })
		var ts env.TimeStep
		must.Do(t, e.Reset(1, &ts))
		n := number(t, &ts, candidates.First)
		if ts.List[n-1].Job != 1 || len(ts.Members(n)) != 2 || ts.Members(n)[1] != (game.Share{Candidate: n, Server: 1, Weight: 0.5}) {
			t.Fatalf("candidate %d is %+v with coalition %v", n, ts.List[n-1], ts.Members(n))
		}
		joint := c.joint(n)
		must.Do(t, e.Step(joint, &ts))
		var why []game.Reason
		for _, r := range ts.Refused {
			why = append(why, r.Reason)
			if r.Candidate != n {
				t.Errorf("%v: candidate %d is refused, named was %d", c.agree, r.Candidate, n)
			}
		}
		if taken := slices.Contains(ts.Taken, n); taken != c.taken || !slices.Equal(why, c.why) {
			t.Errorf("%v, joint action %v: taken %v and refused %v, want %v and %v", c.agree, joint, taken, why, c.taken, c.why)
		}
		if starts := ts.Cluster.Starts(1); (starts > 0) != c.taken {
			t.Errorf("%v, joint action %v: the gang started %d times", c.agree, joint, starts)
		}
	}
}

// TestLowerNumberFirst checks that, of two agreed candidates of which only one fits, the one with the lower number is carried out
// and the other is refused as Overtaken.
func TestLowerNumberFirst(t *testing.T) {
	e := small(t, func(c *env.Config) {
		c.Sim.Cluster = cluster.Uniform(2, 1)
		c.Sim.Cluster.Servers[1].GPUs = 2
		these(c, job(0, 1, 100*second), job(0, 3, 50*second), job(0, 2, 20*second))
	})
	var ts env.TimeStep
	must.Do(t, e.Reset(1, &ts))
	first := number(t, &ts, candidates.First)
	if m, other := ts.Members(1), ts.Members(first); len(m) != 1 || m[0].Server != 0 || len(other) != 1 || other[0].Server != 1 {
		t.Fatalf("coalitions %v are not apart", ts.Coalition)
	}
	must.Do(t, e.Step([]game.Action{1, first}, &ts))
	if !slices.Equal(ts.Taken, []game.Action{1}) || !slices.Equal(ts.Refused, []game.Refusal{{Candidate: first, Reason: game.Overtaken}}) {
		t.Errorf("taken %d, refused %v", ts.Taken, ts.Refused)
	}
}

// TestWrongJointActions checks that an illegal joint action changes nothing and that the round can be played again.
func TestWrongJointActions(t *testing.T) {
	e := small(t, twoOnOne)
	var ts, spare env.TimeStep
	must.Do(t, e.Reset(1, &ts))
	beyond := game.Action(len(ts.List) + 1)
	for _, c := range []struct {
		joint  []game.Action
		masked bool
	}{{nil, false}, {[]game.Action{0, 0}, false}, {[]game.Action{-1}, true}, {[]game.Action{99}, true}, {[]game.Action{beyond}, true}} {
		err := e.Step(c.joint, &spare)
		if err == nil || c.masked && !errors.Is(err, game.ErrMasked) || errors.Is(err, env.ErrOver) {
			t.Errorf("joint action %v: error %v", c.joint, err)
		}
	}
	if err := e.Step([]game.Action{1}, &ts); err != nil || !slices.Equal(ts.Taken, []game.Action{1}) ||
		ts.Cluster.Phase(0) != cluster.Running {
		t.Errorf("after errors: %v, taken are %v", err, ts.Taken)
	}
}

func TestResetErrorLeavesNoEpisode(t *testing.T) {
	bad := errors.New("no such seed")
	e := small(t, func(c *env.Config) {
		c.Jobs = func(seed uint64) ([]trace.Job, error) {
			switch seed {
			case 2:
				return nil, bad
			case 3:
				return []trace.Job{job(0, 1000, second)}, nil
			}
			return fewJobs(seed)
		}
	})
	for _, seed := range []uint64{2, 3} {
		var ts env.TimeStep
		must.Do(t, e.Reset(1, &ts))
		if err := e.Reset(seed, &ts); err == nil || seed == 2 && !errors.Is(err, bad) {
			t.Errorf("seed %d: error %v", seed, err)
		}
		if err := e.Step(make([]game.Action, 3), &ts); !errors.Is(err, env.ErrOver) {
			t.Errorf("step after a failed reset: %v", err)
		}
		if _, err := e.Alone(t.Context(), seed); err == nil {
			t.Errorf("seed %d: the prior plays alone without an episode", seed)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*env.Config){
		"no workload":       func(c *env.Config) { c.Jobs = nil },
		"two workloads":     func(c *env.Config) { c.Episode = func(uint64) (sim.Episode, error) { return sim.Episode{}, nil } },
		"no servers":        func(c *env.Config) { c.Sim.Cluster = cluster.Spec{} },
		"no prior":          func(c *env.Config) { c.Game.Review.Base = nil },
		"no candidates":     func(c *env.Config) { c.Game.Review.Items = 0 },
		"another agreement": func(c *env.Config) { c.Game.Agree = 9 },
		"a negative window": func(c *env.Config) { c.Game.Encoder = &lean{window: -1} },
	} {
		cfg := env.Config{Sim: sim.Config{Cluster: cluster.Uniform(1, 1)}, Jobs: fewJobs, Game: reviewed(t, "fifo")}
		change(&cfg)
		if _, err := env.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestShowAllocatesNothing checks that showing a round again allocates nothing.
func TestShowAllocatesNothing(t *testing.T) {
	e := small(t, nil)
	var ts env.TimeStep
	must.Do(t, e.Reset(1, &ts))
	show := func() {
		must.Do(t, e.Game().Show(&ts.Round))
	}
	show()
	if n := testing.AllocsPerRun(100, show); n != 0 || len(ts.List) < 2 {
		t.Errorf("%v allocations to show %d candidates", n, len(ts.List))
	}
}

// TestLastStepShowsTheLastState checks that the last step shows the final state of the cluster, whatever the caller's buffer
// contained: learners bootstrap there.
func TestLastStepShowsTheLastState(t *testing.T) {
	e := small(t, func(c *env.Config) { c.Sim.Horizon = 100e9 })
	var shown [2]env.TimeStep
	for k := range shown {
		var ts env.TimeStep
		joint := make([]game.Action, 3)
		must.Do(t, e.Reset(1, &ts))
		for rounds := 0; !ts.Over(); rounds++ {
			byPrior(&ts, joint)
			var next env.TimeStep
			if k == 1 {
				next.CopyFrom(&ts)
				for i := range next.Servers {
					next.Servers[i] = -7
				}
			}
			must.Do(t, e.Step(joint, &next))
			ts = next
		}
		shown[k] = ts
	}
	a, b := &shown[0], &shown[1]
	if a.Truncated != "horizon 1m40s" || !slices.Equal(a.Servers, b.Servers) || !slices.Equal(a.Jobs, b.Jobs) || !slices.Equal(a.Global, b.Global) {
		t.Errorf("the last step (%q) shows %v into a fresh buffer, %v into one that was used", a.Truncated, a.Servers, b.Servers)
	}
	if len(a.Ids) != min(len(a.Cluster.Pending()), 4) || len(a.Ids) == 0 {
		t.Errorf("the last step shows jobs %v, and %v wait", a.Ids, a.Cluster.Pending())
	}
	for n, legal := range a.Mask {
		if legal != (n%e.Spec().Candidates == 0) {
			t.Errorf("mask %v at the end, want nothing but to pass", a.Mask)
		}
	}
}
