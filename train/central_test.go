package train

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

func TestRateIsTheNumberOfJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stays := drawStays(t)
		c := curveOf(stays, time.Hour)
		for minute := range 104 {
			at, want := time.Duration(minute)*time.Minute, 0.0
			for _, s := range stays {
				if s.from <= at && at < s.to {
					want++
				}
			}
			if got := c.rateAt(at); math.Abs(got-want) > 1e-9 {
				t.Fatalf("cost per hour of %v at %v is %v, want %v", stays, at, got, want)
			}
		}
	})
}

func TestExplained(t *testing.T) {
	want := []float64{1, 2, 3, 6}
	for _, c := range []struct {
		name string
		want []float64
		got  []float64
		ev   float64
	}{
		{"exact", want, want, 1},
		{"exact but for a constant", want, []float64{11, 12, 13, 16}, 1},
		{"constant", want, []float64{3, 3, 3, 3}, 0},
		{"half", want, []float64{0.5, 1, 1.5, 3}, 0.75},
		{"the reverse", want, []float64{-1, -2, -3, -6}, -3},
		{"nothing to explain", []float64{2, 2}, []float64{1, 5}, 0},
		{"one state", []float64{2}, []float64{1}, 0},
	} {
		if got := explained(c.want, c.got); math.Abs(got-c.ev) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.ev)
		}
	}
}

// watchedBy plays an episode for a learned critic. draw is nil for a team that follows its prior.
func watchedBy(tb testing.TB, p *agents.Policy, episode sim.Episode, draw *rand.Rand) window {
	tb.Helper()
	goal := flow(2 * time.Hour)
	g := must.Get(newPlayer(p, episode, goal, -1, draw))(tb)
	g.learned = true
	must.Do(tb, playAll(tb.Context(), []*player{g}, 1, func(int, *rollout) error { return nil }))
	w := window{group: []*rollout{g.out}}
	w.prior = must.Get(goal.follow(agents.NewPrior(&p.Setting), episode))(tb)
	return w
}

// TestLearnedCriticNeedsNoForks checks that a team plays the same episode without forks, and what the critic gets to see of it.
func TestLearnedCriticNeedsNoForks(t *testing.T) {
	p, episode := untrained(t, "sjfskip", 12), sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: mixed(60, 5)}
	w := watchedBy(t, p, episode, rand.New(rand.NewPCG(1, 1)))
	got := w.group[0]
	want := must.Get(play(p, episode, flow(2*time.Hour), -1, rand.New(rand.NewPCG(1, 1))))(t)
	if !slices.Equal(got.curve.togo, want.curve.togo) || len(got.steps) != len(want.steps) || len(got.rates) != len(got.steps) ||
		want.rates != nil {
		t.Fatal("an episode without forks differs from one with forks")
	}
	for i, s := range got.steps {
		if s.value != 0 || want.steps[i].value == 0 || s.at != want.steps[i].at || got.samples[i].Action != want.samples[i].Action {
			t.Fatalf("step %d is %+v without forks and %+v with them", i, s, want.steps[i])
		}
		if rate := got.curve.rateAt(s.at); math.Abs(got.rates[i]-rate) > 1e-9 {
			t.Fatalf("step %d: cost per hour %v, the episode's is %v", i, got.rates[i], rate)
		}
		seen := hindsight(got.rates[i], w.prior, s.at)
		if len(seen) != hindsights || math.Abs(math.Sinh(float64(seen[2]))-w.prior.from(s.at)) > 1e-4*(1+w.prior.from(s.at)) ||
			math.Abs(math.Sinh(float64(seen[3]))-w.prior.rateAt(s.at)) > 1e-4*(1+w.prior.rateAt(s.at)) {
			t.Fatalf("step %d: hindsight %v", i, seen)
		}
	}
}

// critical returns a learned critic for episodes of a policy, on 4 servers.
func critical(tb testing.TB, p *agents.Policy, workers int) *central {
	tb.Helper()
	cfg := DefaultConfig()
	cfg.Critic, cfg.Window, cfg.Choices = learnedCritic, 12, 200
	c := must.Get(newCentral(&cfg, p, 4, workers))(tb)
	tb.Cleanup(c.close)
	return c
}

// TestCriticOfThePriorExpectsNothing checks that a team that follows its prior has advantages of 0 under a learned critic.
func TestCriticOfThePriorExpectsNothing(t *testing.T) {
	p := untrained(t, "sjfskip", 12)
	c := critical(t, p, 1)
	for seed := range uint64(3) {
		episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: mixed(60, seed)}
		windows, m := []window{watchedBy(t, p, episode, nil)}, Metrics{}
		must.Do(t, c.judge(windows, rand.New(rand.NewPCG(seed, 1)), &m))
		g := windows[0].group[0]
		g.judge(2*time.Hour, 20*time.Minute)
		for i, s := range g.samples {
			if math.Abs(s.Gain) > 1e-6 || len(g.samples) < 40 {
				t.Fatalf("seed %d, sample %d of %d: advantage %v", seed, i, len(g.samples), s.Gain)
			}
		}
	}
}

