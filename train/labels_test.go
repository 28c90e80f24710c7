package train

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// labelFiles returns the paths of a run's label files.
func labelFiles(tb testing.TB, dir string) []string {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, labelsName, "*", "*.safetensors"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no labels in %s (%v)", dir, err)
	}
	return paths
}

// TestLabelsMayBeLost checks that a run computes missing or damaged labels again, and that it can use the labels of another run.
func TestLabelsMayBeLost(t *testing.T) {
	cfg, opt := tiny(t)
	mustRun(t, cfg, opt)
	files := labelFiles(t, opt.Dir)
	if want := cfg.Expert * cfg.Windows; len(files) != want {
		t.Fatalf("%d files of labels, want %d", len(files), want)
	}
	half := halted(t, cfg, fresh(t, opt), 2)
	lost := labelFiles(t, half.Dir)
	must.Do(t, os.Remove(lost[0]))
	edit(t, lost[3], func(b []byte) []byte { return b[:len(b)/2] }) // the second window of an update whose first window has labels
	mustRun(t, cfg, half)
	same(t, half.Dir, opt.Dir)

	shared := fresh(t, opt)
	shared.Labels = filepath.Join(opt.Dir, labelsName)
	mustRun(t, cfg, shared)
	same(t, shared.Dir, opt.Dir)
	if _, err := os.Stat(filepath.Join(shared.Dir, labelsName)); err == nil || len(labelFiles(t, opt.Dir)) != len(files) {
		t.Error("a run with labels elsewhere makes its own")
	}
}

// TestReplayForgetsTheOldest checks that only the newest labels are kept within the bound, in whole windows.
func TestReplayForgetsTheOldest(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Replay, opt.Dir = 60, t.TempDir()
	r := must.Get(start(t.Context(), cfg, opt))(t)
	defer r.close()
	for n := 1; n <= 8; n++ {
		must.Do(t, r.labels.extend(t.Context(), r, n))
		kept, first := 0, -1
		for i, w := range r.labels.windows {
			if w != nil && first < 0 {
				first = i
			}
			if kept += len(w); w == nil && first >= 0 {
				t.Fatalf("%d windows: the %d-th is gone, an older one is not", n, i)
			}
		}
		if kept > cfg.Replay || kept != r.labels.choices || len(r.labels.windows) != n {
			t.Errorf("%d windows: %d choices kept, counted %d, want at most %d", n, kept, r.labels.choices, cfg.Replay)
		}
		if n == 8 && first <= 0 {
			t.Errorf("nothing was forgotten")
		}
		if all := r.labels.draw(rand.New(rand.NewPCG(1, 1))); len(all) != kept {
			t.Errorf("drew %d of %d", len(all), kept)
		}
	}
	// A resumed run must keep the same labels.
	var digests []string
	for _, src := range r.sources {
		digest := must.Get(src.Digest())(t)
		digests = append(digests, digest)
	}
	again := must.Get(newLabels(r.policy.Prior, filepath.Join(opt.Dir, labelsName), r, [][]string{digests}, nil))(t)
	if err := again.extend(t.Context(), r, 8); err != nil || !reflect.DeepEqual(again.windows, r.labels.windows) {
		t.Errorf("read at once, other labels stay (%v)", err)
	}
}

// TestLabelFilesRoundTrip checks that labels are read back bit by bit.
func TestLabelFilesRoundTrip(t *testing.T) {
	p := untrained(t, "sjfskip", 6)
	for n, samples := range [][]learn.Sample{{}, labelled(t, 1), labelled(t, 40)} {
		got, err := unrow(&p.Shape, rows(&p.Shape, samples))
		if err != nil || len(got) != len(samples) {
			t.Fatalf("%d: %d samples of %d, %v", n, len(got), len(samples), err)
		}
		for i := range got {
			want := samples[i]
			want.Action, want.LogProb = 0, 0 // the scout's action, which is not stored
			if !reflect.DeepEqual(got[i], want) {
				t.Fatalf("sample %d: %+v, want %+v", i, got[i], want)
			}
		}
	}
}

