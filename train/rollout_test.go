package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// stay is the period that a job is in the system.
type stay struct{ from, to time.Duration }

// flow returns the goal of short completion times.
func flow(memory time.Duration) goal { return goal{objective: objectives.Usual(), memory: memory} }

// curveOf returns the curve of jobs with the given stays. Its intervals end when a job arrives, leaves or is halfway.
func curveOf(stays []stay, memory time.Duration) *curve {
	c := &curve{memory: memory}
	var at []time.Duration
	for _, s := range stays {
		at = append(at, s.from, (s.from+s.to)/2, s.to)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	for k := range at[1:] {
		jobs := 0
		for _, s := range stays {
			if s.from <= at[k] && at[k] < s.to {
				jobs++
			}
		}
		c.add(at[k], at[k+1], float64(jobs)*(at[k+1]-at[k]).Hours())
	}
	return c.closed()
}

func drawStays(t *rapid.T) []stay {
	n := rapid.IntRange(1, 8).Draw(t, "jobs")
	stays := make([]stay, n)
	for i := range stays {
		stays[i].from = time.Duration(rapid.IntRange(3, 40).Draw(t, "from")) * time.Minute
		stays[i].to = stays[i].from + time.Duration(rapid.IntRange(0, 60).Draw(t, "minutes"))*time.Minute
	}
	return stays
}

// ahead returns the discounted number of jobs in the system, summed in small steps over [from, to), in job-hours. It is the
// definition that curve must match.
func ahead(stays []stay, from, to, memory time.Duration) float64 {
	const dt = 30 * time.Second
	sum := 0.0
	for at := from; at < to; at += dt {
		mid := at + dt/2
		for _, s := range stays {
			if s.from <= mid && mid < s.to {
				sum += dt.Hours() * math.Exp(-float64(mid-from)/float64(memory))
			}
		}
	}
	return sum
}

func TestCurveIsTheIntegral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stays := drawStays(t)
		memory := time.Duration(rapid.IntRange(30, 600).Draw(t, "memory")) * time.Minute
		c := curveOf(stays, memory)
		total := 0.0
		for _, s := range stays {
			total += (s.to - s.from).Hours()
		}
		if math.Abs(c.total-total) > 1e-9 {
			t.Fatalf("total of %v is %v, want %v", stays, c.total, total)
		}
		for minute := range 104 {
			at := time.Duration(minute) * time.Minute
			want := ahead(stays, at, 2*time.Hour, memory)
			if got := c.from(at); math.Abs(got-want) > 1e-4*max(1, want) {
				t.Fatalf("cost of %v from %v on is %v, want %v", stays, at, got, want)
			}
		}
	})
}

// TestJudgeIsTheDoubleSum checks advantages against their definition. The advantage of a step is a sum over this and all later
// steps: how much less the step's interval cost than the prior's value, times the discount and the decay of credit up to it.
func TestJudgeIsTheDoubleSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stays := drawStays(t)
		memory := time.Duration(rapid.IntRange(30, 600).Draw(t, "memory")) * time.Minute
		credit := time.Duration(rapid.IntRange(1, 600).Draw(t, "credit")) * time.Minute
		r := &rollout{curve: curveOf(stays, memory)}
		for at := range 20 { // several steps may have the same time
			if n := rapid.IntRange(0, 2).Draw(t, "steps"); n > 0 {
				for range n {
					value := rapid.Float64Range(-5, 5).Draw(t, "value")
					r.steps = append(r.steps, step{at: time.Duration(5*at) * time.Minute, value: value})
				}
			}
		}
		for range len(r.steps) {
			r.samples = append(r.samples, learn.Sample{})
		}
		r.judge(memory, credit)
		const end = 2 * time.Hour
		for i, s := range r.samples {
			want, from := 0.0, r.steps[i]
			for j := i; j < len(r.steps); j++ {
				here := r.steps[j]
				better := here.value - ahead(stays, here.at, end, memory)
				if j+1 < len(r.steps) {
					next := r.steps[j+1]
					gap := float64(next.at - here.at)
					better = here.value - ahead(stays, here.at, next.at, memory) - math.Exp(-gap/float64(memory))*next.value
				}
				far := float64(here.at - from.at)
				want += math.Exp(-far/float64(memory)) * math.Exp(-far/float64(credit)) * better
			}
			if math.Abs(s.Gain-want) > 1e-3*max(1, math.Abs(want)) {
				t.Fatalf("sample %d: advantage %v, want %v", i, s.Gain, want)
			}
		}
	})
}

