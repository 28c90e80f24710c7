package scenario

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// openTrace opens a scenario whose trace is the file t.csv in the same folder.
func openTrace(t testing.TB, csv, text string, sets ...string) *Source {
	t.Helper()
	return must.Get(tryTrace(t, csv, text, sets...))(t)
}

func tryTrace(t testing.TB, csv, text string, sets ...string) (*Source, error) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "t.csv", csv)
	s, err := Load(write(t, dir, "s.yaml", text), sets...)
	if err != nil {
		return nil, err
	}
	return s.Open()
}

func episode(t testing.TB, src *Source, split Split, i int, seed uint64) Episode {
	t.Helper()
	return must.Get(src.Episode(split, i, seed))(t)
}

// bytesOf returns everything that determines an episode as text.
func bytesOf(e *Episode) string {
	cfg := e.Config
	cfg.Physics = nil
	return fmt.Sprintf("%s %d %s %+v %+v %+v", e.Name, e.Config.Warm, e.Config.Physics.Name(), cfg, e.Jobs, e.Running)
}

func TestTheSameCaseIsTheSameEpisode(t *testing.T) {
	for _, name := range []string{"loaning-small-v1", "embedded-physics-v1"} {
		t.Run(name, func(t *testing.T) {
			sets := []string{"failures.server_between=48h", "failures.server_repair=1h", "window.warm=50", "estimates.kind=noisy",
				"estimates.sigma=0.3"}
			a, b := builtinSource(t, name, sets...), builtinSource(t, name, sets...)
			one, again, other := episode(t, a, Test, 1, 5), episode(t, b, Test, 1, 5), episode(t, a, Test, 1, 6)
			if bytesOf(&one) != bytesOf(&again) {
				t.Error("two sources give other episodes of one case")
			}
			if len(one.Config.Outages) == 0 || reflect.DeepEqual(one.Config.Outages, other.Config.Outages) {
				t.Error("another seed gives the same failures, or there are none")
			}
			if len(one.Running) == 0 || !reflect.DeepEqual(one.Running, other.Running) {
				t.Error("another seed gives another warm start, or there is none")
			}
			if len(one.Config.Demand) > 0 && reflect.DeepEqual(one.Config.Demand, other.Config.Demand) {
				t.Error("another seed gives the same demand")
			}
		})
	}
}

// TestJobs checks that the jobs of a split are those of a window that covers the whole split.
func TestJobs(t *testing.T) {
	const csv = "job_id,num_gpu,submit_time,duration\na,1,0,5\nb,1,5,100\nd,2,35,50\nc,1,25,10\n"
	const text = `
name: split-v1
cluster: {servers: 1, gpus_per_server: 4}
workload: {trace: t.csv}
window: {arrivals: 1, test: [0.5, 1]}
estimates: {kind: noisy, sigma: 0.5}
`
	src := openTrace(t, csv, text)
	jobs, err := src.Jobs(Test, 5)
	if want := episode(t, openTrace(t, csv, text, "window.arrivals=2"), Test, 0, 5); err != nil || !reflect.DeepEqual(jobs, want.Jobs) {
		t.Errorf("%+v, %v; want %+v", jobs, err, want.Jobs)
	}
	if len(jobs) != 2 || jobs[0].Name != "d" || jobs[0].Submit != 10*time.Second || jobs[0].Estimate == jobs[0].Work {
		t.Errorf("%+v, want d and c, d 10 s after c, with noise", jobs)
	}
	if jobs, err := src.Jobs(Train, 5); err != nil || len(jobs) != 0 {
		t.Errorf("%+v, %v; want no jobs of a split that there is not", jobs, err)
	}
}

// warmText has one server of 4 GPUs. After 30 s, job a (4 GPUs) has 70 s left, b (2 GPUs) waits with its 50 s, and d is done.
const warmText = `
name: warm-v1
cluster: {servers: 1, gpus_per_server: 4}
workload: {trace: t.csv}
window: {arrivals: 1, warm: 3, test: [0, 1]}
`

