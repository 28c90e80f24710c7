package elastic

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/placement"
)

// carryOut carries out what the policy wants as far as there is room. missed reports that a gang found no servers.
func (e *scheduler) carryOut(tx *cluster.Txn) (missed bool, err error) {
	s := tx.View()
	e.layout.survey(s)
	e.starts, e.donors = e.starts[:0], e.donors[:0]
	for i := range e.jobs {
		j := &e.jobs[i]
		if j.Now > 0 || j.Want > 0 {
			j.Want = min(max(j.Want, j.Base), j.Most)
		}
		switch {
		case j.Now == 0 && j.Want > 0:
			e.starts = append(e.starts, int32(i))
		case j.Want < j.Now:
			e.donors = append(e.donors, int32(i))
		}
	}
	if e.cfg.Pause == 0 {
		for len(e.donors) > 0 {
			if err := e.donate(tx); err != nil {
				return false, err
			}
		}
	}
	e.order(s)
	e.layout.open(s)
	for _, i := range e.starts {
		id, started := e.jobs[i].ID, false
		if !e.refused.known(s, id) {
			if started, err = e.start(tx, &e.jobs[i]); err != nil {
				return false, err
			}
		}
		e.refused.note(s, id, started)
		missed = missed || !started
	}
	for i := range e.jobs {
		j := &e.jobs[i]
		if has := max(j.Now, j.Base); j.Want > has && s.Phase(j.ID) == cluster.Running {
			if err := e.grow(tx, j, j.Want-has); err != nil {
				return false, err
			}
		}
	}
	return missed, nil
}

// donate takes workers from the last of the donors, the jobs that are to have fewer workers.
func (e *scheduler) donate(tx *cluster.Txn) error {
	last := len(e.donors) - 1
	j := &e.jobs[e.donors[last]]
	e.donors = e.donors[:last]
	return e.resize(tx, j.ID, e.layout.without(tx.View(), j.ID, j.Now-j.Want))
}

// order sorts the starts into the order in which they are placed: those with the largest workers first, where a worker is all
// that must be together on one server. Jobs that may mix GPU types come last, because they can take whatever is left [L §5.3].
func (e *scheduler) order(s *cluster.View) {
	slices.SortStableFunc(e.starts, func(a, b int32) int {
		x, y := s.Spec(e.jobs[a].ID), s.Spec(e.jobs[b].ID)
		if hx, hy := e.layout.types.mixes(x), e.layout.types.mixes(y); hx != hy {
			if hx {
				return 1
			}
			return -1
		}
		return cmp.Compare(y.Together()*y.Request.GPUMilli, x.Together()*x.Request.GPUMilli)
	})
}

// start places a gang with its base. If it finds no servers and resizes cost time, the donors give up their workers only now.
func (e *scheduler) start(tx *cluster.Txn, j *Job) (bool, error) {
	s := tx.View()
	p, found := e.layout.gang(s, j.ID, j.Base)
	for !found && len(e.donors) > 0 {
		need := (int64(j.Base)*j.GPUMilli + cluster.WholeGPU - 1) / cluster.WholeGPU
		for first := true; len(e.donors) > 0 && (first || s.FreeTotal() < need); first = false {
			if err := e.donate(tx); err != nil {
				return false, err
			}
		}
		e.layout.open(s)
		p, found = e.layout.gang(s, j.ID, j.Base)
	}
	if !found {
		return false, nil
	}
	mark := tx.Mark()
	if err := tx.Place(j.ID, p); err != nil {
		return false, err
	}
	if e.scattered(s, j) {
		tx.Rollback(mark)
		return false, nil
	}
	e.layout.label(s, j.ID, 1)
	return true, nil
}

// scattered reports whether a gang that has just been placed should rather wait, because profiles predict less than the fraction
// Slowest of the speed in proportion to its workers. If nothing else runs, waiting would not help, and the result is false.
func (e *scheduler) scattered(s *cluster.View, j *Job) bool {
	p := s.Placement(j.ID)
	if e.cfg.Slowest == 0 || len(p) == 1 || len(s.Running()) == 1 {
		return false
	}
	fair := float64(p.Workers()) / float64(j.Workers)
	if f := profile.Lookup(s.Spec(j.ID).Model); f != nil {
		speed, _ := f.GPUSpeed(s.Server(p[0].Server).GPUType)
		fair *= speed
	}
	return placement.Profile(s).Speed(s, j.ID) < e.cfg.Slowest*fair
}

// grow gives a running job up to n more workers if profiles predict that it then runs faster; [L §5.2] assumes linear scaling.
// It adds them to those that the job has, or, with Gather, also tries to place the whole job elsewhere, and takes the faster
// placement.
func (e *scheduler) grow(tx *cluster.Txn, j *Job, n int32) error {
	s, id := tx.View(), j.ID
	p, more := e.layout.with(s, id, n)
	known, mark := placement.Profile(s), tx.Mark()
	before, best := known.Speed(s, id), 0.0
	e.best = e.best[:0]
	try := func(p cluster.Placement) error {
		if err := tx.Resize(id, p); err != nil {
			return err
		}
		if speed := known.Speed(s, id); speed > best {
			best, e.best = speed, append(e.best[:0], p...)
		}
		tx.Rollback(mark)
		return nil
	}
	if more > 0 {
		if err := try(p); err != nil {
			return err
		}
	}
	if now := s.Placement(id).Workers(); e.cfg.Gather && (more < n || len(p) > 1) {
		for size := now + n; size > now; size /= 2 {
			p, found, err := e.afresh(tx, id, size)
			if err == nil && found {
				err = try(p)
			}
			if err != nil {
				return err
			}
		}
	}
	if len(e.best) == 0 || best <= before || !e.pays(s, j, before, best) {
		return nil
	}
	return e.resize(tx, id, e.best)
}

// afresh proposes a placement of a running job with n workers as if the job were not running yet.
func (e *scheduler) afresh(tx *cluster.Txn, id cluster.JobID, n int32) (cluster.Placement, bool, error) {
	s, mark := tx.View(), tx.Mark()
	e.layout.label(s, id, -1)
	if err := tx.Preempt(id); err != nil {
		return nil, false, err
	}
	e.layout.open(s)
	p, found := e.layout.gang(s, id, n)
	e.moved = append(e.moved[:0], p...)
	tx.Rollback(mark)
	e.layout.label(s, id, 1)
	e.layout.open(s)
	return e.moved, found, nil
}

// pays reports whether a change of speed saves a job more time than Pause, the cost of a resize. It expects that a job without
// an estimate runs as long again as it has run so far, which fits heavy-tailed run times.
func (e *scheduler) pays(s *cluster.View, j *Job, before, after float64) bool {
	if e.cfg.Pause == 0 || j.Now == 0 {
		return true
	}
	left := j.Left
	if left == 0 {
		left = s.Progress(j.ID)
	}
	return left.Seconds()*(1/before-1/after) > e.cfg.Pause.Seconds()
}

func (e *scheduler) resize(tx *cluster.Txn, id cluster.JobID, p cluster.Placement) error {
	e.layout.label(tx.View(), id, -1)
	err := tx.Resize(id, p)
	e.layout.label(tx.View(), id, 1)
	return err
}
