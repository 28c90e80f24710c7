package placement

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Tune gives jobs CPU and memory by their effect on speed and not by what the jobs ask for (Synergy-TUNE; Mohan et al., OSDI
// 2022). A job starts where BestFit puts it, or on fewer servers if it is not slower there. It gets the least CPU and memory
// with which it is as fast as with what it asked for; the rest is free for other jobs. If the servers have too little for that,
// it starts with the floor (see TuneConfig). Once all jobs have started, Tune distributes what is left to them in steps, the
// largest gain in speed per fraction of a server first, up to the knee of each job.
//
// Jobs that asked for no CPU, and jobs whose profile does not depend on amounts, get what they ask for.
type Tune struct {
	TuneConfig
	bench bench
	fit   cluster.Placement
	alone cluster.Placement
	hand  hand
	ids   []cluster.JobID
	gpus  []int32
}

// TuneConfig are the options of Tune.
type TuneConfig struct {
	// Knee is the fraction of the best speed at which a job gets no more, in (0, 1]. Own choice for Synergy's "saturates".
	Knee float64
	// Floor is the fraction of the speed as requested that a job must still reach if it starts with less, in (0, 1]. Synergy goes
	// down to the amounts in proportion to GPUs, which corresponds to 1 here.
	Floor float64
	// Reserve is how much of their proportional part of CPU and memory the free GPUs of a server keep, from 0. Own choice: on
	// training windows neither 0 nor 1 was clearly better.
	Reserve float64
	// Idle also gives each worker that starts memory that nobody uses, up to that of a GPU's proportional part of its server,
	// even if that is not expected to make it faster. A job that asked for too little memory may run many times faster with it.
	Idle bool
	// Resize also gives what is left to running jobs, if their speed grows by the fraction Gain and they have at least Left to go,
	// because a resize may stop a job for a while. Synergy tunes again in every round, at no cost.
	Resize bool
	Gain   float64
	Left   time.Duration
}

// DefaultTune returns the default options of Tune.
func DefaultTune() TuneConfig {
	return TuneConfig{Knee: 0.95, Floor: 0.9, Reserve: 1, Gain: 0.2, Left: 30 * time.Minute}
}

// NewTune returns the placer Tune.
func NewTune(c TuneConfig) *Tune {
	t := &Tune{TuneConfig: c}
	t.Reset(0)
	return t
}

// Reset implements Placer.
func (t *Tune) Reset(uint64) { t.bench.reset(t.Knee, t.Floor) }

// Kind implements Placer.
func (*Tune) Kind(s *cluster.View, id cluster.JobID) Kind { return tuned(s, id) }

// Place implements Placer.
func (t *Tune) Place(tx *cluster.Txn, id cluster.JobID) (bool, error) {
	p, _, err := t.find(tx, id)
	if err != nil || p == nil {
		return false, err
	}
	return true, tx.Place(id, p)
}

// find returns a placement on which the job could start now without sharing GPUs: where BestFit puts it, or on fewer servers if
// less CPU and memory suffices. It returns nil if the job cannot start.
func (t *Tune) find(tx *cluster.Txn, id cluster.JobID) (cluster.Placement, *response, error) {
	s := tx.View()
	r, err := t.bench.of(s, id)
	if err != nil {
		return nil, nil, err
	}
	spec := s.Spec(id)
	var fits bool
	t.fit, fits = s.BestFit(id, t.fit[:0])
	for i := range t.fit {
		t.fit[i].Amount = r.lean
	}
	if fits && len(t.fit) == 1 || spec.Request.GPUMilli < cluster.WholeGPU {
		if !fits {
			return nil, r, nil
		}
		return t.fit, r, nil
	}
	if r.lean != spec.Request {
		var found bool
		t.alone, found = s.BestFitAlone(id, spec.Workers, r.lean, t.alone[:0])
		if found && fits {
			found = len(t.alone) < len(t.fit) && t.speed(tx, id, t.alone) >= t.speed(tx, id, t.fit)
		}
		if found {
			return t.alone, r, nil
		}
	}
	if !fits && r.floor != r.lean {
		t.fit, fits = s.BestFitAlone(id, spec.Workers, r.floor, t.fit[:0])
	}
	if !fits {
		return nil, r, nil
	}
	return t.fit, r, nil
}

// Levels returns the amounts that matter to the job's speed: lean is the least that is as fast as what the job asked for, floor
// the least that is nearly as fast, and knee the least that is nearly as fast as any. If amounts make no difference, all are the
// requested amounts.
func (t *Tune) Levels(s *cluster.View, id cluster.JobID) (lean, floor, knee cluster.Amount, err error) {
	r, err := t.bench.of(s, id)
	if err != nil {
		return lean, floor, knee, err
	}
	return r.lean, r.floor, r.knee, nil
}

// speed returns the job's speed on a placement according to the profile, 0 if the placement does not fit.
func (t *Tune) speed(tx *cluster.Txn, id cluster.JobID, p cluster.Placement) float64 {
	mark := tx.Mark()
	defer tx.Rollback(mark)
	if tx.Place(id, p) != nil {
		return 0
	}
	return Profile(tx.View()).Speed(tx.View(), id)
}

// Finish implements finisher. It places the jobs that started last in this transaction again, on the same GPUs, with more CPU
// and memory.
func (t *Tune) Finish(tx *cluster.Txn) error {
	s, ops := tx.View(), tx.Ops()
	from := len(ops)
	for from > 0 && ops[from-1].Kind == cluster.OpPlace {
		from--
	}
	t.hand.begin(t.Reserve, t.Idle)
	for i := range ops[from:] {
		o := &ops[from+i]
		r, err := t.bench.of(s, o.Job)
		if err != nil {
			return err
		}
		t.hand.add(s, o.Job, o.Placement(), r)
	}
	if t.hand.out(s) {
		tx.Rollback(from)
		for i := range t.hand.starts {
			st := &t.hand.starts[i]
			if err := tx.Place(st.job, t.hand.pieces[st.first:st.last]); err != nil {
				return err
			}
		}
	}
	if t.Resize && !s.NoPreemption() {
		return t.resize(tx)
	}
	return nil
}

// resize gives what is left to jobs that were already running.
func (t *Tune) resize(tx *cluster.Txn) error {
	s, profile := tx.View(), Profile(tx.View())
	t.ids = append(t.ids[:0], s.Running()...)
	slices.Sort(t.ids)
	for _, id := range t.ids {
		left, known := s.Remaining(id)
		if known && left < t.Left || slices.ContainsFunc(t.hand.starts, func(st start) bool { return st.job == id }) {
			continue
		}
		r, err := t.bench.of(s, id)
		if err != nil {
			return err
		}
		t.hand.begin(t.Reserve, false)
		t.hand.add(s, id, s.Placement(id), r)
		if !t.hand.out(s) {
			continue
		}
		before, mark := profile.Speed(s, id), tx.Mark()
		t.gpus = append(t.gpus[:0], s.GPUs(id)...)
		if err := tx.Resize(id, t.hand.pieces); err != nil {
			return err
		}
		if profile.Speed(s, id) < before*(1+t.Gain) || !slices.Equal(t.gpus, s.GPUs(id)) {
			tx.Rollback(mark)
		}
	}
	return nil
}
