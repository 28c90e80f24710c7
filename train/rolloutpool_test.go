package train

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
)

// TestAPoolPlaysRollouts checks that a run whose episodes of PPO other processes play stores the same bytes as one that plays
// them, for all that decides what a rollout contains, and also if rollouts are too large to be sent.
func TestAPoolPlaysRollouts(t *testing.T) {
	for name, change := range map[string]func(cfg *Config){
		"several on a window": func(cfg *Config) { cfg.Rollouts = 2 },
		"a learned critic":    func(cfg *Config) { cfg.Critic = learnedCritic },
		"an estimated tail":   func(cfg *Config) { cfg.Tail = backlogTail },
		"joint decisions":     func(cfg *Config) { cfg.Candidates, cfg.Size.Joint, cfg.Size.Hidden = 6, true, 8 },
		"rivals": func(cfg *Config) {
			cfg.Candidates, cfg.Rivals, cfg.Against, cfg.Temperature = 6, "srtf", "prior,fifo", 0.5
		},
		"too large": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, opt := tiny(t)
			if cfg.Expert, cfg.Windows = 4, 3; change != nil {
				change(&cfg)
			}
			first := mustRun(t, cfg, opt)
			other := pooled(t, fresh(t, opt), 2)
			pool := other.Pool.(*inProcess)
			if change == nil {
				for _, w := range pool.workers {
					w.most = 100
				}
			}
			sameWeights(t, mustRun(t, cfg, other), first)
			same(t, other.Dir, opt.Dir)
			if n := len(pool.sizes[3]); pool.jobs != 3 || n != cfg.Windows*cfg.Rollouts {
				t.Errorf("%d jobs with %d units in the last, want 3 and %d", pool.jobs, n, cfg.Windows*cfg.Rollouts)
			}
			if large := slices.Max(pool.sizes[3]) == len(tooLarge); large != (change == nil) {
				t.Errorf("too large to be sent: %t; sizes %v", large, pool.sizes[3])
			}
		})
	}
}

// TestWorkersKeepARunOpen checks that a worker opens the scenarios once for all jobs of a run, and that it refuses another policy
// than the job names and updates that have no rollouts.
func TestWorkersKeepARunOpen(t *testing.T) {
	r := afterLabels(t)
	r.files.recipe.Train.Updates = 6
	r.cfg.Updates = 6
	var w Worker
	job := func(update, policy string) []byte {
		text := must.Get(r.files.job(r.policy, map[string]string{updateKey: update, policyKey: policy}))(t)
		return text
	}
	var opened *run
	for _, update := range []string{"4", "6"} {
		must.Get(w.Open(t.Context(), job(update, r.policy.Digest())))(t)
		if opened != nil && w.run != opened {
			t.Error("the worker opened the run again")
		}
		opened = w.run
	}
	for update, want := range map[string]string{"3": "want 4 to 6", "7": "want 4 to 6", "x": "want 4 to 6", "5": "want the one of the run"} {
		if _, err := w.Open(t.Context(), job(update, "another")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("update %s: error %v, want %q", update, err, want)
		}
	}
}

// playedOnce returns a run and the answer about one of its rollouts.
func playedOnce(tb testing.TB) (*run, []byte) {
	tb.Helper()
	cfg, opt := tiny(tb)
	cfg.Updates, cfg.Expert, cfg.Windows = 1, 0, 1
	r := &run{cfg: cfg, opt: opt}
	var err error
	r.goal = must.Get(cfg.goal())(tb)
	if _, _, err = r.openSources(); err != nil {
		tb.Fatal(err)
	}
	r.stages = append(r.stages, r.sources)
	design := cfg.design("learned", "sjfskip")
	init := rng.Stream(1, "test")
	r.policy = must.Get(design.Make(func(s agents.Shape) (agents.Params, error) { return agents.Init(s, init), nil }))(tb)
	windows, _ := r.choose(1)
	answer := must.Get(r.rollout(tb.Context(), 1, 0, 0, windows, maxSent))(tb)
	return r, answer
}

// TestRolloutsFromOthersAreChecked checks that a run refuses rollouts that no worker sends.
func TestRolloutsFromOthersAreChecked(t *testing.T) {
	r, answer := playedOnce(t)
	x := &rolls{run: r, outs: make([]*rollout, 1)}
	z := must.Get(gzip.NewReader(bytes.NewReader(answer)))(t)
	file := must.Get(io.ReadAll(z))(t)
	edited := func(name string, change func(data any)) []byte {
		tensors, _, err := checkpoints.ReadTensors(bytes.Clone(file), checkpoints.Limits{})
		must.Do(t, err)
		change(tensors[slices.IndexFunc(tensors, func(t checkpoints.Tensor) bool { return t.Name == name })].Data)
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		must.Do(t, checkpoints.WriteTensors(z, tensors, nil))
		must.Do(t, z.Close())
		return out.Bytes()
	}
	number := func(i int, v int64) func(any) { return func(data any) { data.([]int64)[i] = v } }
	for _, c := range []struct {
		name   string
		answer []byte
		want   string
	}{
		{"nothing", nil, "EOF"},
		{"half of it", answer[:len(answer)/2], "EOF"},
		{"NaN", edited("log_prob", func(data any) { data.([]float64)[1] = math.NaN() }), "not a finite number"},
		{"an action too high", edited("action", number(0, 1<<20)), "was taken"},
		{"a negative action", edited("action", number(0, -1)), "was taken"},
		{"time goes back", edited("step_at", number(0, math.MaxInt64)), "do not ascend"},
		{"time before the episode", edited("curve_at", number(0, -1)), "do not ascend"},
		{"time stands still", edited("curve_at", func(data any) { data.([]int64)[1] = data.([]int64)[0] }), "do not ascend"},
		{"a negative count", edited("kinds", number(0, -1)), "count -1"},
		{"another count of rows", edited("counts", func(data any) { data.([]int64)[2]++ }), "shape"},
	} {
		if refused, failed := x.take(0, c.answer); refused == nil || failed != nil || !strings.Contains(refused.Error(), c.want) {
			t.Errorf("%s: refused %v, failed %v, want %q", c.name, refused, failed, c.want)
		}
	}
	if refused, _ := x.take(1, answer); refused == nil || x.outs[0] != nil {
		t.Errorf("took unit 1 of 1 (%v), or kept an answer that it refused", refused)
	}
	if refused, failed := x.take(0, answer); refused != nil || failed != nil || x.outs[0] == nil {
		t.Errorf("refused %v, failed %v", refused, failed)
	}
}

// FuzzRollout checks that the learner survives any answer, and that a rollout that it accepts is the same after it was sent again.
func FuzzRollout(f *testing.F) {
	r, answer := playedOnce(f)
	f.Add(answer)
	f.Fuzz(func(t *testing.T, answer []byte) {
		g, err := r.decodeRollout(answer)
		if err != nil {
			return
		}
		again := must.Get(r.encodeRollout(g, maxRollout))(t)
		other, err := r.decodeRollout(again)
		if err != nil || !reflect.DeepEqual(g, other) {
			t.Error(fmt.Errorf("sent again, it is another one (%w)", err))
		}
	})
}
