package train

import (
	"cmp"
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
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// stay is the time that a job is in the system.
type stay struct{ from, to time.Duration }

// logOf is the log of jobs that stay so long, all kinds of records among them.
func logOf(stays []stay) *sim.Log {
	l := &sim.Log{}
	for i, s := range stays {
		id := cluster.JobID(i)
		l.Records = append(l.Records, sim.Record{At: s.from, Kind: sim.Submit, Job: id},
			sim.Record{At: (s.from + s.to) / 2, Kind: sim.Start, Job: id}, sim.Record{At: s.to, Kind: sim.Finish, Job: id})
	}
	slices.SortStableFunc(l.Records, func(a, b sim.Record) int { return cmp.Compare(a.At, b.At) })
	l.Records = append(l.Records, sim.Record{At: l.Records[len(l.Records)-1].At, Kind: sim.End})
	return l
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

// ahead is the definition: the jobs in the system, added up in small steps from one instant to another, each weighed by how
// far ahead it is, in job-hours.
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
		c := newCurve(logOf(stays), memory)
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

// The advantage of a step is the sum over all later steps of how much better its stretch went than the prior would have it,
// discounted by the time to there and by how little credit reaches so far.
func TestJudgeIsTheDoubleSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stays := drawStays(t)
		memory := time.Duration(rapid.IntRange(30, 600).Draw(t, "memory")) * time.Minute
		credit := time.Duration(rapid.IntRange(1, 600).Draw(t, "credit")) * time.Minute
		r := &rollout{curve: newCurve(logOf(stays), memory)}
		for at := range 20 { // some steps at one instant
			if n := rapid.IntRange(0, 2).Draw(t, "steps"); n > 0 {
				for range n {
					value := rapid.Float64Range(-5, 5).Draw(t, "value")
					r.steps = append(r.steps, step{time.Duration(5*at) * time.Minute, value})
				}
			}
		}
		for range len(r.steps) {
			r.samples = append(r.samples, learn.Sample{})
			r.step = append(r.step, rapid.IntRange(0, len(r.steps)-1).Draw(t, "of"))
		}
		r.judge(memory, credit)
		const end = 2 * time.Hour
		for i, s := range r.samples {
			want, from := 0.0, r.steps[r.step[i]]
			for j := r.step[i]; j < len(r.steps); j++ {
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
				t.Fatalf("sample %d of step %d: advantage %v, want %v", i, r.step[i], s.Gain, want)
			}
		}
	})
}

// mixed returns contended jobs: gangs across servers, shares of a GPU, equal times, and arrivals at one instant.
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

func untrained(tb testing.TB, hold float64, window int) *agents.Policy {
	tb.Helper()
	size := agents.Size{Width: 8, Heads: 2, Hidden: 4, Rank: 2, Kappa: 2, Inducing: 2}
	p, err := agents.NewPolicy("untrained", size, window, nil, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		tb.Fatal(err)
	}
	p.Hold = hold
	return p
}

// Who does as the prior does has no advantage anywhere: the forked simulations, the environment, the discounting and the
// decoder all tell the same story. Who samples has, and with all credit it is what the rest of the episode cost less.
func TestFollowingThePriorGainsNothing(t *testing.T) {
	rules := sim.Config{Cluster: cluster.Uniform(4, 4), Physics: physics.Compose(physics.InterServer{Penalty: 0.5})}
	const memory = 2 * time.Hour
	for _, hold := range []float64{0, 1, 3} {
		for seed := range uint64(3) {
			p, jobs := untrained(t, hold, 12), mixed(80, seed)
			r, err := play(p, sim.Episode{Config: rules, Jobs: jobs}, memory, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := follow(heuristic(p, jobs), sim.Episode{Config: rules, Jobs: jobs}, memory)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []cluster.Scheduler{agents.NewPrior(p), agents.NewTeam(p), baselines.NewHold(hold)} {
				c, err := follow(s, sim.Episode{Config: rules, Jobs: jobs}, memory)
				if err != nil {
					t.Fatal(err)
				}
				if c.total != want.total || r.curve.total != want.total {
					t.Fatalf("hold %v: %s costs %v, the rollout %v, the heuristic %v", hold, s.Name(), c.total, r.curve.total,
						want.total)
				}
			}
			r.judge(memory, 20*time.Minute)
			if len(r.samples) < 50 {
				t.Fatalf("%d samples: the test sees too little", len(r.samples))
			}
			for i, s := range r.samples {
				at := r.steps[r.step[i]]
				if cost := r.curve.from(at.at); math.Abs(s.Gain) > 1e-6 || math.Abs(at.value-cost) > 1e-6 {
					t.Fatalf("hold %v, seed %d, sample %d at %v: advantage %v, the fork costs %v, the episode %v",
						hold, seed, i, at.at, s.Gain, at.value, cost)
				}
			}
			other, err := play(p, sim.Episode{Config: rules, Jobs: jobs}, memory, rand.New(rand.NewPCG(seed, 7)))
			if err != nil {
				t.Fatal(err)
			}
			other.judge(memory, math.MaxInt64)
			most := 0.0
			for i, s := range other.samples {
				at := other.steps[other.step[i]]
				if want := at.value - other.curve.from(at.at); math.Abs(s.Gain-want) > 1e-6 {
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

// Forks do not disturb the episode, nor do the records of choices: what is sampled depends on the draws alone.
func TestRolloutsRepeat(t *testing.T) {
	rules := sim.Config{Cluster: cluster.Uniform(4, 4)}
	p, jobs := untrained(t, 1, 12), mixed(60, 5)
	first, err := play(p, sim.Episode{Config: rules, Jobs: jobs}, time.Hour, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	again, err := play(p, sim.Episode{Config: rules, Jobs: jobs}, time.Hour, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.steps, again.steps) || !slices.Equal(first.curve.togo, again.curve.togo) {
		t.Fatal("two rollouts with the same draws differ")
	}
	gangs := 0
	for i, s := range first.samples {
		if s.Action != again.samples[i].Action || s.LogProb != again.samples[i].LogProb || !s.Legal[s.Action] {
			t.Fatalf("sample %d differs or is illegal", i)
		}
		if (s.Adjacent != nil) != (len(s.Committed) > 0) {
			t.Fatalf("sample %d with %d committed has a graph: %v", i, len(s.Committed), s.Adjacent != nil)
		}
		gangs += len(s.Committed)
		if i == 0 {
			continue
		}
		// A round is one step and shows one observation; a gang's later draws belong to its round.
		before, same := first.samples[i-1], len(s.Committed) > 0 && s.Observation == first.samples[i-1].Observation
		if same != (first.step[i] == first.step[i-1]) || same != (s.Observation == before.Observation) ||
			first.step[i] < first.step[i-1] {
			t.Fatalf("samples %d and %d are of the steps %d and %d", i-1, i, first.step[i-1], first.step[i])
		}
	}
	if last := first.step[len(first.step)-1]; last != len(first.steps)-1 {
		t.Fatalf("the last sample is of step %d of %d", last, len(first.steps))
	}
	if gangs == 0 {
		t.Fatal("no gangs: the test saw nothing")
	}
}

// A sampled policy never waits for what will not come: every rollout ends, whatever it draws.
func TestRolloutsEnd(t *testing.T) {
	rules := sim.Config{Cluster: cluster.Uniform(2, 4)}
	for seed := range uint64(300) {
		if _, err := play(untrained(t, 0, 8), sim.Episode{Config: rules, Jobs: mixed(4, seed)[:2]}, time.Hour, rand.New(rand.NewPCG(seed, 3))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
