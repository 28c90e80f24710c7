package placement

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Tune gives jobs CPU and memory by what these do to their speed instead of what they ask for (Synergy-TUNE; Mohan et al.,
// OSDI 2022). A job starts where BestFit puts it, or on fewer servers where it is then no slower, with the least that is
// as fast as what it asked for; what jobs give up so is there for others. Where CPU or memory is too short for that, it makes
// do with a floor. Once all have started, what is left
// goes to the started jobs in steps, the largest gain in speed for the part of a server that it takes first, up to the knee of
// each.
//
// Jobs that asked for no CPU, and jobs to whose profile amounts make no difference, get what they ask for.
type Tune struct {
	TuneConfig
	bench bench
	fit   cluster.Placement
	alone cluster.Placement
	trial trial
	hand  hand
	ids   []cluster.JobID
	gpus  []int32
}

// TuneConfig are the options of Tune.
type TuneConfig struct {
	// Knee is the part of the best speed that an amount must reach to be as much as a job gets, above 0 to 1. Own choice for
	// Synergy's "saturates".
	Knee float64
	// Floor is the part of the speed as requested down to which a job makes do with less to start, above 0 to 1. Synergy goes
	// down to the part in proportion to GPUs, which is 1 here.
	Floor float64
	// Reserve is how much of their part in proportion the free GPUs of a server keep, 0 or more. Own choice: on training windows
	// neither 0 nor 1 was clearly better.
	Reserve float64
	// Resize gives leftovers to jobs that run already, too, where their speed grows by Gain or more and they have Left or more
	// to go: a resize may stop a job for a while. Synergy retunes in every round, at no cost.
	Resize bool
	Gain   float64
	Left   time.Duration
}

// DefaultTune returns Tune's defaults.
func DefaultTune() TuneConfig {
	return TuneConfig{Knee: 0.95, Floor: 0.9, Reserve: 1, Gain: 0.2, Left: 30 * time.Minute}
}

// NewTune returns the placer.
func NewTune(c TuneConfig) *Tune {
	t := &Tune{TuneConfig: c}
	t.Reset(0)
	return t
}

// Reset implements Placer.
func (t *Tune) Reset(uint64) { t.bench.reset(t.Knee, t.Floor) }

// Kind implements Placer.
func (*Tune) Kind(s *cluster.View, id cluster.JobID) Kind {
	return Kind{Shape: s.Shape(id), Model: s.Spec(id).Model}
}

// Place implements Placer.
func (t *Tune) Place(tx *cluster.Txn, id cluster.JobID) (bool, error) {
	p, _, err := t.find(tx, id)
	if err != nil || p == nil {
		return false, err
	}
	return true, tx.Place(id, p)
}

// find proposes where the job could start now on GPUs of its own: where BestFit puts it, or on fewer servers if less CPU and
// memory will do for it; nil where it cannot start.
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

// Levels are the amounts that matter to the job's speed: the least that is as fast as what it asked for, the least that is nearly
// so, and the least that is nearly as fast as can be. They are what it asked for where amounts make no difference.
func (t *Tune) Levels(s *cluster.View, id cluster.JobID) (lean, floor, knee cluster.Amount, err error) {
	r, err := t.bench.of(s, id)
	if err != nil {
		return lean, floor, knee, err
	}
	return r.lean, r.floor, r.knee, nil
}

// speed is what the profile says of a placement, 0 where it does not fit.
func (t *Tune) speed(tx *cluster.Txn, id cluster.JobID, p cluster.Placement) float64 {
	mark := tx.Mark()
	defer tx.Rollback(mark)
	v, _, _ := t.trial.try(tx, id, p)
	return v
}

// Finish implements finisher. Jobs that started in this transaction are placed anew, on the same GPUs with more.
func (t *Tune) Finish(tx *cluster.Txn) error {
	s, ops := tx.View(), tx.Ops()
	from := len(ops)
	for from > 0 && ops[from-1].Kind == cluster.OpPlace {
		from--
	}
	t.hand.begin(t.Reserve)
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
	if t.Resize {
		return t.resize(tx)
	}
	return nil
}

// resize gives leftovers to jobs that run already.
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
		t.hand.begin(t.Reserve)
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
