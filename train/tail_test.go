package train

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/train/recipe"
)

// TestTailOfLabels checks labels that end in an estimate of the backlog against whole episodes: one that takes the candidate and
// one that takes the prior's own. The reward of the time that a fork plays and the estimate at its end make up the cost of each.
func TestTailOfLabels(t *testing.T) {
	rules := sim.Config{
		Cluster: cluster.Uniform(3, 2), Physics: physics.Compose(physics.InterServer{Penalty: 0.5}), Restart: sim.Pause(time.Minute),
	}
	jobs := mixed(30, 1)
	for i := range jobs {
		jobs[i].Workers = min(jobs[i].Workers, 6)
	}
	episode := sim.Episode{Config: rules, Jobs: jobs}
	how := must.Get(baselines.Reviewed("sjfskip"))(t)
	for _, text := range []string{
		"{name: a, terms: [{cost: completion, price: 1/h}]}",
		"{name: b, terms: [{cost: makespan, price: 1/h}]}",
		"{name: c, terms: [{cost: completion, price: 1/h, power: 2}]}",
		"{name: d, terms: [{cost: completion, price: 3/h, jobs: {gpus: 1}}, {cost: completion, price: 1/h, jobs: {gpus: 2-}}]}",
		"{name: e, terms: [{cost: wait, first: true, over: 10m, price: 1/min}, {cost: stop, price: 3}, {cost: lost_gpu_time, price: 1/min}]}",
	} {
		goal := goal{objective: must.Get(objectives.Open(text))(t), memory: time.Hour}
		for _, length := range []time.Duration{20 * time.Minute, 2 * time.Hour, math.MaxInt64} {
			g, err := newPlayer(untrained(t, "sjfskip", 8), episode, goal, 1, rand.New(rand.NewPCG(1, 4)))
			must.Do(t, err)
			g.tail, g.until = true, length
			must.Do(t, playAll(t.Context(), []*player{g}, 1, func(int, *rollout) error { return nil }))
			var actions []int // so far
			saves := 0
			for i := range g.out.samples {
				s := &g.out.samples[i]
				var own float64
				for k := range s.Saved {
					judge := &script{actions: append(actions, k)}
					cost := costAfter(t, episode, candidates.New("script", how.Config, judge), judge, goal, length)
					if k == 0 {
						own = cost
					}
					if math.Abs(s.Saved[k]-(own-cost)) > 1e-9*max(1, own) {
						t.Fatalf("%s, %v, choice %d, candidate %d: label %v, the episodes differ by %v", text, length, i, k,
							s.Saved[k], own-cost)
					}
					if s.Saved[k] != 0 {
						saves++
					}
				}
				actions = append(actions, s.Action)
			}
			if saves < 10 {
				t.Errorf("%s, %v: %d labels other than 0", text, length, saves)
			}
		}
	}
}

// costAfter plays an episode and returns what it costs from the script's last choice on, for the given time, with the estimate.
func costAfter(
	t *testing.T, episode sim.Episode, s cluster.Scheduler, judge *script, goal goal, length time.Duration,
) (cost float64) {
	t.Helper()
	run, err := episode.New()
	must.Do(t, err)
	b, over := goal.costing(&episode), false
	run.Watch(func(from, to time.Duration) {
		v, end, counts := &run.State().View, to, judge.chosen >= len(judge.actions)
		if over {
			return
		}
		if counts && length < math.MaxInt64 {
			end = min(to, judge.now+length)
		}
		x := b.pass(v, from, end)
		if !counts {
			return
		}
		cost += x
		if over = length < math.MaxInt64 && end == judge.now+length; over {
			cost += b.backlog(v, run.Backlog(end, nil))
		}
	})
	must.Do(t, run.Run(context.Background(), s, 0))
	return cost
}

