package train

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/train/recipe"
)

// taught returns a policy that learned on the first scenario of tiny, and a run from it on the second.
func taught(t *testing.T) (from *From, cfg Config, opt Options) {
	t.Helper()
	cfg, opt = tiny(t)
	first := fresh(t, opt)
	first.Dir = filepath.Join(filepath.Dir(first.Dir), "first")
	first.Scenarios = opt.Scenarios[:1]
	short := cfg
	short.Updates, short.Prior = 2, "sjfskip"
	mustRun(t, short, first)
	p, training, err := Open(first.Dir, cfg.Table, nil)
	must.Do(t, err)
	from = &From{Policy: p, Training: training}
	opt.Scenarios, opt.From = opt.Scenarios[1:], from
	return from, from.Adopt(cfg), opt
}

// stored returns the weights and the range in a checkpoint of a run.
func stored(t *testing.T, dir string, s agents.Shape, step int) (state, agents.Params, agents.Range) {
	t.Helper()
	store := must.Get(checkpoints.ViewStore(filepath.Join(dir, storeName), checkpoints.Limits{}))(t)
	c := must.Get(store.Load(step))(t)
	st, params, _, err := unpack(s, c)
	must.Do(t, err)
	r := must.Get(agents.RangeFrom(s, c.Tensors))(t)
	return st, params, r
}

// TestRunsBeginFromPolicies checks that a run begins with the weights of a policy and validates it as it is, that it keeps and
// widens the policy's range, that its own policy was trained on the jobs of both runs, and that it can be stopped, killed and
// resumed without the policy.
func TestRunsBeginFromPolicies(t *testing.T) {
	from, cfg, opt := taught(t)
	cfg.Keep = 10
	digest := from.Policy.Digest()
	policy := mustRun(t, cfg, opt)
	if from.Policy.Digest() != digest {
		t.Error("the run changed the policy that it began with")
	}
	shape := from.Policy.Shape
	st, params, wide := stored(t, opt.Dir, shape, 0)
	for i := range params {
		if !slices.Equal(params[i].Data, from.Policy.Params[i].Data) {
			t.Fatalf("weights %s at the beginning differ from the policy's", params[i].Name)
		}
	}
	if !slices.Equal(wide, from.Policy.Range) || wide == nil {
		t.Error("the range at the beginning differs from the policy's")
	}
	_, _, wide = stored(t, opt.Dir, shape, 6)
	wider := false
	for i := 0; i < len(wide); i += 2 {
		low, high := from.Policy.Range[i], from.Policy.Range[i+1]
		if low <= high && (wide[i] > low || wide[i+1] < high) {
			t.Errorf("range %d narrowed from [%v, %v] to [%v, %v]", i/2, low, high, wide[i], wide[i+1])
		}
		wider = wider || wide[i] < low || wide[i+1] > high
	}
	if !wider {
		t.Error("the range did not widen: the comparison says nothing")
	}
	all := must.Get(ReadMetrics(opt.Dir))(t)
	if all[0].Start == nil || *all[0].Start != *st.Start || *st.Start == 1 || all[1].Start != nil {
		t.Errorf("validated at the beginning: %v in the metrics, %v in the checkpoint", all[0].Start, st.Start)
	}
	if want := min(1, *st.Start); *st.Best != want {
		t.Errorf("the best at the beginning is %v, want %v: the prior or the policy", *st.Best, want)
	}

	got, training, err := Open(opt.Dir, cfg.Table, nil)
	if err != nil || got.Digest() != policy.Digest() {
		t.Fatalf("opened another policy: %v", err)
	}
	o := training.From
	if o == nil || o.Policy != "first" || o.SHA256 != digest || o.Updates != 2 || o.Scenario != "embedded-small-v1" || o.Validation != *st.Start {
		t.Errorf("provenance %+v", o)
	}
	own := must.Get(ReadRecipe(opt.Dir))(t)
	for _, list := range [][]scenario.Period{own.From.Seen, own.Workloads[0].Seen} {
		for _, p := range list {
			if !slices.Contains(training.Seen, checkpoints.Period(p)) || len(list) == 0 {
				t.Errorf("trained on %v, want %v as well", training.Seen, p)
			}
		}
	}
	if len(own.From.Seen) == 0 || !slices.Equal(own.From.Seen, func() (s []scenario.Period) {
		for _, p := range from.Training.Seen {
			s = append(s, scenario.Period(p))
		}
		return s
	}()) {
		t.Errorf("the recipe says that the policy was trained on %v, want %v", own.From.Seen, from.Training.Seen)
	}
	began, origin, err := agents.Load(filepath.Join(opt.Dir, FromName))
	if err != nil || began.Digest() != digest || len(origin.Training.Seen) == 0 {
		t.Errorf("the bundle in the folder: %v", err)
	}

	for _, stop := range []int{1, 4} {
		half := fresh(t, opt)
		if _, stopped, err := Run(t.Context(), cfg, stopAfter(half, stop)); err != nil || !stopped {
			t.Fatalf("stopped %v, error %v", stopped, err)
		}
		if stop == 1 { // killed before the first checkpoint
			remove(t, filepath.Join(half.Dir, storeName))
			remove(t, filepath.Join(half.Dir, metricsName))
		}
		half.Resume, half.From = true, nil
		sameWeights(t, mustRun(t, cfg, half), policy)
		same(t, half.Dir, opt.Dir)
		half.From = from
		mustRun(t, cfg, half)
	}
}

