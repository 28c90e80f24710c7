package eval

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// meddler is a scheduler that tries random operations: it places, moves, resizes, preempts, lends and reclaims.
type meddler struct {
	draw  *rand.Rand
	wakes int
}

func (*meddler) Name() string { return "meddler" }

func (m *meddler) Reset(seed uint64) error {
	*m = meddler{rand.New(rand.NewPCG(seed, 1)), 20}
	return nil
}

func (m *meddler) Schedule(tx *cluster.Txn) error {
	for range m.draw.IntN(8) {
		m.meddle(tx)
	}
	if m.wakes > 0 {
		m.wakes--
		tx.WakeAt(tx.Now() + time.Duration(m.draw.IntN(20))*time.Second)
	}
	return nil
}

// meddle tries one random operation. It ignores whether the state refuses the operation.
func (m *meddler) meddle(tx *cluster.Txn) {
	s := tx.View()
	pick := func(ids []cluster.JobID) (cluster.JobID, bool) {
		if len(ids) == 0 {
			return 0, false
		}
		return ids[m.draw.IntN(len(ids))], true
	}
	kind := m.draw.IntN(9)
	if kind >= 7 {
		if v := cluster.ServerID(m.draw.IntN(s.Servers())); tx.Loan(v) != nil && kind == 8 {
			_ = tx.Reclaim(v)
		}
		return
	}
	if kind < 4 {
		if id, ok := pick(s.Pending()); ok {
			_ = tx.Place(id, m.spread(s, id))
		}
		return
	}
	if id, ok := pick(s.Running()); ok {
		_ = [](func() error){
			func() error { return tx.Preempt(id) },
			func() error { return tx.Migrate(id, m.spread(s, id)) },
			func() error { return tx.Resize(id, m.spread(s, id)) },
		}[kind-4]()
	}
}

// spread returns a placement of a gang size that the job allows, on servers in random order.
func (m *meddler) spread(s *cluster.View, id cluster.JobID) (p cluster.Placement) {
	spec := s.Spec(id)
	left, amount := spec.Least()+m.draw.Int32N(spec.Most()-spec.Least()+1), spec.Request
	if m.draw.IntN(4) == 0 {
		amount.GPUMilli = 1 + m.draw.Int32N(cluster.WholeGPU)
	}
	for _, i := range m.draw.Perm(s.Servers()) {
		n := min(s.Fits(cluster.ServerID(i), id, amount), left)
		if n -= n % spec.Together(); n > 0 {
			p = append(p, cluster.Piece{Server: cluster.ServerID(i), Workers: n, Amount: amount})
			left -= n
		}
	}
	return p
}

// drawLog draws a random episode and plays it with a meddler. Any kind of record may occur.
func drawLog(t *rapid.T) *sim.Log {
	e := drawEpisode(t)
	return playEpisode(t, &e, rapid.Uint64().Draw(t, "seed"), nil).Log()
}

// playEpisode plays an episode with a meddler. The function seen is called as sim.Sim.Watch does.
func playEpisode(t *rapid.T, e *sim.Episode, seed uint64, seen func(log *sim.Log)) *sim.Sim {
	s := must.Get(e.New())(t)
	if seen != nil {
		s.Watch(func(_, _ time.Duration) { seen(s.Log()) })
	}
	must.Do(t, s.Run(t.Context(), &meddler{}, seed))
	return s
}

