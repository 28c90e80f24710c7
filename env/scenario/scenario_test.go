package scenario

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
	"pgregory.net/rapid"
)

const small = `
name: small-v1
cluster: {servers: 2, gpus_per_server: 4}
workload: {trace: embedded, jobs: 100, load: 0.5, oversize: drop}
window: {arrivals: 10, train: [0, 0.5], validation: [0.5, 0.7], test: [0.7, 1]}
`

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func load(t testing.TB, sets ...string) *Scenario {
	t.Helper()
	return must.Get(Load(write(t, t.TempDir(), "small.yaml", small), sets...))(t)
}

func open(t testing.TB, sets ...string) *Source {
	t.Helper()
	return must.Get(load(t, sets...).Open())(t)
}

func TestBuiltinsAreValidAndWriteBack(t *testing.T) {
	if !slices.IsSorted(Names()) || len(Names()) == 0 {
		t.Fatalf("names %q, want some in order", Names())
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			s := must.Get(Load(name))(t)
			if s.Name != name || s.About == "" {
				t.Errorf("file %s.yaml holds name %q, about %q", name, s.Name, s.About)
			}
			if _, err := s.SimConfig(); err != nil {
				t.Error(err)
			}
			var b bytes.Buffer
			must.Do(t, s.Write(&b))
			again := must.Get(Load(write(t, t.TempDir(), "again.yaml", b.String())))(t)
			again.dir = s.dir
			if !reflect.DeepEqual(s, again) {
				t.Errorf("wrote %+v, read %+v", s, again)
			}
		})
	}
}

func TestBuiltinsOpen(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			s := must.Get(Load(name))(t)
			if s.Workload.Trace != Embedded {
				t.Setenv(SharedVariable, sharedtest.Dir(t))
			}
			src := must.Get(s.Open())(t)
			for _, split := range []Split{Train, Validation, Test} {
				if src.Count(split) == 0 {
					t.Errorf("no windows of %s", split)
				}
			}
			var b bytes.Buffer
			d := src.Describe()
			if err := d.WriteText(&b); err != nil || !strings.Contains(b.String(), "test-0") {
				t.Errorf("description lacks test-0 (%v):\n%s", err, b.String())
			}
		})
	}
}

func TestSettingsChangeAnyKey(t *testing.T) {
	sets := []string{"workload.trace=x.csv", "workload.format=", "workload.jobs=0", "workload.load=0", "window.arrivals=7",
		"cluster.servers=16", "cluster.gpus_per_server=2", "physics=inter-server(0.25)", "preempt_overhead=90s",
		"restart=scratch", "horizon=24h", "estimates.kind=noisy", "estimates.sigma=0.4", "seeds=[7]", "window.test=[0.8, 0.9]",
		"cluster.cpus_per_server=96", "workload.max_gpus=8"}
	s := load(t, sets...)
	cfg := must.Get(s.SimConfig())(t)
	if s.Workload.Trace != "x.csv" || s.Window.Arrivals != 7 || cfg.Cluster.GPUs() != 32 || cfg.Restart.Preempt != 90*time.Second ||
		!cfg.Restart.FromScratch || cfg.Horizon != 24*time.Hour || cfg.Physics.Name() != "inter-server(0.25)" ||
		s.Estimates != (trace.Estimates{Kind: trace.Noisy, Sigma: .4}) || !slices.Equal(s.Seeds, []uint64{7}) ||
		!slices.Equal(s.Window.Test, []float64{.8, .9}) || cfg.Cluster.Servers[0].CPUMilli != 96_000 || s.Workload.MaxGPUs != 8 {
		t.Errorf("settings not taken: %+v", s)
	}
}

const tiny = "job_id,num_gpu,submit_time,duration\n3,1,50,5\n1,1,20,5\n2,1,20,5\n4,9,60,5\n"

func TestTracesAreFoundBesideTheScenarioAndInTheSharedFolder(t *testing.T) {
	text := "name: a-v1\ncluster: {servers: 1, gpus_per_server: 4}\nworkload: {trace: data/t.csv, oversize: clamp}\n" +
		"window: {arrivals: 4, test: [0, 1]}\n"
	shared, beside := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(shared, "traces", "data"), filepath.Join(beside, "data")} {
		must.Do(t, os.MkdirAll(dir, 0o777))
		write(t, dir, "t.csv", tiny)
	}
	for _, c := range []struct{ name, shared, dir string }{
		{"in the shared folder", shared, t.TempDir()}, {"beside the scenario", t.TempDir(), beside},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(SharedVariable, c.shared)
			s := must.Get(Load(write(t, c.dir, "a.yaml", text)))(t)
			src := must.Get(s.Open())(t)
			e := must.Get(src.Episode(Test, 0, 1))(t)
			var got []string
			for _, j := range e.Jobs {
				got = append(got, j.Name+"@"+j.Submit.String())
			}
			want := []string{"1@0s", "2@0s", "3@30s", "4@40s"}
			if !slices.Equal(got, want) || e.Jobs[3].Workers != 4 || src.pool.oversize != 1 {
				t.Errorf("jobs %v, %d workers in the last, %d oversize; want %v, 4 and 1",
					got, e.Jobs[3].Workers, src.pool.oversize, want)
			}
		})
	}
}

