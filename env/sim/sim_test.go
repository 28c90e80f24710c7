package sim_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

// Work done is the integral of speed over the time that a job is placed and not restarting; it finishes at the first instant
// at which its work is done; no GPU is given out twice; the episode ends for the reason it names.
func TestEpisode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		jobs := drawJobs(t, &cfg)
		a := newAudit(t, play(t, cfg, jobs, drawScheduler(t)(), rapid.Uint64().Draw(t, "seed")))
		for i := range a.log.Records {
			a.record(&a.log.Records[i])
		}
	})
}

// The same configuration, jobs, scheduler and seed give the same log, byte for byte.
func TestDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		jobs, make, seed := drawJobs(t, &cfg), drawScheduler(t), rapid.Uint64().Draw(t, "seed")
		one, two := written(t, play(t, cfg, jobs, make(), seed)), written(t, play(t, cfg, jobs, make(), seed))
		if one != two {
			t.Fatalf("one run wrote\n%s\nthe next\n%s", one, two)
		}
	})
}

// audit keeps books on an episode from its log alone.
type audit struct {
	t        *rapid.T
	log      *sim.Log
	now      time.Duration
	jobs     []account
	used     [][]int32
	lent     []bool
	finished int
}

type account struct {
	submitted, runs, done bool
	starts                int
	place                 cluster.Placement
	gpus                  []int32
	from                  time.Duration // progress counts from here on
	rate                  float64
	work                  float64 // nanoseconds of work done until from
	pieces                int     // of its history, each rounded to a nanosecond
}

func newAudit(t *rapid.T, l *sim.Log) *audit {
	a := &audit{t: t, log: l, jobs: make([]account, len(l.Jobs)), lent: make([]bool, len(l.Config.Cluster.Servers))}
	for i := range l.Config.Cluster.Servers {
		a.used = append(a.used, make([]int32, l.Config.Cluster.Servers[i].GPUs))
	}
	return a
}

func (a *audit) record(r *sim.Record) {
	if r.At < a.now {
		a.t.Fatalf("%v at %v, after %v", r.Kind, r.At, a.now)
	}
	a.now = r.At
	switch r.Kind {
	case sim.Loan, sim.Reclaim:
		a.lend(r)
		return
	case sim.End:
		a.end(r)
		return
	}
	j := &a.jobs[r.Job]
	switch r.Kind {
	case sim.Submit:
		a.hold(!j.submitted && r.At == a.log.Jobs[r.Job].Submit, r)
		j.submitted = true
	case sim.Start:
		a.hold(j.submitted && !j.runs && !j.done, r)
		j.starts++
		j.runs = true
		a.put(r, j.starts > 1)
	case sim.Resize, sim.Migrate:
		a.hold(j.runs, r)
		a.take(j)
		a.put(r, true)
	case sim.Preempt:
		a.hold(j.runs, r)
		a.take(j)
		j.runs = false
		if a.log.Config.FromScratch {
			j.work, j.pieces = 0, 0
		}
	case sim.Finish:
		a.finish(r, j)
	}
}

func (a *audit) hold(ok bool, r *sim.Record) {
	if !ok {
		a.t.Fatalf("%v job %d at %v: %+v", r.Kind, r.Job, r.At, a.jobs[r.Job])
	}
}

// finish holds the job to end when its work is done, to the nanosecond and what rounding may cost, and never before.
func (a *audit) finish(r *sim.Record, j *account) {
	a.hold(j.runs, r)
	a.take(j)
	want := float64(a.log.Jobs[r.Job].Work)
	if j.rate == 1 && j.pieces == 1 && j.work != want {
		a.t.Fatalf("job %d finished at %v after %v of work, want %v", r.Job, r.At, j.work, want)
	}
	slack := 0.001 + float64(j.pieces)/2
	if j.work < want-slack || j.work > want+slack+j.rate && r.At > j.from {
		a.t.Fatalf("job %d finished at %v after %v ns of work, want %v within %v", r.Job, r.At, j.work, want, slack)
	}
	j.runs, j.done = false, true
	a.finished++
}

// put starts an account of a placement.
func (a *audit) put(r *sim.Record, again bool) {
	j := &a.jobs[r.Job]
	j.place, j.gpus, j.from = a.log.Placement(r), a.log.GPUs(r), r.At
	if again {
		j.from += a.log.Config.Overhead
	}
	j.rate = speed(a.log, &a.log.Jobs[r.Job].JobSpec, j.place)
	a.occupy(j, 1)
}

// take closes it.
func (a *audit) take(j *account) {
	j.work += max(float64(a.now-j.from), 0) * j.rate
	j.pieces++
	a.occupy(j, -1)
}

func (a *audit) occupy(j *account, sign int32) {
	gpus := j.gpus
	for _, p := range j.place {
		v := &a.log.Config.Cluster.Servers[p.Server]
		if v.Pool == cluster.Inference && !a.lent[p.Server] {
			a.t.Fatalf("a job on server %d, which is closed", p.Server)
		}
		for range p.Workers {
			u := &a.used[p.Server][gpus[0]]
			if *u += sign * p.GPUMilli; *u < 0 || *u > cluster.WholeGPU {
				a.t.Fatalf("server %d GPU %d: %d thousandths in use", p.Server, gpus[0], *u)
			}
			gpus = gpus[1:]
		}
	}
}

