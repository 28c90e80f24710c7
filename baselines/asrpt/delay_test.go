package asrpt

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
	"github.com/clustergym/clustergym/placement"
	"pgregory.net/rapid"
)

// observer wraps the placer, recording what it starts, and the scheduler, checking the jobs that were held back nevertheless.
type observer struct {
	placement.Placer
	cluster.Scheduler
	t       *rapid.T
	c       Config
	machine machine
	entered map[cluster.JobID]time.Duration
	tried   map[cluster.JobID]float64 // α of the placement with which the placer started the job in this decision
	held    int
}

func (o *observer) Name() string { return "observer" }

func (o *observer) Reset(seed uint64) error {
	o.machine, o.entered = machine{}, map[cluster.JobID]time.Duration{}
	return o.Scheduler.Reset(seed)
}

// watched is the placer that the scheduler gets: observer's placer, with recording.
type watched struct{ *observer }

func (w watched) Reset(seed uint64)                                     { w.Placer.Reset(seed) }
func (w watched) Kind(s *cluster.View, id cluster.JobID) placement.Kind { return w.Placer.Kind(s, id) }
func (w watched) Place(tx *cluster.Txn, id cluster.JobID) (ok bool, e error) {
	if ok, e = w.Placer.Place(tx, id); ok {
		s := tx.View()
		w.tried[id] = alphaOf(s, s.Spec(id), s.Placement(id))
	}
	return ok, e
}

func (o *observer) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	o.machine.advance(s.Now())
	for _, c := range o.machine.done {
		o.entered[c.Job] = c.At
	}
	o.machine.done = nil
	gpus := 0
	for i := range s.Servers() {
		gpus += int(s.Server(cluster.ServerID(i)).GPUs)
	}
	for _, e := range tx.Events() {
		if spec := s.Spec(e.Job); e.Kind == cluster.Arrived {
			work := math.Round(o.least(spec).Seconds() * spec.GPUs() / float64(gpus) * 1e9)
			o.machine.jobs = append(o.machine.jobs, virtualJob{time.Duration(work), s.Now(), e.Job})
		}
	}
	o.tried = map[cluster.JobID]float64{}
	if err := o.Scheduler.Schedule(tx); err != nil {
		return err
	}
	for _, id := range s.Pending() {
		alpha, fits := o.tried[id]
		if !fits {
			continue
		}
		o.held++
		spec := s.Spec(id)
		best, worst := extremes(s, spec, spec.Workers)
		limit := time.Duration(o.c.Tau * float64(o.least(spec)))
		if waited := s.Now() - o.entered[id]; waited >= limit+1 || worst/best < o.c.Theta || alpha <= best*(1+o.c.Epsilon) {
			o.t.Fatalf("job %d, which entered the queue %v ago, is held from α %v at τ·n·α_min %v, α_min %v, α_max %v, θ %v, ε %v",
				id, waited, alpha, limit, best, worst, o.c.Theta, o.c.Epsilon)
		}
	}
	return nil
}

func (o *observer) least(spec *cluster.JobSpec) time.Duration {
	n, _ := told{1}.Predict(spec)
	return duration(n * physics.IterationSeconds(spec))
}

// TestDelayRule checks that the delay rule never holds a job that has been in the queue for τ·n·α_min, a job whose α_max / α_min
// is below θ, or a job on a placement whose α is within ε of α_min; and that it does hold some jobs.
func TestDelayRule(t *testing.T) {
	held := 0
	check := func(t *rapid.T) {
		cfg := drawConfig(t)
		jobs := drawJobs(t, cfg.Cluster.GPUs(), 20)
		c := Default()
		c.Predictor = told{1}
		c.Tau = rapid.Float64Range(0.01, 2).Draw(t, "tau")
		c.Theta = rapid.Float64Range(1, 8).Draw(t, "theta")
		c.Epsilon = rapid.Float64Range(0, 1).Draw(t, "epsilon")
		c.Backfill = rapid.SampledFrom(Backfills()).Draw(t, "backfill")
		o := &observer{Placer: NewHeavyEdge(), t: t, c: c}
		c.Placer = watched{o}
		o.Scheduler = New("a-srpt", c)
		run(t, cfg, jobs, o, 1)
		held += o.held
	}
	for range 10 {
		rapid.Check(t, check)
	}
	t.Logf("held %d times", held)
	if held == 0 {
		t.Error("no job was ever held")
	}
}

// TestHolds uses jobs 1 and 2, which leave one GPU free on each of two servers. At 33 s a gang of two that communicates much
// enters the queue, and the rule holds it for at most its 36 s. At 45 s a small job enters.
func TestHolds(t *testing.T) {
	const second = time.Second
	longer := func(j trace.Job, work time.Duration) trace.Job { j.Work = work; return j }
	gang := whole(0, 36*second, 2)
	gang.Model = "bert-large"
	for _, c := range []struct {
		name   string
		free   time.Duration // run time of job 1, which starts at 10 s
		change func(*Config)
		want   string
	}{
		{"until a server has room", 50 * second, func(*Config) {}, "small 45s, gang 1m0s on 1"},
		{"not with tau 0", 50 * second, func(c *Config) { c.Tau = 0 }, "gang 33s on 2, small 1m0s"},
		{"not one that sends less than theta", 50 * second, func(c *Config) { c.Theta = 1000 }, "gang 33s on 2, small 1m0s"},
		{"not within epsilon", 50 * second, func(c *Config) { c.Epsilon = 1000 }, "gang 33s on 2, small 1m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := Default()
			config.Predictor, config.Tau = told{1}, 1
			c.change(&config)
			jobs := named(longer(whole(0, 30*second, 2), c.free), longer(whole(0, 33*second, 2), 500*second), gang,
				longer(whole(0, 72*second, 1), second))
			l := run(t, sim.Config{Cluster: cluster.Uniform(2, 3)}, jobs, New("a-srpt", config), 1)
			var got []string
			for i := range l.Records {
				switch r := &l.Records[i]; {
				case r.Kind == sim.Start && r.Job == 2:
					got = append(got, fmt.Sprintf("gang %v on %d", r.At, len(l.Placement(r))))
				case r.Kind == sim.Start && r.Job == 3:
					got = append(got, fmt.Sprintf("small %v", r.At))
				}
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestHoldsEachForItsTime checks that of two similar gangs that are held, the second may have to wait less.
func TestHoldsEachForItsTime(t *testing.T) {
	const second = time.Second
	gangs := [2]trace.Job{whole(0, 36*second, 2), whole(33*second, 3*second, 2)}
	for i := range gangs {
		gangs[i].Model = "bert-large"
	}
	blocker := func(estimate time.Duration) trace.Job {
		j := whole(0, estimate, 2)
		j.Work = 500 * second
		return j
	}
	config := Default()
	config.Predictor, config.Tau = told{1}, 1
	jobs := named(blocker(30*second), blocker(33*second), gangs[0], gangs[1])
	l := run(t, sim.Config{Cluster: cluster.Uniform(2, 3)}, jobs, New("a-srpt", config), 1)
	// They enter the queue at 33 and 34 s, and the rule holds them for at most 36 and 3 s.
	const want = "10s start 1\n21s start 2\n37s start 4\n40s finish 4\n1m9s start 3\n"
	if got := starts(l); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