func TestWarmStartByHand(t *testing.T) {
	src := openTrace(t, "job_id,num_gpu,submit_time,duration\nd,1,0,5\na,4,5,100\nb,2,10,50\nc,1,35,10\n", warmText)
	e := episode(t, src, Test, 0, 1)
	if len(e.Jobs) != 3 || e.Config.Warm != 2 {
		t.Fatalf("%d jobs, %d of them warm, want a, b and c, the first two warm", len(e.Jobs), e.Config.Warm)
	}
	a, b, c := e.Jobs[0], e.Jobs[1], e.Jobs[2]
	if a.Name != "a" || a.Work != 70*time.Second || a.Estimate != a.Work || a.Submit != 0 {
		t.Errorf("a runs with %v left (estimate %v), want 70s", a.Work, a.Estimate)
	}
	if b.Name != "b" || b.Work != 50*time.Second || b.Submit != 0 || c.Name != "c" || c.Submit != 0 {
		t.Errorf("b waits with %v, c comes at %v, want 50s and 0s", b.Work, c.Submit)
	}
	want := []sim.Running{{Job: 0, Placement: cluster.Placement{{Workers: 4, Amount: cluster.Amount{GPUMilli: 1000}}}}}
	if !reflect.DeepEqual(e.Running, want) {
		t.Errorf("running %+v, want %+v", e.Running, want)
	}
	q, err := src.Queueing(t.Context(), Test, 0, sjfskip, nil)
	if err != nil || q.Queueing != 70 || q.JCT != 80 {
		t.Errorf("queueing %+v, %v, want c alone: 70 s of 80 s", q, err)
	}
}

// TestWarmSharesCanBePlaced checks that a warm start is valid for any jobs that share GPUs. Jobs that came and went may leave
// shares in a way that no order of placing reproduces.
func TestWarmSharesCanBePlaced(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		b.WriteString("job_id,num_gpu,submit_time,duration,gpu_milli\n")
		const jobs = 60
		for i := range jobs {
			share := rapid.SampledFrom([]int{200, 300, 400, 500, 600, 1000}).Draw(rt, "share")
			fmt.Fprintf(&b, "%d,%d,%d,%d,%d\n", i, rapid.IntRange(1, 2).Draw(rt, "workers"), 5*i,
				rapid.IntRange(1, 200).Draw(rt, "work"), share)
		}
		src := openTrace(t, b.String(), warmText, fmt.Sprintf("window.warm=%d", jobs-1))
		e := episode(t, src, Test, 0, 1)
		run := must.Get(e.New())(rt)
		tx, ok := run.Next()
		if !ok {
			rt.Fatal("the episode is over before it began")
		}
		found := 0
		for _, event := range tx.Events() {
			if event.Kind == cluster.Found {
				found++
			}
		}
		if found != len(e.Running) || found == 0 && e.Config.Warm > 0 {
			rt.Fatalf("%d jobs run, %d should, of %d warm ones", found, len(e.Running), e.Config.Warm)
		}
	})
}

