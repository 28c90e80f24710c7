package asrpt

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/comm"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"pgregory.net/rapid"
)

// machine is the virtual machine, implemented by looking at all its jobs whenever something happens.
type machine struct {
	now  time.Duration
	jobs []virtualJob
	done []completion
}

func (m *machine) shortest() int {
	first := -1
	for i, j := range m.jobs {
		if first < 0 || cmp.Or(cmp.Compare(j.left, m.jobs[first].left), cmp.Compare(j.released, m.jobs[first].released),
			cmp.Compare(j.id, m.jobs[first].id)) < 0 {
			first = i
		}
	}
	return first
}

func (m *machine) advance(to time.Duration) {
	for m.now < to && len(m.jobs) > 0 {
		i := m.shortest()
		step := min(to-m.now, m.jobs[i].left)
		m.now += step
		if m.jobs[i].left -= step; m.jobs[i].left == 0 {
			m.done = append(m.done, completion{m.jobs[i].id, m.now})
			m.jobs = slices.Delete(m.jobs, i, i+1)
		}
	}
	m.now = max(m.now, to)
}

// plain implements the scheduler directly from its specification, and computes everything again at each decision.
type plain struct {
	Config
	machine
	entered map[cluster.JobID]time.Duration // of waiting jobs
	least   map[cluster.JobID]time.Duration // n·α_min
}

func (p *plain) Name() string { return "plain" }

func (p *plain) Reset(seed uint64) error {
	p.Placer.Reset(seed)
	p.Predictor.Reset(seed)
	p.machine = machine{}
	p.entered, p.least = map[cluster.JobID]time.Duration{}, map[cluster.JobID]time.Duration{}
	return nil
}

func (p *plain) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	p.advance(s.Now())
	p.note(tx)
	head := cluster.JobID(-1) // the first that does not fit
	spare, from := int64(0), time.Duration(0)
	for _, id := range p.line(s) {
		late := head >= 0 && s.Now()+p.rest(s, id) > from
		if p.Backfill == easyBackfill && late && s.Spec(id).GPUMilli() > spare {
			continue
		}
		mark := tx.Mark()
		fits, err := p.Placer.Place(tx, id)
		if err != nil {
			return err
		}
		switch {
		case !fits && p.Backfill == noBackfill:
			return p.wake(tx)
		case !fits && head < 0:
			head = id
			from, spare = p.promise(s, id)
		case !fits:
		case p.Tau > 0 && p.delay(tx, id):
			tx.Rollback(mark)
		default:
			delete(p.entered, id)
			if late {
				spare -= s.Placement(id).GPUMilli()
			}
		}
	}
	return p.wake(tx)
}

// promise returns when enough GPUs will be free for a job, and how many thousandths more will be free then.
func (p *plain) promise(s *cluster.View, id cluster.JobID) (from time.Duration, spare int64) {
	ends := map[cluster.JobID]time.Duration{}
	instants := []time.Duration{s.Now()}
	for _, r := range s.Running() {
		seconds := p.rest(s, r).Seconds() / s.PlannedRate(r)
		ends[r] = max(s.Now(), s.Since(r)) + max(time.Duration(math.Round(seconds*1e9)), 1)
		instants = append(instants, ends[r])
	}
	slices.Sort(instants)
	for _, at := range instants {
		free := s.FreeTotal() * cluster.WholeGPU
		for r, end := range ends {
			if end <= at {
				free += s.Placement(r).GPUMilli()
			}
		}
		if spare = free - s.Spec(id).GPUMilli(); spare >= 0 {
			return at, spare
		}
	}
	return math.MaxInt64, spare
}

// rest returns how much longer a job would run by its prediction; one that has outlived it, as long again.
func (p *plain) rest(s *cluster.View, id cluster.JobID) time.Duration {
	if left := p.least[id] - s.Progress(id); left > 0 {
		return left
	}
	return s.Progress(id)
}

func (p *plain) note(tx *cluster.Txn) {
	s := tx.View()
	gpus := 0
	for i := range s.Servers() {
		if v := s.Server(cluster.ServerID(i)); v.Pool == cluster.Training {
			gpus += int(v.GPUs)
		}
	}
	for _, e := range tx.Events() {
		spec := s.Spec(e.Job)
		switch e.Kind {
		case cluster.Finished:
			p.Predictor.Observe(spec, max(s.Progress(e.Job).Seconds()/physics.IterationSeconds(spec), 1))
		case cluster.Arrived:
			p.entered[e.Job] = s.Now()
			n, _ := p.Predictor.Predict(spec)
			p.least[e.Job] = time.Duration(math.Round(n * physics.IterationSeconds(spec) * 1e9))
			seconds := p.least[e.Job].Seconds()
			work := math.Round(seconds * spec.GPUs() / float64(max(gpus, 1)) * 1e9)
			p.jobs = append(p.jobs, virtualJob{time.Duration(max(work, 1)), s.Now(), e.Job})
		case cluster.Interrupted:
			p.entered[e.Job] = s.Now()
		}
	}
}