// TestJointLabels checks that labels after another candidate show what candidates are worth together, are read back bit by bit and
// are refused if they name candidates that are none.
func TestJointLabels(t *testing.T) {
	design := agents.Design{Name: "joint", Window: 6, Prior: "sjfskip", Wide: agents.Wide{Items: 12}, Margin: 1, Size: agents.DefaultSize()}
	design.Size.Joint = true
	p, err := design.Make(func(s agents.Shape) (agents.Params, error) { return agents.Init(s, rand.New(rand.NewPCG(1, 1))), nil })
	must.Do(t, err)
	episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: mixed(80, 2)}
	g := must.Get(newPlayer(p, episode, flow(time.Hour), 1, rand.New(rand.NewPCG(1, 1))))(t)
	g.pairs = 0.5
	must.Do(t, playAll(t.Context(), []*player{g}, 1, func(int, *rollout) error { return nil }))
	samples := g.out.samples
	for i := range samples {
		samples[i].Action, samples[i].LogProb = 0, 0
	}
	pairs, together := 0, 0
	for i, s := range samples {
		if i == 0 || len(s.Taken) != len(samples[i-1].Taken)+1 || !slices.Equal(s.Candidate, samples[i-1].Candidate) {
			continue
		}
		pairs++
		first, single := s.Taken[len(s.Taken)-1], samples[i-1]
		if !s.Gone[first] || s.Saved[first] != 0 || s.Gone[0] {
			t.Fatalf("sample %d after candidate %d: gone %v", i, first, s.Gone)
		}
		for k := range s.Saved {
			if !s.Gone[k] && math.Abs(s.Saved[k]-single.Saved[k]) > 1e-9 {
				together++
			}
		}
	}
	if pairs < 10 || together == 0 {
		t.Errorf("%d samples after another candidate, %d labels that it changed", pairs, together)
	}
	got := must.Get(unrow(&p.Shape, rows(&p.Shape, samples)))(t)
	for i := range got {
		if !reflect.DeepEqual(got[i].Saved, samples[i].Saved) || !slices.Equal(got[i].Taken, samples[i].Taken) ||
			!slices.Equal(got[i].Gone, samples[i].Gone) || !slices.Equal(got[i].Rack, samples[i].Rack) ||
			!slices.Equal(got[i].Type, samples[i].Type) || !slices.Equal(got[i].Tenant, samples[i].Tenant) {
			t.Fatalf("sample %d: %+v, want %+v", i, got[i], samples[i])
		}
	}
	for _, wrong := range []int64{-1, 0, 99} {
		tensors := rows(&p.Shape, samples)
		at := slices.IndexFunc(tensors, func(t checkpoints.Tensor) bool { return t.Name == "taken" })
		tensors[at].Data.([]int64)[0] = wrong
		if _, err := unrow(&p.Shape, tensors); err == nil || !strings.Contains(err.Error(), "was taken") {
			t.Errorf("taken %d: error %v", wrong, err)
		}
	}
}

func labelled(tb testing.TB, n int) []learn.Sample {
	tb.Helper()
	episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: mixed(80, 2)}
	r, err := play(untrained(tb, "sjfskip", 6), episode, flow(time.Hour), 1, rand.New(rand.NewPCG(1, 1)))
	if err != nil || len(r.samples) < n {
		tb.Fatalf("%v", err)
	}
	return r.samples[:n]
}

// FuzzLabelFile checks that a file of labels gives samples that the network accepts, or an error.
func FuzzLabelFile(f *testing.F) {
	p := untrained(f, "sjfskip", 6)
	for _, n := range []int{0, 1} {
		var file bytes.Buffer
		must.Do(f, checkpoints.WriteTensors(&file, rows(&p.Shape, labelled(f, n)), nil))
		f.Add(file.Bytes())
		f.Add(bytes.Replace(file.Bytes(), []byte("prior"), []byte("other"), 1))
	}
	cfg := DefaultConfig()
	cfg.Updates, cfg.Expert, cfg.Batch = 1, 1, 8
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, _, err := checkpoints.ReadTensors(file, checkpoints.Limits{Bytes: 1 << 20})
		if err != nil {
			return
		}
		samples, err := unrow(&p.Shape, tensors)
		if err != nil || len(samples) > 100 {
			return
		}
		l := learner{cfg: &cfg, shape: p.Shape, params: p.Params, machines: make([]*learn.Machine[float32], 1)}
		for i := range samples {
			o := samples[i].Observation
			if o.Servers > 64 || o.Jobs > 64 || o.Candidates > 64 {
				return
			}
		}
		l.connect(samples)
	})
}

