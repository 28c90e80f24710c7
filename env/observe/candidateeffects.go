package observe

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// trial computes what changes when a candidate is carried out. It has scratch space; the zero value is ready.
type trial struct {
	state   *cluster.View
	profile cluster.Profile
	price   float64 // price of one GPU per second of use: 0.1 * waiting jobs / GPUs in the cluster
	free    int64   // number of GPUs that no job uses, before the operations
	pace    float64 // speed of the candidate's job before the operations; 0 if it waits

	movers  []mover // the jobs of the operations, ascending
	others  []other // other running jobs whose speed the operations may change, ascending
	coupled []cluster.JobID
	placed  []int32            // by server: number of workers that the operations place there
	on      []cluster.ServerID // the servers with such workers
	racks   []int32            // number of a job's workers, by rack
	gpus    []time.Duration
	results []result // by candidate
}

// mover is a job that the operations start, stop or change.
type mover struct {
	job   cluster.JobID
	ran   bool  // whether it ran before the operations
	milli int64 // thousandths of GPUs that it held before
	runs  bool  // whether it runs after the operations
	course
}

// course is how a job that runs after the operations continues.
type course struct {
	speed   float64
	seconds float64       // remaining run time; without an estimate, that of an hour's work
	run     time.Duration // remaining run time, Never without an estimate
}

// other is a job that runs before and after the operations.
type other struct {
	job           cluster.JobID
	before, after float64 // speeds
}

// result contains the numbers by which candidates are compared.
type result struct {
	end  time.Duration // time until its job ends, Never without an estimate
	cost float64       // seconds
}

// guess is the assumed work, in seconds, of a job without an estimate.
const guess = 3600.0

// begin sets the state before all candidates.
func (t *trial) begin(s *cluster.View, gpus int64) {
	t.state, t.profile, t.results = s, s.Profile(), t.results[:0]
	if t.profile == nil {
		t.profile = physics.Ideal()
	}
	t.price = 0.1 * float64(len(s.Pending())) / float64(max(gpus, 1))
	n := s.Servers()
	t.placed = slices.Grow(t.placed[:0], n)[:n]
	clear(t.placed)
	t.on = t.on[:0]
}

// speed returns the speed of a running job that the profile predicts; 1 if the prediction is not a valid speed.
func (t *trial) speed(id cluster.JobID) float64 {
	if v := t.profile.Speed(t.state, id); v > 0 && v < math.MaxFloat32 {
		return v
	}
	return 1
}

// before records the state of what a candidate may change.
func (t *trial) before(o *candidates.Candidate) {
	s := t.state
	t.free, t.pace = s.FreeTotal(), 0
	if o.Job >= 0 && s.Phase(o.Job) == cluster.Running {
		t.pace = t.speed(o.Job)
	}
	t.movers, t.others, t.coupled = t.movers[:0], t.others[:0], t.coupled[:0]
	for i := range o.Ops {
		t.meet(&o.Ops[i])
	}
	slices.Sort(t.coupled)
	for _, id := range slices.Compact(t.coupled) {
		if _, moves := t.mover(id); !moves && s.Phase(id) == cluster.Running {
			t.others = append(t.others, other{job: id, before: t.speed(id)})
		}
	}
}

// meet records the job of an operation and the running jobs that it may slow down or speed up. The operation need not be
// feasible, so its fields may have any values.
func (t *trial) meet(p *cluster.Proposal) {
	s := t.state
	if p.Kind == cluster.OpLoan || p.Kind == cluster.OpReclaim || p.Job < 0 || int(p.Job) >= s.Jobs() {
		return
	}
	if !slices.ContainsFunc(p.Placement, func(q cluster.Piece) bool { return q.Server < 0 || int(q.Server) >= s.Servers() }) {
		t.coupled = t.profile.Coupled(s, p.Placement, t.coupled)
	}
	at, known := t.mover(p.Job)
	if known {
		return
	}
	m := mover{job: p.Job, ran: s.Phase(p.Job) == cluster.Running}
	if m.ran {
		m.milli = s.Placement(p.Job).GPUMilli()
		t.coupled = t.profile.Coupled(s, s.Placement(p.Job), t.coupled)
	}
	t.movers = slices.Insert(t.movers, at, m)
}

func (t *trial) mover(id cluster.JobID) (at int, found bool) {
	return slices.BinarySearchFunc(t.movers, id, func(m mover, id cluster.JobID) int { return cmp.Compare(m.job, id) })
}

// after records the state of the same jobs after the operations.
func (t *trial) after() {
	s := t.state
	for _, id := range t.on {
		t.placed[id] = 0
	}
	t.on = t.on[:0]
	for i := range t.movers {
		m := &t.movers[i]
		if m.runs = s.Phase(m.job) == cluster.Running; m.runs {
			m.course = t.courseOf(m.job, t.speed(m.job))
			for _, q := range s.Placement(m.job) {
				if t.placed[q.Server] == 0 {
					t.on = append(t.on, q.Server)
				}
				t.placed[q.Server] += q.Workers
			}
		}
	}
	for i := range t.others {
		t.others[i].after = t.speed(t.others[i].job)
	}
}

// courseOf returns how a job continues at the given speed.
func (t *trial) courseOf(id cluster.JobID, speed float64) course {
	left, known := t.state.Remaining(id)
	if !known {
		return course{speed, guess / speed, cluster.Never}
	}
	seconds := max(left, time.Second).Seconds() / speed
	return course{speed, seconds, span(seconds)}
}

// ends returns the remaining run time of a job that runs after the operations, Never without an estimate.
func (t *trial) ends(id cluster.JobID) time.Duration {
	if i, moves := t.mover(id); moves {
		return t.movers[i].run
	}
	left := t.state.Left(id)
	i, felt := slices.BinarySearchFunc(t.others, id, func(o other, id cluster.JobID) int { return cmp.Compare(o.job, id) })
	if !felt || left == cluster.Never {
		return left
	}
	return span(left.Seconds() * t.others[i].before / t.others[i].after)
}

// span returns a duration of the given number of seconds, at most 30 years.
func span(seconds float64) time.Duration {
	return time.Duration(min(seconds, 30*365*86400) * float64(time.Second))
}

// compare fills the features that compare each candidate with the base's own candidate, if both are about the same job.
func (t *trial) compare(list []candidates.Candidate, rows []float32, kinds, width int) {
	own := slices.IndexFunc(list, func(o candidates.Candidate) bool { return o.Kind == candidates.Own })
	if own < 0 || list[own].Job < 0 {
		return
	}
	base := &t.results[own]
	for i := range list {
		if list[i].Job != list[own].Job || list[i].Gone {
			continue
		}
		r, row := &t.results[i], rows[i*width+kinds:]
		row[candidateRival] = 1
		if r.end != cluster.Never && base.end != cluster.Never {
			row[candidateEnd] = against(r.end, base.end)
		}
		row[candidateCost] = tanh(float32(math.Log((r.cost + 60) / (base.cost + 60))))
	}
}