// TestChains checks that a run from the policy of a run from a policy is trained on the jobs of all three, and that it can begin
// with the bundle of the policy.
func TestChains(t *testing.T) {
	from, cfg, opt := taught(t)
	cfg.Updates = 1
	mustRun(t, cfg, opt)
	p, training, err := Open(opt.Dir, cfg.Table, nil)
	must.Do(t, err)
	b, card, err := p.Bundle("test", training)
	must.Do(t, err)
	dir := filepath.Join(t.TempDir(), "bundle")
	must.Do(t, checkpoints.WriteBundle(dir, b.Manifest, b.Tensors, nil, card, nil))
	p, m, err := agents.Load(dir)
	must.Do(t, err)
	next := fresh(t, opt)
	next.From = &From{Policy: p, Training: m.Training}
	_, o := tiny(t, "name=third-v1", "workload.seed=11")
	next.Scenarios = o.Scenarios[:1]
	mustRun(t, next.From.Adopt(cfg), next)
	_, last, err := Open(next.Dir, cfg.Table, nil)
	must.Do(t, err)
	for _, p := range slices.Concat(from.Training.Seen, training.Seen) {
		if !slices.Contains(last.Seen, p) {
			t.Errorf("trained on %v, want %v as well", last.Seen, p)
		}
	}
}

// TestBadBeginningsKeepThePrior checks that the prior remains the best if the policy that the run begins with does worse.
func TestBadBeginningsKeepThePrior(t *testing.T) {
	from, cfg, opt := taught(t)
	for i := range from.Policy.Params {
		if p := &from.Policy.Params[i]; p.Name == "bid.w" {
			for j := range p.Data {
				p.Data[j] = float32(20 * (2*(j%2) - 1))
			}
		}
	}
	from.Policy.Range = nil // or the policy leaves choices out of distribution to the prior
	stop := make(chan struct{})
	close(stop)
	opt.Stop = stop
	p, _, err := Run(t.Context(), cfg, opt)
	must.Do(t, err)
	st, _, _ := stored(t, opt.Dir, p.Shape, 0)
	if *st.Start <= 1 || *st.Best != 1 {
		t.Fatalf("validated at %v, the best is %v, want above 1, and 1", *st.Start, *st.Best)
	}
	for i := range p.Params {
		if p.Params[i].Name == "bid.w" && slices.ContainsFunc(p.Params[i].Data, func(x float32) bool { return x != 0 }) {
			t.Error("the best policy bids, want the untrained one")
		}
	}
}