// TestBadLabelFiles checks the errors for files with invalid indices or sizes.
func TestBadLabelFiles(t *testing.T) {
	p := untrained(t, "sjfskip", 6)
	for _, c := range []struct {
		name, tensor string
		change       func(data any)
		want         string
	}{
		{"no counts", "counts", nil, "no table of counts"},
		{"no servers", "server", nil, `find tensor "server"`},
		{"a negative count", "counts", func(d any) { d.([]int64)[1] = -1 }, "choice 0: count -1"},
		{"no candidates", "counts", func(d any) { d.([]int64)[6] = 0 }, "choice 1: count 0"},
		{"more servers than rows", "counts", func(d any) { d.([]int64)[0]++ }, `find tensor "server": shape`},
		{"a job that is none", "job_of_offer", func(d any) { d.([]int64)[1] = 99 }, "a candidate of job 99 of"},
		{"a server that is none", "shares", func(d any) { d.([]int64)[1] = 4 }, "server 4 of 4 in candidate"},
		{"a candidate that is none", "shares", func(d any) { d.([]int64)[0] = -1 }, "in candidate -1 of"},
	} {
		tensors := rows(&p.Shape, labelled(t, 3))
		i := slices.IndexFunc(tensors, func(t checkpoints.Tensor) bool { return t.Name == c.tensor })
		if c.change == nil {
			tensors = slices.Delete(tensors, i, i+1)
		} else {
			c.change(tensors[i].Data)
		}
		if _, err := unrow(&p.Shape, tensors); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// TestLabelsSeeFarEnough checks that a label with the usual horizon differs very little from one played to the end, and takes
// less time.
func TestLabelsSeeFarEnough(t *testing.T) {
	episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(2, 4)}, Jobs: mixed(120, 3)}
	const memory = 30 * time.Minute
	var all [2][]learn.Sample
	for i, until := range []time.Duration{horizon(memory), math.MaxInt64} {
		p := untrained(t, "sjfskip", 6)
		g := must.Get(newPlayer(p, episode, flow(memory), 1, rand.New(rand.NewPCG(1, 1))))(t)
		g.until = until
		must.Do(t, playAll(t.Context(), []*player{g}, 1, func(int, *rollout) error { return nil }))
		all[i] = g.out.samples
	}
	cut := 0
	for i := range all[0] {
		for k, x := range all[0][i].Saved {
			whole := all[1][i].Saved[k]
			if math.Abs(x-whole) > 0.01 {
				t.Errorf("choice %d, candidate %d: %v, played to the end %v", i, k, x, whole)
			}
			if x != whole {
				cut++
			}
		}
	}
	if cut == 0 || len(all[0]) < 50 {
		t.Errorf("%d of %d choices were cut off: the test saw nothing", cut, len(all[0]))
	}
	if got := horizon(math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("horizon of all time is %v", got)
	}
}

// TestLabelsKey checks which settings runs may differ in to share labels, and that the labels of earlier versions stay in use.
func TestLabelsKey(t *testing.T) {
	key := func(change func(*Config)) string {
		cfg := DefaultConfig()
		cfg.Prior = "fifo"
		change(&cfg)
		k := must.Get(labelsKey(&cfg, cfg.Prior, "digest", ""))(t)
		return k
	}
	const usual = "7962830f4759413d"
	for name, change := range map[string]func(*Config){
		"nothing": func(*Config) {}, "seed": func(c *Config) { c.Seed = 9 }, "rate": func(c *Config) { c.Rate = 1e-4 },
		"graph": func(c *Config) { c.Size.Graph = "none" }, "hidden": func(c *Config) { c.Size.Hidden = 6 },
		"windows": func(c *Config) { c.Windows = 3 }, "learner": func(c *Config) { c.Learner = policyLearner },
		"critic": func(c *Config) { c.Critic = learnedCritic }, "tail": func(c *Config) { c.Tail = discountTail },
	} {
		if got := key(change); got != usual {
			t.Errorf("another %s has other labels, %s", name, got)
		}
	}
	for name, change := range map[string]func(*Config){
		"label": func(c *Config) { c.Label = 0.5 }, "label_seed": func(c *Config) { c.LabelSeed = 2 },
		"explore": func(c *Config) { c.Explore = 9 }, "window": func(c *Config) { c.Window = 7 },
		"prior": func(c *Config) { c.Prior = "srsf" }, "memory": func(c *Config) { c.Memory *= 2 },
		"tail": func(c *Config) { c.Tail = backlogTail },
	} {
		if key(change) == usual {
			t.Errorf("another %s has the same labels", name)
		}
	}
}