// mixed returns contended jobs: gangs across servers, GPU shares, equal times, and simultaneous arrivals.
func mixed(n int, seed uint64) []trace.Job {
	r := rand.New(rand.NewPCG(seed, 1))
	jobs := make([]trace.Job, n)
	at := time.Duration(0)
	for i := range jobs {
		if r.IntN(3) > 0 {
			at += time.Duration(r.IntN(600)) * time.Second
		}
		j := &jobs[i]
		j.Name, j.Submit, j.Workers = fmt.Sprint(i), at, []int32{1, 1, 1, 2, 4, 6, 8}[r.IntN(7)]
		j.Request = cluster.Amount{GPUMilli: cluster.WholeGPU}
		if r.IntN(4) == 0 {
			j.Request.GPUMilli = int32(100 * (1 + r.IntN(9)))
		}
		j.Work = time.Duration(1+r.IntN(90)) * time.Minute
		j.Estimate = j.Work
	}
	return jobs
}

func untrained(tb testing.TB, prior string, window int) *agents.Policy {
	tb.Helper()
	size := agents.Size{Width: 8, Heads: 2, Hidden: 4, Rank: 2, Kappa: 2, Inducing: 2}
	p := must.Get(agents.NewPolicy("untrained", size, window, prior, rand.New(rand.NewPCG(1, 2))))(tb)
	return p
}

// play plays one episode: see newPlayer.
func play(p *agents.Policy, episode sim.Episode, goal goal, label float64, draw *rand.Rand) (*rollout, error) {
	g, err := newPlayer(p, episode, goal, label, draw)
	if err != nil {
		return nil, err
	}
	return g.out, playAll(context.Background(), []*player{g}, 1, func(int, *rollout) error { return nil })
}

// plain lists priors for the tests that compare a fork with an episode. Without a menu, the scheduler that plays on is the prior
// itself, and its decisions depend only on the state.
var plain = []string{"sjfskip", "sjfhold:times=3", "fifo", "srsf"}

// TestFollowingThePriorGainsNothing checks that a team that follows the prior has advantages of 0, so that the forks, the review,
// the discount and the network agree. A team that samples has other advantages; with unlimited credit, an advantage is what the
// rest of the episode cost less.
func TestFollowingThePriorGainsNothing(t *testing.T) {
	const memory = 2 * time.Hour
	for _, x := range exacts() {
		prior := x.prior
		for seed := range x.seeds {
			p, episode := untrained(t, prior, 12), sim.Episode{Config: x.rules, Jobs: x.jobs(80, seed)}
			r := must.Get(play(p, episode, flow(memory), -1, nil))(t)
			for _, s := range []cluster.Scheduler{agents.NewPrior(&p.Setting), agents.NewTeam(p)} {
				c := must.Get(flow(memory).follow(s, episode))(t)
				if c.total != r.curve.total {
					t.Fatalf("%s: %s costs %v, the rollout %v", prior, s.Name(), c.total, r.curve.total)
				}
			}
			r.judge(memory, 20*time.Minute)
			if n := r.kinds[candidates.Own] + r.kinds[candidates.Move]; len(r.samples) < 40 || n != len(r.samples) || len(r.steps) != n {
				t.Fatalf("%d samples of %d steps, %d choices: the test sees too little", len(r.samples), len(r.steps), n)
			}
			for i, s := range r.samples {
				at := r.steps[i]
				if cost := r.curve.from(at.at); math.Abs(s.Gain) > 1e-6 || math.Abs(at.value-cost) > 1e-6 {
					t.Fatalf("%s, seed %d, sample %d at %v: advantage %v, the fork costs %v, the episode %v",
						prior, seed, i, at.at, s.Gain, at.value, cost)
				}
				if s.Saved != nil {
					t.Fatalf("sample %d has labels", i)
				}
			}
			other := must.Get(play(p, episode, flow(memory), -1, rand.New(rand.NewPCG(seed, 7))))(t)
			other.judge(memory, math.MaxInt64)
			most := 0.0
			for i, s := range other.samples {
				at := other.steps[i]
				if want := at.value - other.curve.from(at.at); math.Abs(s.Gain-want) > 1e-4*max(1, math.Abs(want)) {
					t.Fatalf("sample %d with all credit: advantage %v, want %v", i, s.Gain, want)
				}
				most = max(most, math.Abs(s.Gain))
			}
			if most < 0.1 {
				t.Fatalf("sampling changed next to nothing: the largest advantage is %v", most)
			}
		}
	}
}

