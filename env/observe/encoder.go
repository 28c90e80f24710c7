package observe

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
)

// Standard is the built-in encoder. It has scratch space: every user needs its own, and it is not safe for concurrent use.
//
// Its window is the list of waiting jobs that it shows, sorted by the function order. The window contains the first jobs that
// could start now (ready) and the first that could not (held), which show what may be worth waiting for. Held jobs get a quarter
// of the window, or more if few jobs are ready.
type Standard struct {
	Window int // maximum number of jobs shown, those of candidates first; 0 means 32
	// Wide encodes all kinds of candidates, as wide lists need, see candidates.Config. Without it only the kinds of narrow lists
	// can be encoded.
	Wide bool
	// Uncertainty adds features that say how uncertain the time left and the speed of jobs are, see UncertainName.
	Uncertainty bool
	// Objective adds features that say what jobs cost by it, from what the state tells alone; nil adds none. Which one it is does
	// not matter for the features' meaning. Set it before the first use.
	Objective *objectives.Objective

	state *cluster.View
	fits  capacity
	ready []ranked // waiting jobs that could start now
	held  []ranked // waiting jobs that could not

	outlook     outlook
	demand      demand
	speeds      speeds
	head        head
	shown       []shown // by row of jobs
	rank        []int32 // by row of jobs: number of waiting jobs before it by order
	turn        []int32 // by row of jobs: number of waiting jobs submitted before it
	marks       []mark
	before      []int32
	typeSpeed   []float32 // by GPU type: mean relative speed of the jobs in the window
	trial       trial
	uncertainty uncertainty
	costs       costs
	window      []cluster.JobID
}

var _ Encoder = (*Standard)(nil)

// Spec implements Encoder.
func (e *Standard) Spec() Spec {
	if e.Window == 0 {
		e.Window = 32
	}
	s := Spec{Window: e.Window, Server: serverFeatures, Job: jobFeatures, Candidate: narrowFeatures, Global: globalFeatures}
	if e.Wide {
		s.Candidate = wideFeatures
	}
	if e.Uncertainty {
		s.Server, s.Job, s.Candidate = uncertainServer, uncertainJob, uncertainNarrow
		if e.Wide {
			s.Candidate = uncertainWide
		}
	}
	if e.Objective != nil {
		s.Job, s.Global = pricedJob, pricedGlobal
		if e.Uncertainty {
			s.Job = uncertainPricedJob
		}
	}
	return s
}

// kinds returns the number of kinds that rows of candidates encode.
func (e *Standard) kinds() int {
	if e.Wide {
		return candidates.Kinds
	}
	return candidates.Narrow
}

// Encode implements Encoder. The rows of servers, jobs and the cluster show the state before any candidate. Encode shows at most
// Window jobs, or all jobs that candidates are about if these are more; jobs of candidates may be running. The row of a candidate
// shows the effect of its operations, which Encode carries out and rolls back. A candidate that is gone has a row of zeros.
//
// Encode returns an error if a candidate is infeasible or about a job that neither waits nor runs. The error names the candidate
// and wraps cluster.ErrInfeasible; the contents of o are then undefined. Encode always leaves the state as it was. It allocates
// nothing once its buffers and those of o have grown and all kinds of jobs are known.
func (e *Standard) Encode(tx *cluster.Txn, list []candidates.Candidate, o *Observation) error {
	s := tx.View()
	if err := check(s, list, e.kinds()); err != nil {
		return err
	}
	e.look(s)
	spec := e.Spec()
	size := func(buf []float32, n int) []float32 { return slices.Grow(buf[:0], n)[:n] }
	o.Servers = size(o.Servers, s.Servers()*len(spec.Server))
	o.Global = size(o.Global, len(spec.Global))
	o.Candidates = size(o.Candidates, len(list)*len(spec.Candidate))
	clear(o.Global)
	clear(o.Candidates)
	e.observeServers(o.Servers, len(spec.Server))
	e.observeGlobal(e.window, o.Global)
	if e.Objective != nil {
		e.costs.observeGlobal(o.Global[len(globalFeatures):])
	}

	e.choose(list, o)
	o.Jobs = size(o.Jobs, len(o.Ids)*len(spec.Job))
	clear(o.Jobs)
	e.learn(s, o.Ids)
	e.rankAll(s, o.Ids)
	for k, id := range o.Ids {
		row := o.Jobs[k*len(spec.Job):]
		e.observeJob(k, id, row)
		if s.Phase(id) == cluster.Running {
			row[jobStartable] = 0
		}
		if e.Uncertainty {
			e.uncertainty.observeJob(id, row[len(jobFeatures):])
		}
		if e.Objective != nil {
			e.costs.observeJob(id, row[len(spec.Job)-len(costJob):])
		}
	}
	e.trial.begin(s, e.outlook.total.gpus)
	for i := range list {
		if err := e.try(tx, list, i, o); err != nil {
			return err
		}
	}
	e.trial.compare(list, o.Candidates, e.kinds(), len(spec.Candidate))
	return nil
}

