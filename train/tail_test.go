package train

import (
	"context"
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
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/stats"
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
	for _, reward := range []env.BacklogReward{env.Flow{}, env.Makespan{}, env.P99{Power: 2}, env.Tenants{}} {
		for _, length := range []time.Duration{20 * time.Minute, 2 * time.Hour, math.MaxInt64} {
			g, err := newPlayer(untrained(t, "sjfskip", 8), episode, goal{reward, time.Hour}, 1, rand.New(rand.NewPCG(1, 4)))
			must.Do(t, err)
			g.tail, g.until = reward, length
			must.Do(t, playAll(t.Context(), []*player{g}, 1, func(int, *rollout) error { return nil }))
			var actions []int // so far
			saves := 0
			for i := range g.out.samples {
				s := &g.out.samples[i]
				var own float64
				for k := range s.Saved {
					judge := &script{actions: append(actions, k)}
					cost := costAfter(t, episode, candidates.New("script", how.Config, judge), judge, reward, length)
					if k == 0 {
						own = cost
					}
					if math.Abs(s.Saved[k]-(own-cost)) > 1e-9*max(1, own) {
						t.Fatalf("%s, %v, choice %d, candidate %d: label %v, the episodes differ by %v", reward.Name(), length, i, k,
							s.Saved[k], own-cost)
					}
					if s.Saved[k] != 0 {
						saves++
					}
				}
				actions = append(actions, s.Action)
			}
			if saves < 10 {
				t.Errorf("%s, %v: %d labels other than 0", reward.Name(), length, saves)
			}
		}
	}
}

// costAfter plays an episode and returns what it costs from the script's last choice on, for the given time, with the estimate.
func costAfter(
	t *testing.T, episode sim.Episode, s cluster.Scheduler, judge *script, reward env.BacklogReward, length time.Duration,
) (cost float64) {
	t.Helper()
	run, err := episode.New()
	must.Do(t, err)
	run.Watch(func(from, to time.Duration) {
		v := &run.State().View
		if judge.chosen < len(judge.actions) || to-length > judge.now && from-length >= judge.now {
			return
		}
		end := to
		if length < math.MaxInt64 {
			end = min(to, judge.now+length)
		}
		cost -= reward.Score(v, from, end)
		if length < math.MaxInt64 && end == judge.now+length {
			cost -= reward.ScoreBacklog(v, end, run.Backlog(end, nil))
		}
	})
	must.Do(t, run.Run(context.Background(), s, 0))
	return cost
}

// TestTailSettings checks which settings go together.
func TestTailSettings(t *testing.T) {
	env.RegisterReward(plainReward{})
	set := func(tail, reward string, expert int) error {
		c := DefaultConfig()
		c.Tail, c.Reward, c.Expert = tail, reward, expert
		return c.Validate()
	}
	for _, c := range []struct {
		tail, reward string
		expert       int
		want         string // part of the error; "" for none
	}{
		{"", "", 0, ""}, {"discount", "flow", 60, ""}, {"backlog", "", 60, ""}, {"backlog", "makespan", 60, ""}, {"", "p99", 0, ""},
		{"none", "", 60, `train.tail: "none", want discount or backlog`}, {"backlog", "", 59, ""},
		{"backlog", "makespan", 59, ""},
		{"", "makespan", 60, "want train.tail=backlog"}, {"discount", "makespan", 60, "want train.tail=backlog"},
		{"backlog", "plain", 60, "no estimate of a backlog"}, {"", "tenants:a", 60, "train.reward: reward tenants"},
	} {
		err := set(c.tail, c.reward, c.expert)
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

// TestObjectiveOfARun checks that a run for the 99th percentile with an estimate of the backlog resumes exactly, is validated by
// that percentile, and names its objective in the manifest and the card.
func TestObjectiveOfARun(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Prior, cfg.Reward, cfg.Tail, cfg.Updates, cfg.Expert, cfg.Memory = "sjfskip", "p99:power=2", "backlog", 6, 6, 30*time.Minute
	begun := opt
	begun.Dir = t.TempDir()
	r := must.Get(start(t.Context(), cfg, begun))(t)
	labeller, err := r.labels.player(0)
	r.close()
	if err != nil || labeller.tail != env.BacklogReward(env.P99{Power: 2}) || labeller.until != cfg.Memory {
		t.Errorf("labels end in an estimate of %v after %v, error %v", labeller.tail, labeller.until, err)
	}
	mustRun(t, cfg, opt)
	half := halted(t, cfg, fresh(t, opt), 3)
	mustRun(t, cfg, half)
	same(t, half.Dir, opt.Dir)

	_, training, err := Open(opt.Dir, cfg.Table, nil)
	if err != nil || training.Objective != cfg.Reward || training.Memory != 0 {
		t.Errorf("provenance %+v, error %v", training, err)
	}
	p, _, err := Open(opt.Dir, cfg.Table, nil)
	must.Do(t, err)
	dir := filepath.Join(t.TempDir(), "policy")
	must.Do(t, export.Save(dir, p, "now", training, nil))
	b, err := checkpoints.ReadBundle(dir, checkpoints.Limits{})
	if err != nil || b.Manifest.Training.Objective != cfg.Reward {
		t.Errorf("manifest %+v, error %v", b.Manifest.Training, err)
	}
	card, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || strings.Count(string(card), "the reward `p99:power=2`") != 2 || strings.Contains(string(card), "completion times") {
		t.Errorf("error %v, the card does not tell the objective:\n%s", err, card)
	}

	g := must.Get(cfg.goal())(t)
	episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(2, 4)}, Jobs: mixed(60, 3)}
	var p99 [2]float64
	var curves [2]*curve
	for i, name := range []string{"fifo", "sjfskip"} {
		s, err := all.New(name)
		must.Do(t, err)
		curves[i] = must.Get(g.follow(s, episode))(t)
		var jct []float64
		for _, r := range logOf(t, s, episode).Records {
			if r.Kind == sim.Finish {
				jct = append(jct, (r.At - episode.Jobs[r.Job].Submit).Hours())
			}
		}
		p99[i] = stats.Quantile(jct, 0.99)
	}
	if got, want := curves[1].over(curves[0]), p99[1]/p99[0]; math.Abs(got-want) > 1e-9 || got == curves[1].total/curves[0].total {
		t.Errorf("compared by %v, the 99th percentiles by %v", got, want)
	}
	played, err := play(untrained(t, "sjfskip", 6), episode, g, -1, nil)
	if err != nil || played.curve.figure != p99[1] {
		t.Errorf("the prior played by a team has a figure of %v (%v), want %v", played.curve.figure, err, p99[1])
	}
}
