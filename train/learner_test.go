package train

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// idle returns a learner of an untrained policy, with one machine.
func idle(tb testing.TB, cfg *Config) *learner {
	tb.Helper()
	l := must.Get(newLearner(cfg, untrained(tb, "sjfskip", 6), 4, 1))(tb)
	tb.Cleanup(l.close)
	return l
}

func flat(l *learner) []float32 {
	var all []float32
	for i := range l.params {
		all = append(all, l.params[i].Data...)
	}
	return all
}

// TestStepIsAdam checks steps against Adam as published, on gradients whose norm is clipped.
func TestStepIsAdam(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Batch = 8
	l := idle(t, &cfg)
	r := rand.New(rand.NewPCG(1, 1))
	w := make([]float64, 0, len(l.adam.M))
	for _, x := range flat(l) {
		w = append(w, float64(x))
	}
	m, v := make([]float64, len(w)), make([]float64, len(w))
	for n := 1; n <= 20; n++ {
		size := []float64{1e-4, 1, 1e-2}[n%3] // below and above the limit of the norm
		square := 0.0
		for i := range w {
			l.grads[0][i] = float32(size * r.NormFloat64())
			square += float64(l.grads[0][i]) * float64(l.grads[0][i])
		}
		rate := 0.01 / float64(n)
		for i := range w {
			g := float64(l.grads[0][i])
			if norm := math.Sqrt(square); norm > cfg.MaxNorm {
				g *= cfg.MaxNorm / norm
			}
			m[i] = 0.9*m[i] + 0.1*g
			v[i] = 0.999*v[i] + 0.001*g*g
			up, down := m[i]/(1-math.Pow(0.9, float64(n))), math.Sqrt(v[i]/(1-math.Pow(0.999, float64(n))))+1e-5
			w[i] -= rate * up / down
		}
		norm := must.Get(l.step(rate))(t)
		if math.Abs(norm-math.Sqrt(square)) > 1e-9*norm {
			t.Fatalf("step %d: norm %v, want %v", n, norm, math.Sqrt(square))
		}
		for i, got := range flat(l) {
			if math.Abs(float64(got)-w[i]) > 1e-5 {
				t.Fatalf("step %d: weight %d is %v, want %v", n, i, got, w[i])
			}
		}
	}
}

// played returns samples of sampled episodes, with labels and with random advantages.
func played(tb testing.TB, n int) []learn.Sample {
	tb.Helper()
	draw := rand.New(rand.NewPCG(2, 2))
	p := untrained(tb, "sjfskip", 6)
	var all []learn.Sample
	for seed := uint64(0); len(all) < n; seed++ {
		r, err := play(p, sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: mixed(60, seed)}, flow(time.Hour), 1, draw)
		must.Do(tb, err)
		all = append(all, r.samples...)
	}
	scaleSavings(all)
	for i := range all {
		all[i].Gain = draw.NormFloat64()
	}
	return all[:n]
}

