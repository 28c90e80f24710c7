package agents_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// workload returns contended jobs: gangs of up to three servers of 8 GPUs, some of them elastic, and GPU shares if shares is
// true.
func workload(n int, seed uint64, shares bool) []trace.Job {
	r := rand.New(rand.NewPCG(seed, 1))
	jobs := make([]trace.Job, n)
	sizes := []int32{1, 1, 1, 1, 2, 2, 4, 8, 16, 24}
	at := time.Duration(0)
	for i := range jobs {
		at += time.Duration(r.ExpFloat64() * float64(3*time.Minute)).Round(time.Second)
		j := &jobs[i]
		j.Name, j.Submit = fmt.Sprint(i), at
		j.Workers, j.Request = sizes[r.IntN(len(sizes))], cluster.Amount{GPUMilli: cluster.WholeGPU}
		if shares && r.IntN(3) == 0 {
			j.Request = cluster.Amount{GPUMilli: int32(100 * (1 + r.IntN(9))), CPUMilli: 500}
		}
		if j.Workers > 1 && r.IntN(2) == 0 {
			j.MinWorkers, j.MaxWorkers = j.Workers/2, 2*j.Workers
		}
		j.Model = models[r.IntN(len(models))]
		j.Work = time.Duration(1+r.IntN(60)) * time.Minute
		j.Estimate = j.Work
	}
	return jobs
}

var models = []string{"resnet50", "bert", ""}

func play(t *testing.T, c cluster.Spec, jobs []trace.Job, s cluster.Scheduler) *sim.Log {
	t.Helper()
	return playIn(t, sim.Config{Cluster: c, Physics: physics.Compose(physics.InterServer{Penalty: 0.5})}, jobs, s)
}

func playIn(t *testing.T, c sim.Config, jobs []trace.Job, s cluster.Scheduler) *sim.Log {
	t.Helper()
	return simtest.Play(t, &sim.Episode{Config: c, Jobs: jobs}, s, 1)
}

func text(t *testing.T, l *sim.Log) []byte {
	t.Helper()
	var b bytes.Buffer
	for i := range l.Records {
		r := &l.Records[i]
		fmt.Fprintln(&b, r.At, r.Kind, r.Job, l.Placement(r), l.GPUs(r))
	}
	return b.Bytes()
}

func newPolicy(t *testing.T, seed uint64, prior string) *agents.Policy {
	t.Helper()
	p := must.Get(agents.NewPolicy("learned", agents.DefaultSize(), 16, prior, rand.New(rand.NewPCG(seed, 2))))(t)
	return p
}

// shake adds random numbers to all weights of a policy.
func shake(p *agents.Policy, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range p.Params {
		for j := range p.Params[i].Data {
			p.Params[i].Data[j] += float32(0.5 * r.NormFloat64())
		}
	}
}

var priors = []string{"sjfskip", "sjfhold", "fifo", "srtf", "srsf+menu", "sjfhold+menu", "las+menu", "lyra", "synergy", "srsf+menu+move", "sjfskip+move",
	"srsf+menu+move+know", "sjfskip+know:time=history"}

// TestUntrainedIsItsPrior checks that an untrained team decides exactly as its prior, for orders with and without preemption,
// with and without the menu, and for other schedulers.
func TestUntrainedIsItsPrior(t *testing.T) {
	for seed, name := range priors {
		c := cluster.Uniform(5, 8)
		for i := range c.Servers {
			c.Servers[i].CPUMilli = 24000
		}
		c.PerGPU = 2
		jobs := workload(150, uint64(seed), seed%2 == 0)
		p := newPolicy(t, uint64(seed), name)
		base := must.Get(all.New(name))(t)
		want := text(t, play(t, c, jobs, base))
		if got := text(t, play(t, c, jobs, agents.NewPrior(&p.Setting))); !bytes.Equal(got, want) {
			t.Errorf("%s: the prior differs from the baseline", name)
		}
		if got := text(t, play(t, c, jobs, agents.NewTeam(p))); !bytes.Equal(got, want) {
			t.Errorf("%s: the untrained team differs from its prior", name)
		}
	}
}

// TestUntrainedIsItsPriorToldNothing checks the same where the prior learns run times and speeds: what it believes must not depend on
// how often a team asks it.
func TestUntrainedIsItsPriorToldNothing(t *testing.T) {
	const prior = "srsf:evict=true+menu:places=8:idle=true+move+know:speed=fit"
	spec := cluster.Uniform(4, 8)
	for i := range spec.Servers {
		spec.Servers[i].CPUMilli, spec.Servers[i].MemMiB = 32000, 256<<10
	}
	world := sim.Config{
		Cluster: spec, Physics: physics.Compose(physics.CPUMem{}, physics.InterServer{Penalty: 0.5}), Hidden: sim.Hidden{Speeds: true},
		Readings: sim.Readings{Interval: time.Minute, Noise: 0.1},
	}
	for seed := range uint64(3) {
		jobs := workload(150, seed, true)
		for i := range jobs {
			j := &jobs[i]
			j.Request.CPUMilli, j.Request.MemMiB, j.Tenant = 3000, 16<<10, fmt.Sprint("user ", i%7)
		}
		p := newPolicy(t, seed, prior)
		base := must.Get(all.New(prior))(t)
		if !bytes.Equal(text(t, playIn(t, world, jobs, agents.NewTeam(p))), text(t, playIn(t, world, jobs, base))) {
			t.Errorf("workload %d: the untrained team differs from its prior", seed)
		}
	}
}