// look reads the state and chooses the jobs of the window.
func (e *Standard) look(s *cluster.View) {
	if e.state != s || len(e.fits.known) > 0 && len(e.fits.known[0].fits) != s.Servers() {
		e.state, e.fits = s, capacity{} // the sizes depend on the number of servers
	}
	e.Spec()
	e.window = slices.Grow(e.window[:0], e.Window)[:e.Window]
	e.fits.reset(s)
	e.outlook.look(s)
	if e.Uncertainty {
		e.uncertainty.look(s)
	}
	if e.Objective != nil {
		e.costs.look(e.Objective, s)
	}
	e.demand.count(s)
	e.speeds.read(s)
	e.fill(s, e.window)
	e.learn(s, e.window)
	e.pace(s, e.window)
	if e.head.there = false; len(e.held) > 0 {
		e.head.find(s, e.held[0].job, &e.outlook)
	}
}

// check returns an error about the first candidate that cannot be valid in this state.
func check(s *cluster.View, list []candidates.Candidate, kinds int) error {
	for i := range list {
		c := &list[i]
		if int(c.Kind) >= kinds {
			return fmt.Errorf("observe candidate %d: %v, want a kind below %d", i, c.Kind, kinds)
		}
		if c.Gone {
			continue
		}
		if c.Job >= 0 && (int(c.Job) >= s.Jobs() || s.Phase(c.Job) != cluster.Pending && s.Phase(c.Job) != cluster.Running) {
			return fmt.Errorf("observe candidate %d (%v of job %d): want a job that waits or runs: %w", i, c.Kind, c.Job,
				cluster.ErrInfeasible)
		}
	}
	return nil
}

// choose fills o.Ids with the jobs that candidates are about, then jobs of the window while there is room, and o.Of with the row
// of each candidate's job.
func (e *Standard) choose(list []candidates.Candidate, o *Observation) {
	o.Ids, o.Of = o.Ids[:0], o.Of[:0]
	for i := range list {
		at := -1
		if id := list[i].Job; id >= 0 && !list[i].Gone {
			if at = slices.Index(o.Ids, id); at < 0 {
				at = len(o.Ids)
				o.Ids = append(o.Ids, id)
			}
		}
		o.Of = append(o.Of, int32(at))
	}
	about := len(o.Ids)
	for _, id := range e.window {
		if id >= 0 && len(o.Ids) < e.Window && !slices.Contains(o.Ids[:about], id) {
			o.Ids = append(o.Ids, id)
		}
	}
}

// try carries out candidate i, fills its row and rolls it back.
func (e *Standard) try(tx *cluster.Txn, list []candidates.Candidate, i int, o *Observation) error {
	c, t, mark := &list[i], &e.trial, tx.Mark()
	if c.Gone {
		t.results = append(t.results, result{end: cluster.Never})
		return nil
	}
	t.before(c)
	if e.Uncertainty && t.pace > 0 {
		e.uncertainty.was = tx.View().Configuration(c.Job)
	}
	defer tx.Rollback(mark)
	if err := c.Apply(tx); err != nil {
		return fmt.Errorf("observe candidate %d (%v of job %d): %w", i, c.Kind, c.Job, err)
	}
	t.after()
	width := len(e.Spec().Candidate)
	row := o.Candidates[i*width : (i+1)*width]
	row[c.Kind] = 1
	e.observeCandidate(c, o.Of[i], row[e.kinds():])
	return nil
}

// capacity caches, by shape and amount, how many workers each server can take.
type capacity struct {
	state *cluster.View
	known []counted
	used  int
}

type counted struct {
	shape  cluster.Shape
	amount cluster.Amount
	total  int64
	fits   []int32
	alone  int32 // number of servers that can take the whole gang
}

func (c *capacity) reset(s *cluster.View) { c.state, c.used = s, 0 }

// of returns the cached counts for a job whose workers hold the amount a, valid until the next call.
func (c *capacity) of(id cluster.JobID, a cluster.Amount) *counted {
	shape := c.state.Shape(id)
	for i := range c.known[:c.used] {
		if c.known[i].amount == a && c.known[i].shape == shape {
			return &c.known[i]
		}
	}
	if c.used == len(c.known) {
		c.known = append(c.known, counted{fits: make([]int32, c.state.Servers())})
	}
	n := &c.known[c.used]
	c.used++
	n.shape, n.amount, n.alone = shape, a, 0
	n.total = c.state.Room(id, a, n.fits)
	for _, fits := range n.fits {
		if fits >= n.shape.Workers {
			n.alone++
		}
	}
	return n
}