// TestGradientDoesNotDependOnMachines checks, for every loss, that the gradient of a batch is the same bit by bit for any number
// of machines, and that it is the sum of the gradients of its samples.
func TestGradientDoesNotDependOnMachines(t *testing.T) {
	samples := played(t, 330)
	for _, c := range []struct {
		learner string
		expert  int
		loss    learn.Loss
	}{
		{policyLearner, 1, learn.Loss{Kind: learn.Expert, Temperature: 1}},
		{valueLearner, 1, learn.Loss{Kind: learn.Value, Huber: huber, Temperature: 1}},
		{policyLearner, 0, learn.Loss{Kind: learn.PPO, Clip: 0.2, Temperature: 1}},
	} {
		t.Run(c.loss.Kind.String(), func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Epochs = 3
			cfg.Batch = 250 // three full chunks and a partial one
			cfg.Updates, cfg.Expert, cfg.Learner, cfg.Clip, cfg.MaxKL = 1, c.expert, c.learner, 0.2, 100
			var want, wantLater []float32
			for _, workers := range []int{1, 2, 9} {
				l := must.Get(newLearner(&cfg, untrained(t, "sjfskip", 6), 4, workers))(t)
				defer l.close()
				if l.machines = l.ppo; c.expert > 0 {
					l.machines = l.experts
				}
				l.connect(samples)
				if len(l.machines) != min(workers, 4) || len(l.ppo)+len(l.experts) != len(l.machines) {
					t.Fatalf("%d and %d machines for %d workers", len(l.experts), len(l.ppo), workers)
				}
				must.Get(l.gradient(samples[:250], 0.01))(t)
				got := slices.Clone(l.grads[0])
				if want == nil {
					want = got
					checkSum(t, c.loss, samples[:250], want)
				}
				var out Metrics
				draw := rand.New(rand.NewPCG(3, 3))
				must.Do(t, l.improve(copied(samples), c.expert > 0, 0.5, draw, &out))
				later := append(append(flat(l), l.adam.M...), l.adam.V...)
				if wantLater == nil {
					wantLater = later
				}
				if !slices.Equal(got, want) || !slices.Equal(later, wantLater) {
					t.Errorf("%d machines give another gradient (%v) or other weights and moments than one (%v)", workers,
						!slices.Equal(got, want), !slices.Equal(later, wantLater))
				}
				if l.adam.Steps != 6 {
					t.Errorf("%d steps, want 2 for each of 3 epochs", l.adam.Steps)
				}
				if labels := c.expert > 0; labels != (out.Scale > 0) || labels != (out.Agree > 0) || labels == (out.KL > 0) {
					t.Errorf("told %+v of an update with labels: %v", out, labels)
				}
			}
			if !slices.ContainsFunc(want, func(x float32) bool { return x != 0 }) {
				t.Error("the gradient is zero: the comparison says nothing")
			}
		})
	}
}

// copied returns a copy of the samples with their own copies of the labels.
func copied(samples []learn.Sample) []learn.Sample {
	all := slices.Clone(samples)
	for i := range all {
		all[i].Saved = slices.Clone(all[i].Saved)
	}
	return all
}

// checkSum compares a gradient with the sum of the gradients of single samples.
func checkSum(t *testing.T, loss learn.Loss, samples []learn.Sample, got []float32) {
	t.Helper()
	p := untrained(t, "sjfskip", 6)
	m := must.Get(learn.NewMachine[float64](p.Shape, 1, 4, max(6, p.Candidates()), p.Candidates(), loss))(t)
	defer m.Close()
	sum, one := make([]float64, len(got)), make([]float64, len(got))
	for i := range samples {
		must.Get(m.Run(p.Params, samples[i:i+1], 1/float64(len(samples)), 0.01, one))(t)
		for k := range sum {
			sum[k] += one[k]
		}
	}
	for k := range sum {
		if math.Abs(float64(got[k])-sum[k]) > 1e-4*max(0.1, math.Abs(sum[k])) {
			t.Fatalf("gradient %d is %v, the samples' add up to %v", k, got[k], sum[k])
		}
	}
}

// TestScaleGains checks that advantages are divided by their mean absolute value, without those that are 0, and clipped, and that
// some that are far larger leave the others of a useful size.
func TestScaleGains(t *testing.T) {
	samples := make([]learn.Sample, 1000)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range samples[:500] {
		samples[i].Gain = 3 * r.NormFloat64()
	}
	samples[0].Gain, samples[1].Gain = 1e3, -1e3
	scaleGains(samples)
	most := 0.0
	for _, s := range samples[2:] {
		most = max(most, s.Gain)
	}
	if samples[0].Gain != 5 || samples[1].Gain != -5 || samples[999].Gain != 0 || most < 0.5 || most > 5 {
		t.Errorf("outliers at %v and %v, nothing at %v, the others up to %v", samples[0].Gain, samples[1].Gain, samples[999].Gain, most)
	}
	none := []learn.Sample{{}, {}}
	if scaleGains(none); none[0].Gain != 0 {
		t.Errorf("advantages of 0 became %v", none[0].Gain)
	}
}

