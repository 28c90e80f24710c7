package baselines_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// BenchmarkReference compares jobs per CPU-second with those of the reference simulator, on the first 20,000 jobs of
// philly-2017-pass and 512 GPUs: a flat pool in the reference, 64 servers of 8 GPUs with transactions and event log here. It
// excludes parsing on both sides and alternates the runs. It reports both rates and their ratio.
func BenchmarkReference(b *testing.B) {
	dir := sharedtest.Dir(b, "golden")
	jobs := philly(b, 20000)
	file := filepath.Join(b.TempDir(), "trace.csv")
	writeSeconds(b, file, jobs)
	for _, policy := range []string{"fifo", "fjf", "sjfskip", "srtf"} {
		b.Run(policy, func(b *testing.B) {
			var ours, theirs float64
			for b.Loop() {
				theirs += reference(b, filepath.Join(dir, "reference_simulator.py"), file, 512, policy)
				const runs = 5
				start := cpu(b)
				for range runs {
					simulate(b, sim.Config{Cluster: cluster.Uniform(64, 8)}, jobs, policy)
				}
				ours += (cpu(b) - start) / runs
			}
			n := float64(len(jobs)) * float64(b.N)
			b.ReportMetric(n/ours, "jobs/cpu-s")
			b.ReportMetric(n/theirs, "reference-jobs/cpu-s")
			b.ReportMetric(theirs/ours, "x-reference")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkGrowth measures how jobs per CPU-second change when jobs and servers grow tenfold at the same load.
func BenchmarkGrowth(b *testing.B) {
	small := philly(b, 5000)
	for _, policy := range []string{"fifo", "srtf"} {
		for _, times := range []int{1, 10} {
			jobs := multiply(small, times)
			b.Run(fmt.Sprintf("%s/%dx", policy, times), func(b *testing.B) {
				start := cpu(b)
				for b.Loop() {
					simulate(b, sim.Config{Cluster: cluster.Uniform(16*times, 8)}, jobs, policy)
				}
				b.ReportMetric(float64(len(jobs))*float64(b.N)/(cpu(b)-start), "jobs/cpu-s")
			})
		}
	}
}

func simulate(b *testing.B, cfg sim.Config, jobs []trace.Job, policy string) *sim.Log {
	s := must.Get(sim.New(cfg, jobs))(b)
	p := must.Get(baselines.New(policy))(b)
	must.Do(b, s.Run(b.Context(), p, 1))
	return s.Log()
}

// philly returns the first n jobs of the trace, in order of time, that 512 GPUs can hold.
func philly(b testing.TB, n int) []trace.Job {
	w, err := trace.Read(filepath.Join(sharedtest.Dir(b), "traces", "philly-2017-pass", "philly.csv.gz"), trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if w, err = trace.Window(w, trace.WindowSpec{Count: n}); err != nil {
		b.Fatal(err)
	}
	grant(w.Jobs)
	return w.Jobs
}

// multiply returns a workload with the given number of copies of each job, in the same span. Each copy comes a second after the
// one before.
func multiply(jobs []trace.Job, times int) []trace.Job {
	all := make([]trace.Job, 0, len(jobs)*times)
	for _, j := range jobs {
		for k := range times {
			j.Submit += time.Duration(k) * time.Second
			all = append(all, j)
		}
	}
	return all
}

func writeSeconds(b testing.TB, file string, jobs []trace.Job) {
	f := must.Get(os.Create(file))(b)
	fmt.Fprintln(f, "job_id,num_gpu,submit_time,duration")
	for i := range jobs {
		j := &jobs[i]
		fmt.Fprintf(f, "%d,%d,%d,%d\n", i, j.Workers, j.Submit/time.Second, j.Work/time.Second)
	}
	must.Do(b, f.Close())
}

var cpuField = regexp.MustCompile(` cpu=([0-9.]+) `)

func reference(b *testing.B, script, file string, gpus int, policy string) float64 {
	out, err := exec.Command("python3", script, file, strconv.Itoa(gpus), policy).Output()
	if err != nil {
		b.Fatalf("reference simulator: %v", err)
	}
	m := cpuField.FindSubmatch(out)
	if m == nil {
		b.Fatalf("reference simulator printed %q, want a cpu= field", out)
	}
	return must.Get(strconv.ParseFloat(string(m[1]), 64))(b)
}

func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