// TestBeginningsRefused checks that a run refuses settings that contradict the policy that it is to begin with, and another policy
// than it began with.
func TestBeginningsRefused(t *testing.T) {
	from, cfg, opt := taught(t)
	for _, c := range []struct {
		change func(*Config)
		want   string // part of the error; empty for no error
	}{
		{func(c *Config) { c.Window = 9 }, "train.window: 9 does not fit the policy that the run begins with: first has 6"},
		{func(c *Config) { c.Prior = "fifo,sjfskip" }, "train.prior: fifo,sjfskip does not fit"},
		{func(c *Config) { c.Size.Hidden = 5 }, "train.size.hidden: 5 does not fit the policy that the run begins with: first has 4"},
		{func(c *Config) { c.Size.Graph = agents.GraphNone }, "train.size.graph: none does not fit"},
		{func(c *Config) { c.Candidates = 8 }, "train.candidates: 8 does not fit"},
		{func(c *Config) { c.Candidates, c.Rivals = 8, "fifo" }, "train.candidates: 8 does not fit"},
		{func(c *Config) { c.Size.Graph, c.Margin, c.Rate, c.Updates = "", 2, 0.01, 1 }, ""},
	} {
		new := cfg
		c.change(&new)
		try := fresh(t, opt)
		_, _, err := Run(t.Context(), new, try)
		if c.want == "" {
			if err != nil {
				t.Errorf("settings that may differ: %v", err)
			}
			continue
		}
		if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if _, err := os.Stat(filepath.Join(try.Dir, recipe.Name)); err == nil {
			t.Errorf("%s: there is a run", c.want)
		}
	}

	cfg.Updates = 1
	mustRun(t, cfg, opt)
	before := results(t, opt.Dir)
	if _, _, err := Run(t.Context(), cfg, opt); err == nil || !strings.Contains(err.Error(), "holds a run already") {
		t.Errorf("a new run where one is: error %v", err)
	}
	resume := opt
	resume.Resume = true
	other := *from.Policy
	other.Margin++
	resume.From = &From{Policy: &other, Training: from.Training}
	_, _, err := Run(t.Context(), cfg, resume)
	if !errors.Is(err, recipe.ErrMismatch) || !strings.Contains(err.Error(), other.Digest()) ||
		!strings.Contains(err.Error(), from.Policy.Digest()) {
		t.Errorf("resumed from another policy: error %v", err)
	}
	for name, text := range results(t, opt.Dir) {
		if !bytes.Equal(before[name], text) {
			t.Errorf("refusals changed %s", name)
		}
	}

	plain := fresh(t, opt)
	plain.From = nil
	mustRun(t, cfg, plain)
	plain.Resume, plain.From = true, from
	if _, _, err := Run(t.Context(), cfg, plain); !errors.Is(err, recipe.ErrMismatch) || !strings.Contains(err.Error(), "began untrained") {
		t.Errorf("an untrained run resumed from a policy: error %v", err)
	}
}

// TestDamagedBeginnings checks that a run that was killed before its first checkpoint refuses a damaged policy in its folder.
func TestDamagedBeginnings(t *testing.T) {
	_, cfg, opt := taught(t)
	cfg.Updates = 1
	mustRun(t, cfg, opt)
	remove(t, filepath.Join(opt.Dir, storeName))
	remove(t, filepath.Join(opt.Dir, metricsName))
	edit(t, filepath.Join(opt.Dir, FromName, "weights.safetensors"), func(b []byte) []byte { b[len(b)-5] ^= 4; return b })
	opt.Resume, opt.From = true, nil
	if _, _, err := Run(t.Context(), cfg, opt); !errors.Is(err, checkpoints.ErrDamaged) {
		t.Errorf("error %v, want %v", err, checkpoints.ErrDamaged)
	}
}