// TestScaleSavings checks that labels are divided by their mean absolute value, without values that are 0 up to rounding, and
// clipped.
func TestScaleSavings(t *testing.T) {
	for _, c := range []struct {
		name        string
		saved, want [][]float64
		scale       float64
	}{
		{"no labels", nil, nil, 0},
		{"nothing matters", [][]float64{{0, 0}, {0}}, [][]float64{{0, 0}, {0}}, 0},
		{"one matters", [][]float64{{0, 0, 4}, {0, 0}}, [][]float64{{0, 0, 1}, {0, 0}}, 4},
		{"saved and lost alike", [][]float64{{0, 6, -2}, {0, -4}}, [][]float64{{0, 1.5, -0.5}, {0, -1}}, 4},
		{"what rounding leaves", [][]float64{{0, 3, 1e-13}, {0, -2e-14}}, [][]float64{{0, 1, 0}, {0, 0}}, 3},
		{"rounding alone", [][]float64{{0, 1e-13}}, [][]float64{{0, 0}}, 0},
		{"a giant", [][]float64{{0, 93}, {0, -1}, {0, 1, -1}, {0, 1, -1, 1, 1}}, // 100 over 8
			[][]float64{{0, 5}, {0, -0.08}, {0, 0.08, -0.08}, {0, 0.08, -0.08, 0.08, 0.08}}, 12.5},
	} {
		var samples []learn.Sample
		for _, s := range c.saved {
			samples = append(samples, learn.Sample{Saved: slices.Clone(s)})
		}
		if got := scaleSavings(samples); math.Abs(got-c.scale) > 1e-9 {
			t.Errorf("%s: scale %v, want %v", c.name, got, c.scale)
		}
		for i := range samples {
			for k, x := range samples[i].Saved {
				if math.Abs(x-c.want[i][k]) > 1e-9 {
					t.Errorf("%s: %v became %v, want %v", c.name, c.saved[i], samples[i].Saved, c.want[i])
				}
			}
		}
	}
}

// TestNotFiniteIsNamed checks that a number that is not finite ends the step with an error that names its tensor, and that a bad
// gradient changes no weights.
func TestNotFiniteIsNamed(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Batch = 8
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		l := idle(t, &cfg)
		at := 0
		for i := range l.params {
			if l.params[i].Name == "offer.w" {
				break
			}
			at += len(l.params[i].Data)
		}
		before := flat(l)
		l.grads[0][at+2] = bad
		if _, err := l.step(0.01); err == nil || !strings.Contains(err.Error(), "gradient of offer.w: number 2 is ") {
			t.Errorf("gradient with %v: error %v", bad, err)
		}
		if !slices.Equal(flat(l), before) || l.adam.Steps != 0 {
			t.Errorf("gradient with %v: the weights moved", bad)
		}
		l.grads[0][at+2], l.adam.M[at+3] = 1, bad
		if _, err := l.step(0.01); err == nil || !strings.Contains(err.Error(), "weights offer.w: number 3 is ") {
			t.Errorf("weights with %v: error %v", bad, err)
		}
	}
}

// TestNothingBadIsStored checks that a run whose weights diverge ends with an error that names the tensor, and keeps its last
// good checkpoint.
func TestNothingBadIsStored(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Every = 1
	stop := make(chan struct{})
	first := opt
	first.Stop = stop
	first.Progress = func(m *Metrics) {
		if m.Update == 2 {
			close(stop)
		}
	}
	if _, _, err := Run(t.Context(), cfg, first); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(opt.Dir, storeName)
	store := must.Get(checkpoints.OpenStore(dir, checkpoints.StoreOptions{}))(t)
	c := must.Get(store.Load(2))(t)
	m := must.Get(checkpoints.Get[float32](c.Tensors, "adam.m", untrained(t, "sjfskip", 6).Params.Count()))(t)
	m[0] = float32(math.Inf(1))
	must.Do(t, store.Save(2, c.Meta, c.Tensors))
	before := results(t, opt.Dir)
	opt.Resume = true
	p, _, err := Run(t.Context(), cfg, opt)
	if err == nil || p != nil || !strings.Contains(err.Error(), "update 3: weights server.w: number 0 is ") {
		t.Errorf("error %v, want one that names server.w", err)
	}
	after := results(t, opt.Dir)
	for name := range after { // labels do not depend on the weights, so new ones may appear
		if _, ok := before[name]; !ok && strings.HasPrefix(name, labelsName) {
			delete(after, name)
		}
	}
	for name, text := range after {
		if string(before[name]) != string(text) || len(after) != len(before) {
			t.Errorf("%s was written", name)
		}
	}
}

