package train

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
)

// staged returns a tiny run with two stages before the scenarios as given: two updates, one update and the rest.
func staged(tb testing.TB) (Config, Options) {
	cfg, opt := tiny(tb)
	cfg.Prior, cfg.Expert = "sjfskip", 4
	cfg.Curriculum = []Stage{
		{Updates: 2, Set: []string{"workload.stretch=2", "preempt_overhead=0s"}}, {Updates: 3, Set: []string{"preempt_overhead=10m", "workload.seed=3"}},
	}
	return cfg, opt
}

// TestCurriculum checks that a run with stages learns from other jobs than one without, resumes exactly in the middle of a stage,
// records the jobs of its stages, and labels windows of its stages.
func TestCurriculum(t *testing.T) {
	cfg, opt := staged(t)
	p := mustRun(t, cfg, opt)
	half := halted(t, cfg, fresh(t, opt), 3)
	mustRun(t, cfg, half)
	same(t, half.Dir, opt.Dir)

	r, err := ReadRecipe(opt.Dir)
	if err != nil || len(r.Stages) != 4 || len(r.Workloads) != 2 || len(r.Train.Curriculum) != 2 {
		t.Fatalf("recipe %+v, error %v", r, err)
	}
	digests := map[string]bool{}
	for _, w := range append(r.Workloads, r.Stages...) {
		digests[w.Digest] = true
	}
	if len(digests) != 6 {
		t.Errorf("%d different workloads of 6", len(digests))
	}
	_, training, err := Open(opt.Dir, cfg.Table, nil)
	if err != nil || len(training.Seen) <= 2*len(r.Scenarios) {
		t.Errorf("seen %v, error %v: want the periods of the stages, too", training.Seen, err)
	}

	plain := cfg
	plain.Curriculum = nil
	other := fresh(t, opt)
	if q := mustRun(t, plain, other); q.Digest() == p.Digest() {
		t.Error("a run without stages learns the same")
	}
	contents := map[string]bool{}
	files := append(labelFiles(t, other.Dir), labelFiles(t, opt.Dir)...)
	for _, path := range files {
		b := must.Get(os.ReadFile(path))(t)
		contents[string(b)] = true
	}
	if len(files) != 16 || len(contents) != 16 {
		t.Errorf("%d files of labels with %d contents, want 16: all labels are of stages", len(files), len(contents))
	}
}

// TestWhatStagesPlay checks the stage of every update and labelled window, and the settings of its scenarios.
func TestWhatStagesPlay(t *testing.T) {
	cfg, opt := staged(t)
	for update, want := range map[int]int{1: 0, 2: 0, 3: 1, 5: 1, 6: 2, 99: 2} {
		if got := cfg.stage(update); got != want {
			t.Errorf("update %d is in stage %d, want %d", update, got, want)
		}
	}
	opt.Dir = t.TempDir()
	r := must.Get(start(t.Context(), cfg, opt))(t)
	defer r.close()
	for n, want := range []int{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2} { // two windows an update
		if got := r.labels.stage(n); got != want {
			t.Errorf("window %d is in stage %d, want %d", n, got, want)
		}
		dir := filepath.Dir(r.labels.path(n))
		if got := slices.Index(r.labels.dirs[want], dir); got != n%2 {
			t.Errorf("window %d is stored in %s, want the folder of its stage", n, dir)
		}
	}
	for i, want := range []time.Duration{0, 10 * time.Minute, time.Minute} {
		for _, src := range r.stages[i] {
			if s := src.Scenario(); s.PreemptOverhead != want || s.MigrateOverhead != want || s.ResizeOverhead != want {
				t.Errorf("stage %d: overheads of %v, %v and %v, want %v", i, s.PreemptOverhead, s.MigrateOverhead, s.ResizeOverhead, want)
			}
		}
	}
	for _, x := range r.windows {
		if !slices.Contains(r.sources, x.source) {
			t.Error("a validation window is of a stage")
		}
	}
	var returns [2]float64
	for i := range returns {
		m := Metrics{Update: 5}
		must.Get(r.gather(t.Context(), &m))(t)
		returns[i] = m.Return
		r.stages[1] = r.sources
	}
	if returns[0] == returns[1] {
		t.Errorf("PPO plays the scenarios as given in a stage")
	}
}

// TestRefusedStages checks the errors about stages.
func TestRefusedStages(t *testing.T) {
	for set, want := range map[string]string{
		"cluster.servers=5":                            "stage 1: scenario embedded-small-v1: another cluster",
		"cluster.gpu_type=T4":                          "another cluster",
		"window.train=[]":                              "no training windows",
		"window.train=[0, 0.69]; window.validation=[]": "is for validation",
		"window.train=[0.8, 0.9]; window.test=[0.9, 1]; window.validation=[0, 0.1]": "is for test",
		"workload.lod=2": "workload.lod",
	} {
		cfg, opt := tiny(t)
		opt.Scenarios = opt.Scenarios[:1]
		opt.Dir = t.TempDir()
		cfg.Curriculum = []Stage{{Updates: 1, Set: strings.Split(set, "; ")}}
		r, err := start(t.Context(), cfg, opt)
		if err == nil {
			r.close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "train.curriculum: stage 1") {
			t.Errorf("%s: error %v, want %q", set, err, want)
		}
	}
	cfg := DefaultConfig()
	for _, stages := range [][]Stage{{{Updates: 0}}, {{Updates: 61}}, {{Updates: 60}, {Updates: 1}}} {
		cfg.Curriculum = stages
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "train.curriculum: stage") {
			t.Errorf("%v: error %v", stages, err)
		}
	}
}