func (a *audit) lend(r *sim.Record) {
	for _, u := range a.used[r.Server] {
		if u > 0 {
			a.t.Fatalf("%v server %d while it is in use", r.Kind, r.Server)
		}
	}
	if a.lent[r.Server] == (r.Kind == sim.Loan) {
		a.t.Fatalf("%v server %d twice", r.Kind, r.Server)
	}
	a.lent[r.Server] = r.Kind == sim.Loan
}

// end holds the outcome to the books.
func (a *audit) end(r *sim.Record) {
	running, waiting, unsubmitted := 0, 0, 0
	next := time.Duration(math.MaxInt64) // when something would have happened
	for i := range a.jobs {
		switch j := &a.jobs[i]; {
		case j.runs:
			running++
			left := float64(a.log.Jobs[i].Work) - j.work
			next = min(next, j.from+time.Duration(max(left/j.rate, 0)))
		case !j.submitted:
			unsubmitted++
			next = min(next, a.log.Jobs[i].Submit)
		case !j.done:
			waiting++
		}
	}
	h := a.log.Config.Horizon
	switch got := a.log.Outcome; {
	case got.Terminated && got.Truncated == "" && a.finished == len(a.jobs):
	case got.Truncated == fmt.Sprintf("horizon %v", h) && h > 0 && r.At == h && next >= h-1 && a.finished < len(a.jobs):
	case got.Truncated == fmt.Sprintf("%d jobs wait, and nothing runs, arrives or wakes", waiting) &&
		waiting > 0 && running == 0 && unsubmitted == 0:
	default:
		a.t.Fatalf("end at %v: %+v; %d run, %d wait, %d to come, next at %v, horizon %v",
			r.At, got, running, waiting, unsubmitted, next, h)
	}
	if r != &a.log.Records[len(a.log.Records)-1] {
		a.t.Fatal("records after the end")
	}
}

// speed is physics by hand.
func speed(l *sim.Log, spec *cluster.JobSpec, p cluster.Placement) float64 {
	held, workers := 0.0, int32(0)
	for _, q := range p {
		held += float64(q.Workers) * float64(q.GPUMilli)
		workers += q.Workers
	}
	rate := held / (float64(spec.Workers) * float64(spec.Request.GPUMilli))
	m, ok := l.Config.Physics.(physics.InterServer)
	if !ok || len(p) == 1 {
		return rate
	}
	most := int32(0)
	for _, v := range l.Config.Cluster.Servers {
		most = max(most, v.GPUs)
	}
	need := math.Ceil(float64(workers) / float64(most))
	return rate / (1 + m.Penalty*(1-need/float64(len(p))))
}

func TestNewErrors(t *testing.T) {
	one := cluster.Amount{GPUMilli: cluster.WholeGPU}
	job := func(change func(*trace.Job)) trace.Job {
		j := trace.Job{JobSpec: cluster.JobSpec{Name: "a", Workers: 2, Request: one}, Work: time.Second}
		change(&j)
		return j
	}
	for _, c := range []struct {
		name string
		cfg  sim.Config
		job  trace.Job
		want string
	}{
		{"more GPUs than there are", sim.Config{}, job(func(j *trace.Job) { j.Workers = 5 }), "the empty cluster takes 4"},
		{"negative work", sim.Config{}, job(func(j *trace.Job) { j.Work = -1 }), "work -1ns"},
		{"negative submit", sim.Config{}, job(func(j *trace.Job) { j.Submit = -1 }), "submit -1ns"},
		{"negative overhead", sim.Config{Overhead: -1}, job(func(*trace.Job) {}), "overhead -1ns"},
		{"no servers", sim.Config{Cluster: cluster.Spec{Servers: []cluster.ServerSpec{}}}, job(func(*trace.Job) {}), "no servers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cfg.Cluster.Servers == nil {
				c.cfg.Cluster = cluster.Uniform(2, 2)
			}
			if _, err := sim.New(c.cfg, []trace.Job{c.job}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A job that would outlast the clock runs on, and the episode says so instead of wrapping around.
func TestEndOfTime(t *testing.T) {
	two := cluster.JobSpec{Name: "a", Workers: 2, Request: cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 1}}
	cfg := sim.Config{Cluster: cluster.Uniform(2, 2), Physics: physics.InterServer{Penalty: 9e5}}
	cfg.Cluster.Servers[0].CPUMilli, cfg.Cluster.Servers[1].CPUMilli = 1, 1
	log := play(t, cfg, []trace.Job{{JobSpec: two, Work: 100 * 365 * 24 * time.Hour}}, drawFIFO(t), 0)
	if got := log.Outcome.Truncated; got != "1 jobs run past the end of time" {
		t.Errorf("outcome %+v", log.Outcome)
	}
}