// TestTailSettings checks which settings go together.
func TestTailSettings(t *testing.T) {
	env.RegisterReward(plainReward{})
	const makespan = "{name: last, terms: [{cost: makespan, price: 1/h}]}"
	set := func(tail, objective string, expert int) error {
		c := DefaultConfig()
		c.Tail, c.Objective, c.Expert = tail, objective, expert
		return c.Validate()
	}
	for _, c := range []struct {
		tail, objective string
		expert          int
		want            string // part of the error; "" for none
	}{
		{"", "", 0, ""}, {"discount", "flow", 60, ""}, {"backlog", "", 60, ""}, {"backlog", makespan, 60, ""}, {"", "tail", 0, ""},
		{"none", "", 60, `train.tail: "none", want discount or backlog`}, {"backlog", "", 59, ""},
		{"backlog", makespan, 59, ""},
		{"", makespan, 60, "want train.tail=backlog"}, {"discount", makespan, 60, "want train.tail=backlog"},
		{"backlog", "plain", 60, "no estimate of a backlog"}, {"", "theirs", 60, `train.objective: objective "theirs", want a YAML file`},
	} {
		err := set(c.tail, c.objective, c.expert)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}

// plainReward is a reward without an estimate of a backlog.
type plainReward struct{}

func (plainReward) Name() string { return "plain" }
func (plainReward) Score(_ *cluster.View, from, to time.Duration) float64 {
	return -(to - from).Hours()
}

// TestDrawsAfterBacklogLabels checks that a run may go on by PPO after labels that end in an estimate of the backlog: it shares
// these labels with a run from labels alone, and does not discount its draws unless a learned critic does.
func TestDrawsAfterBacklogLabels(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Prior, cfg.Tail, cfg.Updates, cfg.Expert, cfg.Memory = "sjfskip", backlogTail, 4, 4, 30*time.Minute
	opt.Labels = filepath.Join(t.TempDir(), "labels")
	mustRun(t, cfg, opt)
	labelled := files(t, opt.Labels)
	cfg.Updates = 6
	for critic, memory := range map[string]float64{priorCritic: 0, learnedCritic: cfg.Memory.Seconds()} {
		more := fresh(t, opt)
		cfg.Critic = critic
		mustRun(t, cfg, more)
		if now := files(t, opt.Labels); !maps.Equal(now, labelled) {
			t.Errorf("%s: the run with draws has other labels", critic)
		}
		_, training, err := Open(more.Dir, cfg.Table, nil)
		if err != nil || training.Memory != memory {
			t.Errorf("%s: provenance %+v, error %v", critic, training, err)
		}
	}
}

// TestDrawsThatEndInTheBacklog checks what a decision in draws is credited with if costs end in an estimate of the backlog: the
// label of the candidate taken, and a share of what the decisions after it save, which fades with their distance.
func TestDrawsThatEndInTheBacklog(t *testing.T) {
	episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(3, 2), Restart: sim.Pause(time.Minute)}, Jobs: mixed(40, 1)}
	for i := range episode.Jobs {
		episode.Jobs[i].Workers = min(episode.Jobs[i].Workers, 6)
	}
	const credit = 10 * time.Minute
	p, shake := untrained(t, "sjfskip", 8), rand.New(rand.NewPCG(1, 9))
	p.Margin = 0
	for _, w := range p.Params {
		for i := range w.Data {
			w.Data[i] += float32(shake.NormFloat64()) / 4
		}
	}
	played := func(label float64) *rollout {
		g := must.Get(newPlayer(p, episode, flow(time.Hour), label, rand.New(rand.NewPCG(1, 4))))(t)
		g.team.Explore(nil, 1) // what is recorded about a decision does not change the next
		g.ends(&Config{Memory: 2 * time.Hour})
		must.Do(t, playAll(t.Context(), []*player{g}, 1, func(int, *rollout) error { return nil }))
		return g.out
	}
	draws, labelled := played(-1), played(1)
	if len(draws.samples) != len(labelled.samples) {
		t.Fatalf("%d decisions, %d with labels", len(draws.samples), len(labelled.samples))
	}
	draws.judge(time.Hour, credit)
	saves, gain, end := 0, 0.0, time.Duration(0)
	for i := len(draws.steps) - 1; i >= 0; i-- {
		s, label := draws.steps[i], &labelled.samples[i]
		if want := label.Saved[draws.samples[i].Action]; s.saved != want {
			t.Fatalf("decision %d: saved %v, its label %v", i, s.saved, want)
		}
		gain, end = s.saved+fade(end-s.at, credit)*gain, s.at
		if got := draws.samples[i].Gain; math.Abs(got-gain) > 1e-9 {
			t.Fatalf("decision %d: advantage %v, want %v", i, got, gain)
		}
		if s.saved != 0 {
			saves++
		}
	}
	if saves < 10 {
		t.Errorf("%d of %d decisions saved something", saves, len(draws.steps))
	}
}

// TestObjectiveOfARun checks that a run for an objective with an estimate of the backlog resumes exactly, refuses another objective,
// and tells its objective in the recipe, the manifest and the card.
func TestObjectiveOfARun(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Prior, cfg.Objective, cfg.Tail, cfg.Updates, cfg.Expert, cfg.Memory = "sjfskip", "tail", "backlog", 6, 6, 30*time.Minute
	begun := opt
	begun.Dir = t.TempDir()
	r := must.Get(start(t.Context(), cfg, begun))(t)
	labeller, err := r.labels.player(0)
	r.close()
	if err != nil || !labeller.tail || labeller.until != cfg.Memory {
		t.Errorf("labels end in an estimate: %v, after %v, error %v", labeller.tail, labeller.until, err)
	}
	mustRun(t, cfg, opt)
	half := halted(t, cfg, fresh(t, opt), 3)
	other := cfg
	for _, other.Objective = range []string{"", "deadlines"} {
		resumed := half
		resumed.Resume = true
		if _, _, err := Run(t.Context(), other, resumed); !errors.Is(err, recipe.ErrMismatch) || !strings.Contains(err.Error(), "cost by tail") {
			t.Errorf("resumed for %q: error %v", other.Objective, err)
		}
	}
	mustRun(t, cfg, half)
	same(t, half.Dir, opt.Dir)

	text := must.Get(objectives.Open("tail"))(t).Text()
	p, training, err := Open(opt.Dir, cfg.Table, nil)
	if err != nil || training.Objective != text || training.Memory != 0 {
		t.Errorf("provenance %+v, error %v", training, err)
	}
	dir := filepath.Join(t.TempDir(), "policy")
	must.Do(t, export.Save(dir, p, "now", training, nil))
	b, err := checkpoints.ReadBundle(dir, checkpoints.Limits{})
	if err != nil || b.Manifest.Training.Objective != text {
		t.Errorf("manifest %+v, error %v", b.Manifest.Training, err)
	}
	card, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || strings.Count(string(card), "`tail`") != 2 || strings.Contains(string(card), "minimises completion times") ||
		!strings.Contains(string(card), "      terms:\n") {
		t.Errorf("error %v, the card does not tell the objective:\n%s", err, card)
	}
}
