package elastic

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Config are the options of the scheduler of New. [L] is Lyra (EuroSys 2023).
type Config struct {
	// Epoch makes the policy reallocate only at multiples of Epoch, and only if something has happened since. With 0, the default,
	// it reallocates whenever a job comes or ends or the cluster changes. Lyra is periodic; [L §3] does not give its period, and 30
	// s to 60 s is a reconstruction.
	Epoch time.Duration
	// Special places elastic jobs first on servers on loan, with base and flexible workers on separate servers [L §5.3]; false is
	// the ablation that treats elastic jobs like all others [L Table 6].
	Special bool
	// Gather places a gang on as few servers as it finds, as cluster.View.BestFit does; false places every worker where it fits
	// best [L §5.3]. Own choice, for physics in which distance matters.
	Gather bool
	// Pause is what a resize costs a job. A running job grows only if profiles predict that it saves more than Pause, and it gives
	// up workers only if a gang that starts finds no other room. The default 0 is [L §7.2], whose simulator does not charge for a
	// resize. Own choice: where resizes do cost time, allocations that change a little with every event would restart jobs again
	// and again.
	Pause time.Duration
	// Slowest makes a gang wait if, on the servers found, profiles predict less than this fraction of the speed in proportion to
	// its workers. The default 0 is [L], which does not model distance. Own choice.
	Slowest float64
}

// looks is how often the scheduler asks the policy in an epoch, each time without the gangs that found no servers before. Own
// choice: [L] does not say what happens to the room of such a gang.
const looks = 4

// Literal returns the options of the paper, in whose simulator resizes and distance cost nothing.
func Literal() Config { return Config{Special: true} }

// Default returns the options for clusters in which resizes and distance cost time.
func Default() Config { return Config{Special: true, Gather: true, Pause: time.Minute, Slowest: 0.5} }

// New returns a scheduler that carries out the decisions of the policy. It stops no running job and leaves none with fewer
// workers than its least. In each pass it first takes workers from running jobs, then starts gangs with their base, then lets
// running jobs grow, as far as there is room. If gangs found no servers, it undoes the pass and plans again without them, so
// that no job shrinks in vain.
func New(name string, p Policy, c Config) cluster.Scheduler {
	e := &scheduler{name: name, policy: p, cfg: c}
	if i, ok := p.(informed); ok {
		e.informed = i.NeedsEstimates()
	}
	return e
}

type scheduler struct {
	name     string
	policy   Policy
	cfg      Config
	informed bool
	memory
}

// memory is what Reset clears. All of it follows from the state, except the time of the next epoch.
type memory struct {
	fresh   bool // there was no epoch yet
	changed bool // since the last epoch
	due     time.Duration
	lent    int32 // number of servers on loan at the last epoch
	live    []cluster.JobID
	listed  []bool // by job id: whether the job is in live
	refused refusals
	jobs    []Job
	starts  []int32 // indexes into jobs
	donors  []int32 // indexes into jobs: those that are to have fewer workers
	best    cluster.Placement
	moved   cluster.Placement
	changes []change
	last    map[cluster.JobID]int // indexes into changes
	layout  layout
}

func (e *scheduler) Name() string { return e.name }

func (e *scheduler) Reset(seed uint64) error {
	e.policy.Reset(seed)
	e.memory = memory{fresh: true, last: map[cluster.JobID]int{}}
	return nil
}

func (e *scheduler) Schedule(tx *cluster.Txn) error {
	if !e.begins(tx) {
		return nil
	}
	s := tx.View()
	e.layout.learn(s, e.cfg)
	e.list(s)
	e.refused.begin()
	mark := tx.Mark()
	for look := 1; ; look++ {
		e.refused.pass()
		if err := e.describe(s); err != nil {
			return err
		}
		e.policy.Allocate(s, e.jobs)
		missed, err := e.carryOut(tx)
		if err != nil {
			return err
		}
		if !missed || look >= looks && len(s.Running()) > 0 {
			return e.settle(tx, mark)
		}
		tx.Rollback(mark)
	}
}

// begins reports whether an epoch begins now. If one is due later, it asks to be called then.
func (e *scheduler) begins(tx *cluster.Txn) bool {
	s, now := tx.View(), tx.Now()
	e.changed = e.changed || e.fresh || s.Lent() != e.lent ||
		slices.ContainsFunc(tx.Events(), func(v cluster.Event) bool { return v.Kind != cluster.Respeed })
	if !e.changed {
		return false
	}
	if period := e.cfg.Epoch; period > 0 {
		if e.due == 0 {
			e.due = (now + period - 1) / period * period
		}
		if now < e.due {
			tx.WakeAt(e.due)
			return false
		}
	}
	e.fresh, e.changed, e.due, e.lent = false, false, 0, s.Lent()
	return true
}

// list updates live: the waiting jobs and the running elastic ones, by submission, then id. Where the cluster forbids preemption,
// running jobs stay as they are.
func (e *scheduler) list(s *cluster.View) {
	if n := s.Jobs() - len(e.listed); n > 0 {
		e.listed = append(e.listed, make([]bool, n)...)
	}
	concerned := func(id cluster.JobID) bool {
		switch s.Phase(id) {
		case cluster.Pending:
			return true
		case cluster.Running:
			if s.NoPreemption() {
				return false
			}
			return s.Spec(id).Least() < s.Spec(id).Most()
		}
		return false
	}
	kept := e.live[:0]
	for _, id := range e.live {
		if e.listed[id] = concerned(id); e.listed[id] {
			kept = append(kept, id)
		}
	}
	e.live = kept
	for _, ids := range [...][]cluster.JobID{s.Pending(), s.Running()} {
		for _, id := range ids {
			if !e.listed[id] && concerned(id) {
				e.listed[id] = true
				e.live = append(e.live, id)
			}
		}
	}
	order := func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(s.Spec(a).Submit, s.Spec(b).Submit), cmp.Compare(a, b))
	}
	if !slices.IsSortedFunc(e.live, order) {
		slices.SortFunc(e.live, order)
	}
}

// describe fills jobs with all live jobs except those that are out for the rest of this epoch.
func (e *scheduler) describe(s *cluster.View) error {
	e.jobs = e.jobs[:0]
	for _, id := range e.live {
		spec := s.Spec(id)
		j := Job{ID: id, GPUMilli: int64(spec.Request.GPUMilli), Workers: spec.Workers, Base: spec.Least(), Most: spec.Most()}
		j.Loan = e.layout.wants(spec) == base
		if s.Phase(id) == cluster.Running {
			j.Now = s.Placement(id).Workers()
		} else if e.refused.out(s, id) {
			continue
		}
		left, known := s.Remaining(id)
		switch {
		case known:
			j.Left = max(left, 1)
		case e.informed:
			return fmt.Errorf("job %s %w, which %s needs", spec.Name, cluster.ErrNoEstimate, e.policy.Name())
		}
		e.jobs = append(e.jobs, j)
	}
	return nil
}