// line returns the jobs that may start, in order.
func (p *plain) line(s *cluster.View) (ids []cluster.JobID) {
	for _, c := range p.done {
		if _, waits := p.entered[c.Job]; waits {
			if p.Start == atVirtualCompletion && s.Starts(c.Job) == 0 {
				p.entered[c.Job] = c.At
			}
			ids = append(ids, c.Job)
		}
	}
	if p.Start == projectedOrder {
		rest := machine{now: p.now, jobs: slices.Clone(p.jobs)}
		rest.advance(math.MaxInt64)
		for _, c := range rest.done {
			if _, waits := p.entered[c.Job]; waits {
				ids = append(ids, c.Job)
			}
		}
	}
	return ids
}

// delay is the delay rule: it reports whether to hold the job.
func (p *plain) delay(tx *cluster.Txn, id cluster.JobID) bool {
	s := tx.View()
	spec := s.Spec(id)
	best, worst := extremes(s, spec, spec.Workers)
	if worst/best < p.Theta {
		return false
	}
	if alphaOf(s, spec, s.Placement(id)) <= (1+p.Epsilon)*(1+1e-9)*best {
		return false
	}
	until := p.entered[id] + time.Duration(math.Round(p.Tau*p.least[id].Seconds()*1e9))
	if s.Now() >= until {
		return false
	}
	tx.WakeAt(until)
	return true
}

func (p *plain) wake(tx *cluster.Txn) error {
	if i := p.shortest(); i >= 0 && p.Start == atVirtualCompletion {
		tx.WakeAt(p.now + p.jobs[i].left)
	}
	return nil
}

// extremes returns α_min and α_max; both are 1 for a job that does not communicate.
func extremes(s *cluster.View, spec *cluster.JobSpec, workers int32) (best, worst float64) {
	job, ok := physics.Communication(spec.Model, workers, spec.Stages, spec.Tensor)
	if !ok {
		return 1, 1
	}
	best, err := comm.Best(job, s.MostGPUs(), links)
	if err != nil {
		panic(err)
	}
	worst, err = comm.Worst(job, s.MostGPUs(), links)
	if err != nil {
		panic(err)
	}
	return best, max(worst, best)
}

func alphaOf(s *cluster.View, spec *cluster.JobSpec, p cluster.Placement) float64 {
	job, ok := physics.Communication(spec.Model, p.Workers(), spec.Stages, spec.Tensor)
	if !ok {
		return 1
	}
	var workers, gpus []int32
	for _, piece := range p {
		workers = append(workers, piece.Workers)
		gpus = append(gpus, s.Server(piece.Server).GPUs)
	}
	x, err := comm.Ranks(nil, job, workers)
	if err != nil {
		panic(err)
	}
	return comm.Alpha(job, x, links, gpus, nil)
}

// TestSchedulerIsPlain checks that the scheduler decides according to its specification, with any options (with Tau 0 there is
// no delay rule), that every job ends that the empty cluster can hold, and that the same seed gives the same schedule after Reset
// in mid-episode.
func TestSchedulerIsPlain(t *testing.T) {
	for range 20 { // to draw rare cases; a check is fast
		rapid.Check(t, schedulerIsPlain)
	}
}

func schedulerIsPlain(t *rapid.T) {
	cfg := drawConfig(t)
	jobs := drawJobs(t, cfg.Cluster.GPUs(), 20)
	if rapid.Bool().Draw(t, "hard") {
		harden(t, &cfg, jobs)
	}
	options := drawOptions(t)
	with := func() Config {
		c := options()
		if c.Placer == nil {
			c.Placer = NewHeavyEdge()
		}
		return c
	}
	want := simtest.Lines(run(t, cfg, jobs, &plain{Config: with()}, 1))
	p := New("a-srpt", with())
	cut := cfg
	cut.Horizon = time.Duration(rapid.IntRange(1, 90).Draw(t, "horizon")) * time.Second
	run(t, cut, jobs, p, 2)
	for _, s := range []cluster.Scheduler{p, New("a-srpt", with())} {
		l := run(t, cfg, jobs, s, 1)
		if !l.Outcome.Terminated {
			t.Fatalf("outcome %+v, want every job finished", l.Outcome)
		}
		sameTimeline(t, "the scheduler", simtest.Lines(l), want)
	}
}