// TestSplitsShareNoJob checks that windows of different splits share no job, that test windows share none with each other, and
// that every window has the configured number of jobs, the first at 0.
func TestSplitsShareNoJob(t *testing.T) {
	src := open(t)
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.SliceOfN(rapid.Float64Range(0, 1), 6, 6).Draw(t, "cuts")
		slices.Sort(cut)
		own := *src
		own.scenario.Window = Windows{
			Arrivals: rapid.IntRange(1, 20).Draw(t, "arrivals"), Stride: rapid.IntRange(0, 30).Draw(t, "stride"),
			Test: cut[0:2], Train: cut[2:4], Validation: cut[4:6],
		}
		own.cutWindows()
		owner := map[string]Split{}
		for _, split := range []Split{Train, Validation, Test} {
			for i := range own.Count(split) {
				e := must.Get(own.Episode(split, i, 1))(t)
				if len(e.Jobs) != own.scenario.Window.Arrivals {
					t.Fatalf("%s has %d jobs, want %d", e.Name, len(e.Jobs), own.scenario.Window.Arrivals)
				}
				first := e.Jobs[0].Submit
				for _, j := range e.Jobs {
					first = min(first, j.Submit)
					if was, ok := owner[j.Name]; ok && (was != split || split == Test) {
						t.Fatalf("job %s is in %s and in %s", j.Name, was, e.Name)
					}
					owner[j.Name] = split
				}
				if first != 0 {
					t.Fatalf("%s starts at %v, want 0", e.Name, first)
				}
			}
		}
	})
}

func TestTrainWindowsMayOverlap(t *testing.T) {
	apart, dense := open(t), open(t, "window.stride=5")
	if a, d := apart.Count(Train), dense.Count(Train); d != 2*a-1 {
		t.Errorf("%d windows 10 apart and %d windows 5 apart, want 2n-1", a, d)
	}
	if apart.Count(Test) != dense.Count(Test) {
		t.Error("the stride of training windows changes the test windows")
	}
}

func TestEpisodesAreReproducibleAndTheCallersOwn(t *testing.T) {
	src := open(t, "estimates.kind=noisy", "estimates.sigma=0.5")
	episode := func(i int, seed uint64) []trace.Job {
		e := must.Get(src.Episode(Test, i, seed))(t)
		return e.Jobs
	}
	first := episode(0, 1)
	kept := slices.Clone(first)
	for i := range first {
		first[i].Workers = -1
	}
	if got := episode(0, 1); !reflect.DeepEqual(got, kept) {
		t.Error("the same window and seed differ after a caller changed its own jobs")
	}
	if got := open(t, "estimates.kind=noisy", "estimates.sigma=0.5"); !reflect.DeepEqual(got.pool, src.pool) {
		t.Error("a second Open gives other jobs")
	}
	mistake := func(j trace.Job) float64 { return j.Estimate.Seconds() / j.Work.Seconds() }
	if a, b := mistake(kept[0]), mistake(episode(1, 1)[0]); math.Abs(a/b-1) < .01 {
		t.Errorf("estimates are %v and %v of the work of the first jobs of two windows, want streams of their own", a, b)
	}
	other := episode(0, 2)
	if reflect.DeepEqual(other, kept) {
		t.Error("noisy estimates are the same under another seed")
	}
	for i := range other {
		other[i].Estimate = kept[i].Estimate
	}
	if !reflect.DeepEqual(other, kept) {
		t.Error("a seed changes more than the estimates")
	}
	if _, err := src.Episode(Test, src.Count(Test), 1); err == nil {
		t.Error("no error for a window past the last")
	}
}

func TestOracleEstimatesAreTheWork(t *testing.T) {
	e := must.Get(open(t).Episode(Train, 0, 1))(t)
	for _, j := range e.Jobs {
		if j.Estimate != j.Work || j.Work == 0 {
			t.Errorf("job %s: estimate %v of work %v", j.Name, j.Estimate, j.Work)
		}
	}
}