func drawEpisode(t *rapid.T) sim.Episode {
	spec := cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), 1)
	for i := range spec.Servers {
		v := &spec.Servers[i]
		v.GPUs = rapid.Int32Range(1, 4).Draw(t, "GPUs")
		v.GPUType = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "type")
		if i > 0 && rapid.Bool().Draw(t, "inference") {
			v.Pool = cluster.Inference
		}
	}
	cfg := sim.Config{Cluster: spec, Restart: sim.Pause(seconds(t, "pause", 3)), Grace: seconds(t, "grace", 5)}
	if rapid.IntRange(0, 3).Draw(t, "cut off") == 0 {
		cfg.Horizon = seconds(t, "horizon", 60)
	}
	for i := range spec.Servers {
		back := [2]time.Duration{} // of the server and of one of its GPUs
		for range rapid.IntRange(0, 3).Draw(t, "outages") {
			unit := rapid.IntRange(0, 1).Draw(t, "of a GPU")
			from := back[unit] + seconds(t, "works", 20)
			back[unit] = from + 1 + seconds(t, "out", 20)
			cfg.Outages = append(cfg.Outages, sim.Outage{From: from, To: back[unit], Server: cluster.ServerID(i), GPU: int32(unit - 1)})
		}
	}
	pool := int32(0)
	for _, v := range spec.Servers {
		pool += int32(v.Pool) // 1 for Inference
	}
	at := seconds(t, "first demand", 10) - 1
	for range rapid.IntRange(0, 4).Draw(t, "demands") {
		at += 1 + seconds(t, "until the next demand", 20)
		cfg.Demand = append(cfg.Demand, sim.Demand{At: at, Need: rapid.Int64Range(0, 4000).Draw(t, "need"),
			Offer: rapid.Int32Range(0, pool).Draw(t, "offer")})
	}
	jobs := drawAnyJobs(t, &spec)
	cfg.Warm = rapid.IntRange(0, len(jobs)).Draw(t, "warm")
	return sim.Episode{Config: cfg, Jobs: jobs}
}