// TestTeamWithRandomWeights checks that a team with any weights, greedy or sampling, finishes every job, decides the same in a
// second run, and does not follow its prior. It checks that the recorded choices contain possible candidates with their
// probabilities.
func TestTeamWithRandomWeights(t *testing.T) {
	kinds := map[candidates.Kind]int{}
	for seed, name := range priors {
		p := newPolicy(t, uint64(seed), name)
		shake(p, uint64(seed))
		jobs := workload(100, uint64(seed), true)
		once := func(sample bool) []byte {
			team := agents.NewTeam(p)
			var draw *rand.Rand
			if sample {
				draw = rand.New(rand.NewPCG(uint64(seed), 4))
			}
			team.Explore(draw, 1)
			team.Record(func(tx *cluster.Txn, c *agents.Choice) error {
				kinds[c.List[c.Action].Kind]++
				mark := tx.Mark()
				for i := range c.List {
					if err := c.List[i].Apply(tx); err != nil {
						t.Errorf("%s: candidate %d of %d, %v: %v", name, i, len(c.List), c.List[i].Kind, err)
					}
					tx.Rollback(mark)
				}
				sum, top := 0.0, 0
				for i := range c.Bids {
					sum += math.Exp(float64(c.Prior[i] + c.Bids[i]))
					if c.Prior[i]+c.Bids[i] > c.Prior[top]+c.Bids[top] {
						top = i
					}
				}
				if want := float64(c.Prior[c.Action]+c.Bids[c.Action]) - math.Log(sum); math.Abs(c.LogProb-want) > 1e-4 {
					t.Errorf("%s: log-probability %v, want %v", name, c.LogProb, want)
				}
				if !sample && c.Action != top {
					t.Errorf("%s: greedily took candidate %d, want %d", name, c.Action, top)
				}
				return nil
			})
			return text(t, play(t, cluster.Uniform(4, 8), jobs, team))
		}
		for _, sample := range []bool{false, true} {
			first := once(sample)
			if !bytes.Equal(first, once(sample)) {
				t.Errorf("%s, sampling %v: two runs differ", name, sample)
			}
			if !sample && bytes.Equal(first, text(t, play(t, cluster.Uniform(4, 8), jobs, agents.NewPrior(&p.Setting)))) {
				t.Errorf("%s: the team is its prior", name)
			}
		}
	}
	if len(kinds) < 10 {
		t.Errorf("took kinds of candidates %v, want 10 or more", kinds)
	}
}

// TestTeamInEnvironment checks that a team in the environment decides exactly as it does as a scheduler, for any weights and
// priors.
func TestTeamInEnvironment(t *testing.T) {
	for seed, name := range priors {
		p := newPolicy(t, uint64(seed), name)
		if seed%3 > 0 {
			shake(p, uint64(seed))
		}
		c, jobs := cluster.Uniform(4, 8), workload(100, uint64(seed), true)
		e, err := env.New(env.Config{
			Sim:  sim.Config{Cluster: c, Physics: physics.Compose(physics.InterServer{Penalty: 0.5})},
			Jobs: func(uint64) ([]trace.Job, error) { return jobs, nil }, Game: p.Game(),
		})
		must.Do(t, err)
		var ts env.TimeStep
		player, joint, rounds := agents.NewPlayer(p), make([]game.Action, 4), 0
		for err = e.Reset(1, &ts); err == nil && !ts.Over(); err = e.Step(joint, &ts) {
			must.Do(t, player.Act(e.Txn(), &ts.Round, joint))
			rounds++
		}
		must.Do(t, err)
		if want := text(t, play(t, c, jobs, agents.NewTeam(p))); !bytes.Equal(text(t, e.Log()), want) || rounds < 50 {
			t.Errorf("%s: in the environment, in %d rounds, the team decides otherwise than as a scheduler", name, rounds)
		}
	}
}

// TestTeamOverWideLists checks that a team with wide lists decides exactly as its prior while untrained, and finishes every job
// with any weights.
func TestTeamOverWideLists(t *testing.T) {
	taken := map[candidates.Kind]int{}
	after := 0 // choices after which others were made at the same decision
	for seed, name := range priors {
		design := agents.Design{
			Name: "wide", Window: 16, Prior: name, Table: all.Table(), Wide: agents.Wide{Items: 30, Rivals: []string{"fifo", "a-srpt"}}, Margin: 1,
			Size: agents.DefaultSize(),
		}
		design.Size.Joint = seed%2 == 0
		p, err := design.Make(func(s agents.Shape) (agents.Params, error) {
			return agents.Init(s, rand.New(rand.NewPCG(uint64(seed), 2))), nil
		})
		must.Do(t, err)
		c, jobs := cluster.Uniform(5, 8), workload(100, uint64(seed), seed%2 == 0)
		want := text(t, play(t, c, jobs, agents.NewPrior(&p.Setting)))
		if got := text(t, play(t, c, jobs, agents.NewTeam(p))); !bytes.Equal(got, want) {
			t.Errorf("%s: the untrained team differs from its prior", name)
		}
		shake(p, uint64(seed))
		team := agents.NewTeam(p)
		team.Explore(rand.New(rand.NewPCG(uint64(seed), 4)), 1)
		team.Record(func(tx *cluster.Txn, c *agents.Choice) error {
			taken[c.List[c.Action].Kind]++
			after += len(c.Observation.Taken)
			if c.Gone[c.Action] {
				t.Errorf("%s: chose a candidate that is gone", name)
			}
			return nil
		})
		if got := text(t, play(t, c, jobs, team)); bytes.Equal(got, want) {
			t.Errorf("%s: the team is its prior", name)
		}
	}
	if after == 0 {
		t.Error("no team chose a second candidate after one forward pass")
	}
	for _, kind := range []candidates.Kind{candidates.Rival, candidates.Begin, candidates.Reserve, candidates.Preempt} {
		if taken[kind] == 0 {
			t.Errorf("never took %v: %v", kind, taken)
		}
	}
}