// script is a judge with given actions for the first choices; after them it follows the base policy.
type script struct {
	actions []int
	chosen  int
	now     time.Duration   // time of the last action
	kind    candidates.Kind // kind of the candidate last taken
}

func (s *script) Reset(uint64)         { s.chosen = 0 }
func (s *script) Observe(*cluster.Txn) {}
func (s *script) Choose(tx *cluster.Txn, list []candidates.Candidate) (int, error) {
	if s.chosen++; s.chosen > len(s.actions) {
		return 0, nil
	}
	action := s.actions[s.chosen-1]
	s.now, s.kind = tx.Now(), list[action].Kind
	return action, nil
}

// TestLabelsAreWhatEpisodesSave checks the saving of a candidate against the difference of two whole episodes. They are equal up
// to the choice; then one takes the candidate and the other the prior's own; after it, both follow the prior.
func TestLabelsAreWhatEpisodesSave(t *testing.T) {
	rules := sim.Config{
		Cluster: cluster.Uniform(3, 2), Physics: physics.Compose(physics.InterServer{Penalty: 0.5}), Restart: sim.Pause(time.Minute),
	}
	const memory = 3 * time.Hour
	seen := [candidates.Kinds]int{} // number of labels other than 0, by kind of candidate
	for _, prior := range plain {
		how := must.Get(baselines.Reviewed(prior))(t)
		for seed := range uint64(2) {
			jobs := mixed(40, seed)
			for i := range jobs {
				jobs[i].Workers = min(jobs[i].Workers, 6)
			}
			episode := sim.Episode{Config: rules, Jobs: jobs}
			r := must.Get(play(untrained(t, prior, 8), episode, flow(memory), 1, rand.New(rand.NewPCG(seed, 4))))(t)
			var actions []int // so far
			for i := range r.samples {
				s := &r.samples[i]
				var own float64
				for k := range s.Saved {
					judge := &script{actions: append(actions, k)}
					c := must.Get(flow(memory).follow(candidates.New("script", how.Config, judge), episode))(t)
					cost := c.from(judge.now)
					if k == 0 {
						own = cost
					}
					if math.Abs(s.Saved[k]-(own-cost)) > 1e-9 {
						t.Errorf("%s, seed %d, choice %d at %v, candidate %d (%v): label %v, the episodes differ by %v", prior, seed, i,
							judge.now, k, judge.kind, s.Saved[k], own-cost)
					}
					if s.Saved[k] != 0 {
						seen[judge.kind]++
					}
				}
				actions = append(actions, s.Action)
			}
		}
	}
	for _, kind := range []candidates.Kind{
		candidates.First, candidates.Begin, candidates.Wait, candidates.Stop, candidates.Reserve, candidates.Gather, candidates.Drop, candidates.Veto, candidates.Move,
		candidates.Preempt,
	} {
		if seen[kind] == 0 {
			t.Errorf("no label of a candidate to %v makes a difference: the test saw none", kind)
		}
	}
}