func drawAnyJobs(t *rapid.T, spec *cluster.Spec) (jobs []trace.Job) {
	for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
		j := job(string(rune('a'+i)), seconds(t, "submit", 30), seconds(t, "work", 40), rapid.Int32Range(1, 6).Draw(t, "workers"))
		j.Request.GPUMilli = rapid.SampledFrom([]int32{1000, 1000, 500, 400, 250}).Draw(t, "share")
		j.GPUType = rapid.SampledFrom([]string{"", "", "a", "a|b"}).Draw(t, "will do")
		j.Mixed = rapid.Bool().Draw(t, "mixed")
		j.Tensor = rapid.Int32Range(0, 2).Draw(t, "tensor")
		room := spec.Capacity(&j.JobSpec)
		j.Workers = min(j.Workers, int32(room-room%int64(j.Together())))
		j.Workers -= j.Workers % j.Together()
		if j.Together() == 1 && rapid.Bool().Draw(t, "elastic") {
			j.MinWorkers, j.MaxWorkers = 1, j.Workers+2
		}
		if j.Workers > 0 {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// seconds draws a whole number of seconds, and sometimes a nanosecond more.
func seconds(t *rapid.T, name string, most int) time.Duration {
	d := time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Second
	return d + time.Duration(max(rapid.IntRange(-3, 1).Draw(t, name+" and ns"), 0))
}

// scene is the state at one time according to a log, rebuilt from its records one by one.
type scene struct {
	log    *sim.Log
	placed map[cluster.JobID]*sim.Record
	known  map[cluster.JobID]bool // jobs submitted and not finished
	lent   map[cluster.ServerID]bool
	out    map[[2]int32]bool // server and GPU; GPU -1 for the whole server
	need   int64
}

func sceneAfter(log *sim.Log, records int) scene {
	c := scene{log, map[cluster.JobID]*sim.Record{}, map[cluster.JobID]bool{}, map[cluster.ServerID]bool{}, map[[2]int32]bool{}, 0}
	for i := range records {
		r := &log.Records[i]
		switch r.Kind {
		case sim.Submit:
			c.known[r.Job] = true
		case sim.Start, sim.Resize, sim.Migrate:
			c.placed[r.Job] = r
		case sim.Preempt, sim.Interrupt:
			delete(c.placed, r.Job)
		case sim.Finish:
			delete(c.placed, r.Job)
			delete(c.known, r.Job)
		case sim.Loan:
			c.lent[r.Server] = true
		case sim.Reclaim, sim.Seize:
			delete(c.lent, r.Server)
		case sim.Fail:
			c.out[[2]int32{int32(r.Server), r.Index}] = true
		case sim.Repair:
			delete(c.out, [2]int32{int32(r.Server), r.Index})
		case sim.Need:
			c.need = log.Config.Demand[r.Index].Need
		}
	}
	return c
}

// scenes calls yield for every interval between two instants of a log, with the scene during the interval.
func scenes(log *sim.Log, yield func(from, to time.Duration, c scene)) {
	since := time.Duration(0)
	for i, r := range log.Records {
		if r.At > since {
			yield(since, r.At, sceneAfter(log, i))
			since = r.At
		}
	}
}

// free returns the free capacity of each of a server's GPUs, or nil if training may not use the server.
func (c *scene) free(id cluster.ServerID) []int32 {
	v := c.log.Config.Cluster.Servers[id]
	if c.out[[2]int32{int32(id), -1}] || v.Pool == cluster.Inference && !c.lent[id] {
		return nil
	}
	free := slices.Repeat([]int32{cluster.WholeGPU}, int(v.GPUs))
	for _, r := range c.placed {
		gpus := c.log.GPUs(r)
		for _, p := range c.log.Placement(r) {
			for range p.Workers {
				if p.Server == id {
					free[gpus[0]] -= p.GPUMilli
				}
				gpus = gpus[1:]
			}
		}
	}
	for g := range v.GPUs {
		if c.out[[2]int32{int32(id), g}] {
			free[g] = 0
		}
	}
	return free
}

// fragmented returns the free capacity, and how much of it an average job of the workload cannot use.
func (c *scene) fragmented() (free, lost float64) {
	jobs := c.log.Jobs[c.log.Config.Warm:]
	for id, v := range c.log.Config.Cluster.Servers {
		gpus := c.free(cluster.ServerID(id))
		for _, j := range jobs {
			all, short, fit := 0., 0., int32(0)
			for _, milli := range gpus {
				if all += float64(milli); milli >= j.Request.GPUMilli {
					fit++
				} else {
					short += float64(milli)
				}
			}
			here := min(j.Workers, v.GPUs) / j.Together() * j.Together()
			if here == 0 || fit < here || !j.Allows(v.GPUType) {
				short = all
			}
			free += all / float64(len(jobs))
			lost += short / float64(len(jobs))
		}
	}
	return free, lost
}

// asked returns the thousandths of GPUs that all known jobs ask for.
func (c *scene) asked() (milli int64) {
	for id := range c.known {
		milli += int64(c.log.Jobs[id].Workers) * int64(c.log.Jobs[id].Request.GPUMilli)
	}
	return milli
}

// waiting returns the number of waiting jobs and what they ask for.
func (c *scene) waiting() (jobs, milli int64) {
	for id := range c.known {
		if c.placed[id] == nil {
			jobs, milli = jobs+1, milli+int64(c.log.Jobs[id].Workers)*int64(c.log.Jobs[id].Request.GPUMilli)
		}
	}
	return jobs, milli
}

// open returns the number of GPUs open to training.
func (c *scene) open() (gpus int64) {
	for id := range c.log.Config.Cluster.Servers {
		for g := range c.free(cluster.ServerID(id)) {
			if !c.out[[2]int32{int32(id), int32(g)}] {
				gpus++
			}
		}
	}
	return gpus
}

// span returns the times of the first submission and the last finish.
func span(log *sim.Log) (first, last time.Duration) {
	for i := range log.Records {
		if log.Records[i].Kind == sim.Submit {
			first = log.Records[i].At
			break
		}
	}
	for _, r := range slices.Backward(log.Records) {
		if r.Kind == sim.Finish {
			return first, r.At
		}
	}
	return first, first
}

func TestFragmentationIsWhatTheWorkloadCannotUse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		if len(log.Jobs) == log.Config.Warm {
			return
		}
		from, until := span(log)
		if !log.Outcome.Terminated {
			until = log.Records[len(log.Records)-1].At
		}
		free, lost := 0., 0.
		scenes(log, func(since, to time.Duration, c scene) {
			if d := (min(to, until) - max(since, from)).Seconds(); d > 0 {
				a, b := c.fragmented()
				free, lost = free+a*d, lost+b*d
			}
		})
		want := 0.
		if free > 0 {
			want = lost / free
		}
		if got := Measure(log).Fragmentation; math.Abs(got-want) > 1e-9 {
			t.Fatalf("fragmentation %v, want %v", got, want)
		}
	})
}

