package scenario

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/names"
)

func TestMistakesAreNamed(t *testing.T) {
	cases := []struct {
		name string
		sets []string
		want string
	}{
		{"an unknown key suggests the nearest", []string{"cluster.server=3"}, `did you mean "cluster.servers"?`},
		{"a word where a number belongs", []string{"cluster.servers=many"}, "cluster.servers"},
		{"no servers", []string{"cluster.servers=0"}, "cluster.servers 0, want 1"},
		{"a name without version", []string{"name=small"}, `name "small"`},
		{"splits that share jobs", []string{"window.test=[0.6, 1]"}, "window.test [0.6 1] overlaps window.validation [0.5 0.7]"},
		{"a split past the end", []string{"window.test=[0.7, 1.2]"}, "0 <= from < to <= 1"},
		{"a split of one number", []string{"window.test=[0.7]"}, "two fractions"},
		{"no windows at all", []string{"window.train=[]", "window.validation=[]", "window.test=[]"}, "at least one"},
		{"an empty window", []string{"window.arrivals=0"}, "window.arrivals 0"},
		{"an unknown physics", []string{"physics=magic"}, `physics "magic"`},
		{"an unknown restart", []string{"restart=never"}, `restart "never"`},
		{"unknown estimates", []string{"estimates.kind=guess"}, `"guess"`},
		{"an unknown oversize mode", []string{"workload.oversize=squeeze"}, `workload.oversize "squeeze"`},
		{"a load for a trace", []string{"workload.trace=a.csv", "workload.jobs=0"}, "workload.load 0.5"},
		{"no load for the embedded workload", []string{"workload.load=0"}, "workload.load 0"},
		{"no seeds", []string{"seeds=[]"}, "seeds is empty"},
		{"a group without servers", []string{"cluster.groups=[{gpus_per_server: 4}]"}, "cluster.groups[0].servers 0, want 1"},
		{"an unknown key of a group", []string{"cluster.groups=[{server: 4}]"}, `did you mean "cluster.groups[0].servers"?`},
		{"a GPU type of two", []string{"cluster.gpu_type=A|B"}, `cluster.gpu_type "A|B", want`},
		{"too many servers", []string{"cluster.servers=100000", "inference.servers=100000", "inference.gpus_per_server=1"}, "131072"},
		{"quotas without training", []string{"cluster.quota_factor=1", "window.train=[]"}, "cluster.quota_factor 1 without window.train"},
		{"a pool without GPUs", []string{"inference.servers=1"}, "inference.gpus_per_server 0, want 1"},
		{"an unknown predictor", []string{"inference.servers=1", "inference.predictor=tea"}, `inference.predictor "tea", want one of`},
		{"failures without repair", []string{"failures.server_between=1h"}, "failures: server failures every 1h0m0s"},
		{"saving what is never saved", []string{"checkpoint_save=1s"}, "checkpoint_save 1s without checkpoint_interval"},
		{"a negative overhead", []string{"resize_overhead=-1s"}, "resize_overhead -1s, want 0"},
		{"both kinds of windows", []string{"window.duration=1h"}, "window.arrivals 10 beside window.duration 1h0m0s"},
		{"a stride in arrivals of windows by time", []string{"window.duration=1h", "window.arrivals=0", "window.stride=5"},
			"window.stride 5: windows by time have window.every"},
		{"a stride in time of windows by arrivals", []string{"window.every=1h"}, "windows by arrivals have window.stride"},
		{"fewer than no resampled windows", []string{"window.resample.test=-1"}, "window.resample.test -1, want 0"},
		{"resampled windows of no split", []string{"window.resample.test=2", "window.test=[]"}, "window.resample.test 2 without window.test"},
		{"resampled windows by time", []string{"window.resample.test=2", "window.duration=1h", "window.arrivals=0"},
			"window.resample.test 2: windows by time"},
		{"resampled windows with a stride", []string{"window.resample.train=2", "window.stride=5"},
			"window.resample.train 2 beside window.stride 5"},
		{"nothing left of the jobs", []string{"workload.thin=0"}, "workload.thin 0, want above 0"},
		{"no time between arrivals", []string{"workload.stretch=0"}, "workload.stretch 0, want 0.000001"},
		{"bursts before now", []string{"workload.bursts=-1s"}, "workload.bursts -1s, want 0"},
		{"unknown models", []string{"workload.models=all"}, `workload.models "all", want nothing or "default"`},
		{"a share above 1", []string{"workload.mix.elastic=2"}, "workload.mix.elastic 2, want a share"},
		{"more formats than traces", []string{"workload.trace=a.csv", "workload.jobs=0", "workload.load=0", "workload.format=native + kalos"},
			`workload.format "native + kalos" names 2 formats`},
		{"an unknown format of the second trace", []string{"workload.trace=a.csv + b.csv", "workload.format=native + x"}, `"x"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(write(t, t.TempDir(), "small.yaml", small), c.sets...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
	_, err := Load("embedded-smal-v1")
	if err == nil || !strings.Contains(err.Error(), `did you mean "embedded-small-v1"?`) {
		t.Errorf("mistyped name: %v", err)
	}
	_, err = Load(write(t, t.TempDir(), "bad.yaml", small+"\nhorizn: 3h\n"))
	if err == nil || !strings.Contains(err.Error(), "bad.yaml:") || !strings.Contains(err.Error(), "horizon") {
		t.Errorf("mistyped key in a file: %v, want the place and a suggestion", err)
	}
}

func TestWorkloadsThatCannotBeOpened(t *testing.T) {
	t.Setenv(SharedVariable, t.TempDir())
	cases := []struct {
		name string
		sets []string
		want []string
	}{
		{"a trace that is missing", []string{"workload.trace=no/such.csv", "workload.jobs=0", "workload.load=0"},
			[]string{"no/such.csv", SharedVariable}},
		{"gangs too large for the cluster", []string{"workload.oversize=error", "cluster.servers=1", "cluster.gpus_per_server=1"},
			[]string{"job ", "workload.oversize"}},
		{"demand that is missing", []string{"inference.servers=1", "inference.gpus_per_server=1", "inference.demand=no.tgz"},
			[]string{"inference.demand", "no.tgz", SharedVariable}},
		{"windows longer than their split", []string{"window.arrivals=0", "window.duration=10000h"},
			[]string{"window.train", "one window of 10000h0m0s (they last "}},
		{"no arrivals left to warm a window up", []string{"window.warm=20"}, []string{"after 20 to warm it up"}},
		{"more resampled windows than places", []string{"window.resample.validation=12", "workload.max_gpus=8"},
			[]string{"window.validation", "holds 20 of the", "want at least 21 for 12 resampled windows"}},
		{"fewer arrivals than a window", []string{"window.arrivals=21", "workload.max_gpus=8"},
			[]string{"window.validation", "holds 20 of the"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.sets...).Open()
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q in it", err, want)
				}
			}
		})
	}
}

// FuzzLoad checks that loading any file returns a valid scenario or an error.
func FuzzLoad(f *testing.F) {
	f.Add(small)
	f.Add("name: a-v1\nseeds: [1,\n")
	f.Add("window: {test: [.nan, 1]}\nworkload: {load: .inf}")
	f.Add("name: a-v1\nabout: \"\\e[2J\"\n")
	files := must.Get(fs.Glob(builtin, "builtin/*/*.yaml"))(f)
	for _, name := range Names() {
		files = append(files, "builtin/"+name+".yaml")
	}
	for _, name := range files {
		b := must.Get(builtin.ReadFile(name))(f)
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := read(strings.NewReader(text), "f.yaml", nil)
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("loaded, but not valid: %v", err)
		}
		for _, text := range append([]string{s.Name, s.About, s.Workload.Trace}, append(s.Real, s.Assumed...)...) {
			if names.Escape(text) != text {
				t.Fatalf("loaded, but acts on a terminal: %q", text)
			}
		}
		servers := s.Inference.Servers
		for _, g := range s.Cluster.groups() {
			servers += g.Servers
		}
		if servers > 1000 {
			return
		}
		cfg, err := s.SimConfig()
		if err != nil {
			t.Fatalf("loaded, but no configuration: %v", err)
		}
		if err := cfg.Cluster.Validate(); err != nil {
			t.Fatalf("loaded, but no cluster: %v", err)
		}
	})
}

// TestWith checks that every built-in scenario stays the same without settings, that a setting changes only its own value, and
// that the overheads that equal that of a preemption follow it.
func TestWith(t *testing.T) {
	for _, name := range All() {
		s := must.Get(Load(name))(t)
		if same := must.Get(s.With())(t); !reflect.DeepEqual(same, s) {
			t.Errorf("%s: without settings it becomes %+v", name, same)
		}
		denser := must.Get(s.With("workload.stretch=0.25"))(t)
		if denser.Workload.Stretch != 0.25 {
			t.Errorf("%s: stretch %v", name, denser.Workload.Stretch)
		}
		if denser.Workload.Stretch = s.Workload.Stretch; !reflect.DeepEqual(denser, s) {
			t.Errorf("%s: a setting changes other values: %+v", name, denser)
		}
	}
	s := must.Get(Load("embedded-small-v1", "resize_overhead=5s"))(t)
	with := must.Get(s.With("preempt_overhead=7m"))(t)
	if with.PreemptOverhead != 7*time.Minute || with.MigrateOverhead != 7*time.Minute || with.ResizeOverhead != 5*time.Second {
		t.Errorf("overheads %v, %v and %v", with.PreemptOverhead, with.MigrateOverhead, with.ResizeOverhead)
	}
	if with := must.Get(s.With("preempt_overhead=7m", "migrate_overhead=1m"))(t); with.MigrateOverhead != time.Minute {
		t.Errorf("migrations take %v, want what is set", with.MigrateOverhead)
	}
	if _, err := s.With("workload.lod=2"); err == nil || !strings.Contains(err.Error(), "workload.lod") {
		t.Errorf("an unknown key: error %v", err)
	}
}