// TestRolloutsRepeat checks that forks and records do not affect the episode: what is sampled depends only on the random draws.
func TestRolloutsRepeat(t *testing.T) {
	rules := sim.Config{Cluster: cluster.Uniform(4, 4)}
	p, episode := untrained(t, "sjfskip", 12), sim.Episode{Config: rules, Jobs: mixed(60, 5)}
	first := must.Get(play(p, episode, flow(time.Hour), -1, rand.New(rand.NewPCG(1, 1))))(t)
	again := must.Get(play(p, episode, flow(time.Hour), -1, rand.New(rand.NewPCG(1, 1))))(t)
	if !slices.Equal(first.steps, again.steps) || !slices.Equal(first.curve.togo, again.curve.togo) || first.kinds != again.kinds {
		t.Fatal("two rollouts with the same draws differ")
	}
	team, draw := agents.NewTeam(p), rand.New(rand.NewPCG(1, 1))
	team.Explore(draw, 1)
	alone := must.Get(flow(time.Hour).follow(team, episode))(t)
	if !slices.Equal(first.curve.togo, alone.togo) || team.Game().Tally() != first.kinds {
		t.Fatal("a rollout differs from an episode that nobody forks")
	}
	taken := map[bool]int{}
	for i := range first.samples {
		s, o := &first.samples[i], &again.samples[i]
		if s.Action != o.Action || s.LogProb != o.LogProb || !slices.Equal(s.Candidate, o.Candidate) || !slices.Equal(s.Prior, o.Prior) ||
			!slices.Equal(s.Adjacent, o.Adjacent) {
			t.Fatalf("sample %d differs", i)
		}
		if s.Candidates < 2 || s.Action >= s.Candidates || len(s.Adjacent) != s.Servers*s.Servers ||
			len(first.steps) != len(first.samples) {
			t.Fatalf("sample %d: action %d of %d candidates, graph of %d, %d steps", i, s.Action, s.Candidates, len(s.Adjacent),
				len(first.steps))
		}
		if i > 0 && s.Observation == first.samples[i-1].Observation {
			t.Fatalf("samples %d and %d share an observation", i-1, i)
		}
		taken[s.Action > 0]++
	}
	if len(taken) < 2 {
		t.Fatal("the prior's own alone, or never: the test saw nothing")
	}
}

// TestLabelsAreAPart checks that the requested fraction of decisions is labelled, and that the others are not recorded.
func TestLabelsAreAPart(t *testing.T) {
	p, episode := untrained(t, "sjfskip", 12), sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: mixed(200, 5)}
	for _, part := range []float64{0, 0.25, 1} {
		r := must.Get(play(p, episode, flow(time.Hour), part, rand.New(rand.NewPCG(1, 1))))(t)
		all := 0
		for _, n := range r.kinds {
			all += n
		}
		if got := float64(len(r.samples)) / float64(all); math.Abs(got-part) > 0.1*math.Ceil(part*(1-part)) || all < 100 {
			t.Errorf("%d of %d choices have labels, want a part of %v", len(r.samples), all, part)
		}
		for i := range r.samples {
			if s := &r.samples[i]; len(s.Saved) != s.Candidates || s.Saved[0] != 0 {
				t.Errorf("sample %d of %d candidates: labels %v", i, s.Candidates, s.Saved)
			}
		}
	}
}

// TestRolloutsEnd checks that every rollout ends, whatever the policy samples: the policy must never wait for an event that does
// not come.
func TestRolloutsEnd(t *testing.T) {
	rules := sim.Config{Cluster: cluster.Uniform(2, 4)}
	for seed := range uint64(300) {
		p := untrained(t, plain[seed%4], 8)
		if _, err := play(p, sim.Episode{Config: rules, Jobs: mixed(4, seed)[:2]}, flow(time.Hour), -1, rand.New(rand.NewPCG(seed, 3))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