// TestFragmentationOfPlacements checks the fragmentation during a job of 10 s, on two servers of 4 GPUs, one of them of type b.
func TestFragmentationOfPlacements(t *testing.T) {
	const s = time.Second
	share := func(j trace.Job, milli int32) trace.Job { j.Request.GPUMilli = milli; return j }
	mixed := func(j trace.Job) trace.Job { j.Mixed = true; return j }
	typed := func(j trace.Job, gpuType string) trace.Job { j.GPUType = gpuType; return j }
	pieces := func(amount int32, workers ...int32) (p cluster.Placement) {
		for i, n := range workers {
			if n > 0 {
				p = append(p, cluster.Piece{Server: cluster.ServerID(i), Workers: n, Amount: cluster.Amount{GPUMilli: amount}})
			}
		}
		return p
	}
	one := job("one", 0, 10*s, 1)
	cases := []struct {
		name string
		runs trace.Job
		on   cluster.Placement
		also []trace.Job // in the mix, but submitted too late to run
		want float64
	}{
		{"whole GPUs fit jobs of one GPU", one, pieces(1000, 1), nil, 0},
		{"three free GPUs are nothing to half of the jobs, which need four", one, pieces(1000, 1),
			[]trace.Job{job("four", 90*s, s, 4)}, 3 * .5 / 7},
		{"a gang of eight takes whole servers", one, pieces(1000, 1), []trace.Job{mixed(job("eight", 90*s, s, 8))}, 3 * .5 / 7},
		{"jobs that need type b have no use for server 0", one, pieces(1000, 0, 1),
			[]trace.Job{typed(job("b", 90*s, s, 1), "b")}, 4 * .5 / 7},
		{"the rest of a shared GPU is too little for a whole one", share(one, 400), pieces(400, 1),
			[]trace.Job{job("whole", 90*s, s, 1)}, .6 * .5 / 7.6},
		{"a share that does not fit what is left", share(one, 600), pieces(600, 1), nil, .4 / 7.4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			spec := cluster.Uniform(2, 4)
			spec.Servers[0].GPUType, spec.Servers[1].GPUType = "a", "b"
			step := &script{"script", func(tx *cluster.Txn) error {
				if tx.Now() > 0 {
					return nil
				}
				return tx.Place(0, c.on)
			}}
			log := episode(t, sim.Config{Cluster: spec, Horizon: 10 * s}, append([]trace.Job{c.runs}, c.also...), step)
			if got := Measure(log).Fragmentation; math.Abs(got-c.want) > 1e-12 {
				t.Errorf("fragmentation %v, want %v", got, c.want)
			}
		})
	}
}

// TestMixCountsEveryShape checks that mixOf counts every shape of a workload with more shapes than its cache has entries.
func TestMixCountsEveryShape(t *testing.T) {
	var jobs []trace.Job
	want := map[shape]int64{}
	for i := range 3000 {
		j := job("", 0, 1, int32(1+i%97))
		j.Request.GPUMilli, j.GPUType = int32(1+i%89), []string{"", "a"}[i%2]
		jobs = append(jobs, j)
		want[shape{j.Request.GPUMilli, j.Workers, 1, j.GPUType, 0}]++
	}
	for _, s := range mixOf(jobs) {
		n := s.jobs
		s.jobs = 0
		if want[s] != n || n == 0 {
			t.Errorf("%d jobs of %+v, want %d", n, s, want[s])
		}
		delete(want, s)
	}
	if len(want) > 0 {
		t.Errorf("%d shapes are missing", len(want))
	}
}