// TestEveryEpisodeCanBePlayed checks for any combination of features that an episode can be played: the jobs that run at its
// beginning fit, and no job of the window is lost.
func TestEveryEpisodeCanBePlayed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(rt, name) }
		sets := []string{
			"workload.jobs=200", "workload.models=default", "workload.mix.least=0.5", "workload.oversize=drop",
			"workload.mix.elastic=" + pick("elastic", "0", "0.5"), "workload.mix.parallel=" + pick("parallel", "0", "0.5"),
			"workload.mix.fungible=" + pick("fungible", "0.5", "1"), "workload.mix.home=V100", "workload.load=" + pick("load", "0.5", "3"),
			"workload.thin=" + pick("thin", "1", "0.6"), "workload.stretch=" + pick("stretch", "1", "0.1"),
			"cluster.gpu_type=V100", "cluster.gpu_mem_gib=32", "cluster.servers_per_rack=2", "cluster.jobs_per_gpu=2",
			"cluster.groups=" + pick("groups", "[]", "[{servers: 2, gpus_per_server: 4, gpu_type: T4, gpu_mem_gib: 16}]"),
			"inference.servers=" + pick("inference", "0", "3"), "inference.gpus_per_server=2", "inference.gpu_type=T4",
			"failures.server_between=" + pick("failures", "20h", "2000h"), "failures.server_repair=1h",
			"window.warm=" + pick("warm", "0", "20"), "checkpoint_interval=30m",
			"physics=" + pick("physics", "ideal", "gpu-type * cpu-mem * sharing(1) * scaling * network(12,1,2)"),
		}
		if pick("by", "arrivals", "time") == "time" {
			sets = append(sets, "window.arrivals=0", "window.duration=1h", "window.every=30m")
		}
		src, err := load(t, sets...).Open()
		if err != nil {
			rt.Skip(err) // too few jobs for a window
		}
		split := rapid.SampledFrom(splits()).Draw(rt, "split")
		i := rapid.IntRange(0, src.Count(split)-1).Draw(rt, "window")
		e := must.Get(src.Episode(split, i, rapid.Uint64Range(0, 9).Draw(rt, "seed")))(rt)
		run := must.Get(e.New())(rt)
		must.Do(rt, run.Run(t.Context(), sjfskip(), 1))
		if o := run.Outcome(); !o.Terminated {
			rt.Fatalf("the episode was cut off: %s", o.Truncated)
		}
		w := src.windows[split][i]
		if len(e.Jobs)-e.Config.Warm != w.to-w.from || e.Config.Warm > w.from-w.warm {
			rt.Fatalf("%d jobs, %d of them warm, from the span %+v", len(e.Jobs), e.Config.Warm, w)
		}
	})
}

// TestProfiledEstimatesKnowThePastAlone checks that profiled estimates do not depend on later events, and that a window's
// estimates use the jobs before the window.
func TestProfiledEstimatesKnowThePastAlone(t *testing.T) {
	trace := func(later int) string {
		var b strings.Builder
		b.WriteString("job_id,num_gpu,submit_time,duration,user\n")
		for i := range 40 {
			work := 60 + 10*i
			if i >= 20 {
				work *= later // so a job may now end after jobs that were submitted later
			}
			fmt.Fprintf(&b, "%d,1,%d,%d,ada\n", i, 1000*i, work)
		}
		return b.String()
	}
	text := `
name: profiled-v1
cluster: {servers: 8, gpus_per_server: 8}
workload: {trace: t.csv}
window: {arrivals: 10, train: [0, 0.5], test: [0.5, 1]}
estimates: {kind: profiled}
`
	one, other := openTrace(t, trace(1), text), openTrace(t, trace(7), text)
	for i := range 2 {
		a, b := episode(t, one, Train, i, 1), episode(t, other, Train, i, 2)
		if !reflect.DeepEqual(a.Jobs, b.Jobs) {
			t.Errorf("train-%d changes with jobs that come later", i)
		}
	}
	first, second := episode(t, one, Train, 0, 1), episode(t, one, Train, 1, 1)
	if first.Jobs[0].Estimate != firstGuess || second.Jobs[0].Estimate == firstGuess || second.Jobs[0].Estimate == second.Jobs[0].Work {
		t.Errorf("estimates %v and %v, want the first guess, then what the first window taught", first.Jobs[0].Estimate,
			second.Jobs[0].Estimate)
	}
	if test := episode(t, one, Test, 0, 1); test.Jobs[0].Estimate == episode(t, other, Test, 1, 1).Jobs[0].Estimate {
		t.Error("what was learned in a window does not reach the next")
	}
}

const firstGuess = trace.FirstGuess
