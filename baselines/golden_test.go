package baselines_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/needs"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// TestGolden checks six published schedules job by job.
func TestGolden(t *testing.T) {
	dir := sharedtest.Dir(t, "golden")
	w := must.Get(trace.Read(filepath.Join(dir, "philly_w1k.csv"), trace.Options{}))(t)
	grant(w.Jobs)
	for _, policy := range []string{"fifo", "fjf", "sjf", "sjfskip", "srtf", "srsf"} {
		t.Run(policy, func(t *testing.T) {
			got := schedule(t, cluster.Uniform(1, 64), w.Jobs, policy)
			want := expected(t, filepath.Join(dir, "expected_64gpu_"+policy+".csv"))
			if len(want) != len(w.Jobs) {
				t.Fatalf("%d expected jobs for a trace of %d", len(want), len(w.Jobs))
			}
			for id := range w.Jobs {
				if name := w.Jobs[id].Name; got[id] != want[name] {
					t.Fatalf("job %s: start, end %v, want %v", name, got[id], want[name])
				}
			}
		})
	}
}

// TestReference compares longer parts of philly-2017-pass, on clusters of other sizes, with the reference simulator, job by job:
// as one flat pool, and as servers of 8 GPUs, which make no difference under ideal physics.
func TestReference(t *testing.T) {
	dir := sharedtest.Dir(t, "golden")
	python := needs.Program(t, needs.Python, "python3")
	for _, c := range []struct{ jobs, gpus int }{{3000, 64}, {3000, 128}, {3000, 200}} {
		jobs := philly(t, c.jobs)
		for i := range jobs {
			jobs[i].Name = strconv.Itoa(i)
			jobs[i].Workers = min(jobs[i].Workers, int32(c.gpus))
			if j := &jobs[i]; j.Submit%time.Second != 0 || j.Work%time.Second != 0 {
				t.Fatalf("job %d: submit %v, work %v, want whole seconds", i, j.Submit, j.Work)
			}
		}
		file := filepath.Join(t.TempDir(), "trace.csv")
		writeSeconds(t, file, jobs)
		for _, policy := range []string{"fifo", "fjf", "sjf", "sjfskip", "srtf", "srsf"} {
			t.Run(fmt.Sprintf("%d jobs on %d GPUs/%s", c.jobs, c.gpus, policy), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "schedule.csv")
				script := filepath.Join(dir, "reference_simulator.py")
				said, err := exec.Command(python, script, file, strconv.Itoa(c.gpus), policy, out).CombinedOutput()
				if err != nil {
					t.Fatalf("reference simulator: %v\n%s", err, said)
				}
				want := expected(t, out)
				flat := schedule(t, cluster.Uniform(1, c.gpus), jobs, policy)
				servers := schedule(t, cluster.Uniform(c.gpus/8, 8), jobs, policy)
				for id := range jobs {
					if name := jobs[id].Name; flat[id] != want[name] || servers[id] != want[name] {
						t.Fatalf("job %s: start, end %v flat, %v on servers, want %v", name, flat[id], servers[id], want[name])
					}
				}
			})
		}
	}
}

// grant sets oracle estimates.
func grant(jobs []trace.Job) {
	for i := range jobs {
		jobs[i].Estimate = jobs[i].Work
	}
}

// span is a job's first start and its end.
type span struct{ start, end time.Duration }

func schedule(t *testing.T, c cluster.Spec, jobs []trace.Job, policy string) []span {
	t.Helper()
	s := must.Get(sim.New(sim.Config{Cluster: c}, jobs))(t)
	p := must.Get(baselines.New(policy))(t)
	must.Do(t, s.Run(t.Context(), p, 1))
	return spans(s.Log())
}

func spans(l *sim.Log) []span {
	all := make([]span, len(l.Jobs))
	for i := range all {
		all[i].start = -1
	}
	for i := range l.Records {
		switch r := &l.Records[i]; r.Kind {
		case sim.Start:
			if all[r.Job].start < 0 {
				all[r.Job].start = r.At
			}
		case sim.Finish:
			all[r.Job].end = r.At
		}
	}
	return all
}

func expected(t *testing.T, path string) map[string]span {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	rows := must.Get(csv.NewReader(f).ReadAll())(t)
	if h := fmt.Sprint(rows[0]); h != "[job_id submit start end jct]" {
		t.Fatalf("%s: header %s", path, h)
	}
	want := make(map[string]span, len(rows))
	for _, r := range rows[1:] {
		start, err1 := strconv.Atoi(r[2])
		end, err2 := strconv.Atoi(r[3])
		if err1 != nil || err2 != nil {
			t.Fatalf("%s: row %v", path, r)
		}
		want[r[0]] = span{time.Duration(start) * time.Second, time.Duration(end) * time.Second}
	}
	return want
}