func TestConfigBounds(t *testing.T) {
	good := DefaultConfig()
	if err := good.Validate(); err != nil {
		t.Fatalf("defaults: %v", err)
	}
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string // "": no error
	}{
		{"no updates", func(c *Config) { c.Updates = 0 }, "train.updates: 0, want 1 to 16777216"},
		{"fewer than no updates", func(c *Config) { c.Updates = -3 }, "train.updates: -3"},
		{"no window", func(c *Config) { c.Window = 0 }, "train.window: 0"},
		{"a huge window", func(c *Config) { c.Window = 1025 }, "train.window: 1025"},
		{"no windows", func(c *Config) { c.Windows = 0 }, "train.windows: 0"},
		{"no rollouts", func(c *Config) { c.Rollouts = 0 }, "train.rollouts: 0"},
		{"no choices", func(c *Config) { c.Choices = 0 }, "train.choices: 0"},
		{"no epochs", func(c *Config) { c.Epochs = 0 }, "train.epochs: 0"},
		{"no batch", func(c *Config) { c.Batch = 0 }, "train.batch: 0"},
		{"no checkpoints", func(c *Config) { c.Every = 0 }, "train.every: 0"},
		{"keeping none", func(c *Config) { c.Keep = 0 }, "train.keep: 0"},
		{"no rate", func(c *Config) { c.Rate = 0 }, "train.rate: 0, want above 0"},
		{"a rate above 1", func(c *Config) { c.Rate = 1.5 }, "train.rate: 1.5"},
		{"no number as rate", func(c *Config) { c.Rate = math.NaN() }, "train.rate: NaN"},
		{"no clip", func(c *Config) { c.Clip = 0 }, "train.clip: 0"},
		{"an infinite clip", func(c *Config) { c.Clip = math.Inf(1) }, "train.clip: +Inf"},
		{"negative temperature", func(c *Config) { c.Temperature = -1 }, "train.temperature: -1"},
		{"negative entropy", func(c *Config) { c.Entropy = -1e-9 }, "train.entropy: -1e-09"},
		{"no number as entropy", func(c *Config) { c.Entropy = math.NaN() }, "train.entropy: NaN"},
		{"no entropy", func(c *Config) { c.Entropy = 0 }, ""},
		{"no divergence", func(c *Config) { c.MaxKL = 0 }, "train.max_kl: 0"},
		{"no norm", func(c *Config) { c.MaxNorm = 0 }, "train.max_norm: 0"},
		{"no memory", func(c *Config) { c.Memory = 0 }, "train.memory: 0"},
		{"negative memory", func(c *Config) { c.Memory = -time.Hour }, "train.memory: -1"},
		{"no credit", func(c *Config) { c.Credit = 0 }, "train.credit: 0"},
		{"labels in fewer than no updates", func(c *Config) { c.Expert = -1 }, "train.expert: -1, want 0 to 16777216"},
		{"no labels", func(c *Config) { c.Expert, c.Label = 0, 0 }, ""},
		{"labels in more updates than there are", func(c *Config) { c.Updates, c.Expert = 3, 9 }, ""},
		{"a negative part with labels", func(c *Config) { c.Label = -0.1 }, "train.label: -0.1, want at least 0 and at most 1"},
		{"more than all with labels", func(c *Config) { c.Label = 1.1 }, "train.label: 1.1"},
		{"all with labels", func(c *Config) { c.Label = 1 }, ""},
		{"the value learner", func(c *Config) { c.Learner = valueLearner }, ""},
		{"no learner", func(c *Config) { c.Learner = "" }, `train.learner: "", want policy or value`},
		{"another learner", func(c *Config) { c.Learner = "Value" }, `train.learner: "Value", want policy or value`},
		{"a negative margin", func(c *Config) { c.Margin = -1 }, "train.margin: -1, want at least 0"},
		{"no number as margin", func(c *Config) { c.Margin = math.NaN() }, "train.margin: NaN"},
		{"no margin", func(c *Config) { c.Margin = 0 }, ""},
		{"no prior", func(c *Config) { c.Prior = "" }, `train.prior: `},
		{"a prior that is none", func(c *Config) { c.Prior = "srsf,no-such" }, `train.prior: policy "no-such"`},
		{"a comma at the end", func(c *Config) { c.Prior = "srsf," }, `train.prior: policy ""`},
		{"several priors", func(c *Config) { c.Prior = "fifo,srsf+menu,sjfhold:times=3+menu+move" }, ""},
		{"a rival that is none", func(c *Config) { c.Against = "prior,no-such" }, `train.against: policy "no-such"`},
		{"a rival twice", func(c *Config) { c.Against = "prior,las,prior" }, `train.against: "prior" twice`},
		{"a rival that is told the truth", func(c *Config) { c.Against = "srsf+know:time=truth" }, "train.against: \"srsf+know:time=truth\" is"},
		{"several rivals", func(c *Config) { c.Against = "prior,lyra+loan,srsf+know:seen=training" }, ""},
		{"no validation", func(c *Config) { c.Validation = 0 }, "train.validation: 0, want 1 to"},
		{"all at their bounds", func(c *Config) { c.Updates, c.Window, c.Keep, c.Rate, c.Clip = 1<<24, 1024, 1, 1, 1 }, ""},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		err := cfg.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// TestRunFiles checks that metrics are lines of JSON that agree with Progress, and that wall-clock times are stored apart.
func TestRunFiles(t *testing.T) {
	cfg, opt := tiny(t)
	var told []Metrics
	now := time.Unix(1_700_000_000, 0)
	opt.Progress = func(m *Metrics) { told, now = append(told, *m), now.Add(1500*time.Millisecond) }
	opt.Clock = func() time.Time { return now }
	mustRun(t, cfg, opt)
	text := string(results(t, opt.Dir)[metricsName])
	labelled := 0
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var m Metrics
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if (m.Validation != nil) != (i%2 == 1) || m.Update != i+1 || m.Choices <= 0 || m.Learned > cfg.Choices || !(m.Learned > 0) ||
			!(m.Entropy > 0) {
			t.Errorf("line %d: %s", i+1, line)
		}
		labels := m.Update <= cfg.Expert
		if labelled += m.Choices; labels && m.Learned != min(labelled, cfg.Choices) || !labels && m.Learned > m.Choices {
			t.Errorf("line %d: %d labels so far: %s", i+1, labelled, line)
		}
		if labels != (m.Scale > 0) || labels != (m.Agree > 0) || labels == (m.KL > 0) || labels == (m.Relative != nil) ||
			labels == (m.Departs > 0 && m.Departs < 1) {
			t.Errorf("line %d, with labels (%v): %s", i+1, labels, line)
		}
		if again, err := json.Marshal(told[i]); err != nil || string(again) != line {
			t.Errorf("line %d: told %s, wrote %s (%v)", i+1, again, line, err)
		}
	}
	timing, err := os.ReadFile(filepath.Join(opt.Dir, timingName))
	if err != nil || !strings.HasPrefix(string(timing), "{\"update\":1,\"wall_s\":0}\n{\"update\":2,\"wall_s\":1.5}\n") || strings.Contains(text, "wall") {
		t.Errorf("timing %q (%v)", timing, err)
	}
}