// TestCriticLearns checks that a critic comes to foresee what a team saves in episodes that repeat, that its values enter the
// steps, and that they do not depend on the number of workers.
func TestCriticLearns(t *testing.T) {
	p := untrained(t, "sjfskip", 12)
	var windows []window
	for seed := range uint64(4) {
		episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: mixed(60, seed)}
		windows = append(windows, watchedBy(t, p, episode, rand.New(rand.NewPCG(seed, 1))))
	}
	var want []step
	for _, workers := range []int{1, 3} {
		c, draw := critical(t, p, workers), rand.New(rand.NewPCG(7, 7))
		var ev, loss []float64
		for range 30 {
			var m Metrics
			must.Do(t, c.judge(windows, draw, &m))
			ev, loss = append(ev, *m.Explained), append(loss, *m.CriticLoss)
		}
		if ev[0] != 0 || ev[29] < 0.5 || loss[29] > loss[0]*2/3 {
			t.Errorf("explained %.2f with losses %.2f, want from 0 to above 0.5, and losses that fall by a third", ev, loss)
		}
		var got []step
		off, all := 0.0, 0.0
		for w := range windows {
			g := windows[w].group[0]
			got = append(got, g.steps...)
			for _, s := range g.steps {
				saved := windows[w].prior.from(s.at) - g.curve.from(s.at)
				off, all = off+math.Abs(s.value-g.curve.from(s.at)), all+math.Abs(saved)
			}
		}
		if off > 0.75*all {
			t.Errorf("the values are off by %v, the cost of the prior's episode by %v", off, all)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d workers give other values than one", workers)
		}
	}
}

// TestLearnedCriticResumes checks that a run with a learned critic resumes to the same bytes with any number of workers, that its
// checkpoints contain the critic, and that the policy does not.
func TestLearnedCriticResumes(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Critic = learnedCritic
	want := mustRun(t, cfg, opt)
	half := halted(t, cfg, fresh(t, opt), 5)
	half.Workers = 3
	sameWeights(t, mustRun(t, cfg, half), want)
	same(t, half.Dir, opt.Dir)

	all := must.Get(ReadMetrics(opt.Dir))(t)
	for i, m := range all {
		if ppo := i >= cfg.Expert; (m.Explained != nil) != ppo || (m.CriticLoss != nil) != ppo {
			t.Errorf("update %d by PPO (%v) tells %v and %v of the critic", i+1, ppo, m.Explained, m.CriticLoss)
		}
	}
	store := must.Get(checkpoints.OpenStore(filepath.Join(opt.Dir, storeName), checkpoints.StoreOptions{}))(t)
	moments := map[int][]float32{}
	for _, step := range []int{2, 4, 6} {
		c := must.Get(store.Load(step))(t)
		i := slices.IndexFunc(c.Tensors, func(t checkpoints.Tensor) bool { return t.Name == "critic.adam.m" })
		moments[step] = c.Tensors[i].Data.([]float32)
	}
	if slices.Equal(moments[2], moments[4]) || slices.Equal(moments[4], moments[6]) {
		t.Error("the critic's moments did not move: the comparison says nothing")
	}
	p, _, err := Open(opt.Dir, cfg.Table, nil)
	must.Do(t, err)
	b, _, err := p.Bundle("", checkpoints.Provenance{})
	must.Do(t, err)
	for _, tensor := range b.Tensors {
		if strings.HasPrefix(tensor.Name, "critic") {
			t.Errorf("the bundle contains %s", tensor.Name)
		}
	}
	fewer := results(t, opt.Dir)
	if n := bytes.Count(fewer[filepath.Join(storeName, "step-000006", "tensors.safetensors")], []byte(`"critic.value.w"`)); n != 1 {
		t.Errorf("%d tensors critic.value.w in a checkpoint, want 1", n)
	}
}

// TestThePriorIsTheCritic checks that a run is the same with and without the name of the critic that it has without one, apart
// from its recipe.
func TestThePriorIsTheCritic(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Updates, cfg.Expert = 2, 0
	want := mustRun(t, cfg, opt)
	if text := results(t, opt.Dir)["run.yaml"]; bytes.Contains(text, []byte("critic")) {
		t.Error("the recipe of a run without train.critic names it")
	}
	named, other := cfg, fresh(t, opt)
	named.Critic = priorCritic
	sameWeights(t, mustRun(t, named, other), want)
	a, b := results(t, opt.Dir), results(t, other.Dir)
	for name := range a {
		if name != "run.yaml" && !bytes.Equal(a[name], b[name]) {
			t.Errorf("%s differs", name)
		}
	}
	if bytes.Contains(a[metricsName], []byte("critic")) || bytes.Contains(a[metricsName], []byte("explained")) {
		t.Error("metrics tell of a critic that is not there")
	}
	named.Critic = "oracle"
	if err := named.Validate(); err == nil || !strings.Contains(err.Error(), "train.critic") {
		t.Errorf("a critic that is none: error %v", err)
	}
}
