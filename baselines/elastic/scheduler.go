package elastic

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Config holds the options of Scheduler. [L] is Lyra (EuroSys 2023).
type Config struct {
	// Epoch makes the policy reallocate at its multiples alone, where something has happened since. 0, the default: whenever a
	// job comes or ends or the cluster changes. Lyra is periodic, with a period that [L §3] does not tell: 30 s to 60 s is a
	// reconstruction.
	Epoch time.Duration
	// Elastic lets jobs run with other numbers of workers than they asked for; false is the ablation "loaning only" [L §7.4].
	Elastic bool
	// Special places elastic jobs on servers on loan first, and their base and flexible workers apart there [L §5.3]; false
	// is the ablation that treats them like all others [L Table 6].
	Special bool
	// Decreasing starts the jobs with the largest workers first [L §5.3]; false starts them in the policy's order.
	Decreasing bool
	// Gather places a gang on as few servers as it finds, as cluster.View.BestFit does, instead of every worker where it
	// fits best [L §5.3]. Own choice, for physics in which distance matters.
	Gather bool
	// Faster leaves out growth by which the profiles promise no speed. Own choice: [L §5.2] takes scaling to be linear, where
	// this changes nothing.
	Faster bool
	// Pause is what a resize costs a job, for which it must make up: a running job grows only where the profiles say that it saves
	// more than that, and gives workers up only where a gang that starts finds no other room. 0, the default, is [L §7.2], whose
	// simulator charges nothing for a resize. Own choice: where resizes do cost, allocations that change a little with every
	// event keep jobs restarting.
	Pause time.Duration
	// Slowest makes a gang wait while the profiles promise it less than this part of the speed in proportion to its workers,
	// scattered as it would be. 0, the default, is [L], which knows no distance. Own choice.
	Slowest float64
	// Looks is how often the policy is asked in an epoch, without the gangs that found no servers the times before, at least
	// 1. Own choice: [L] does not say what becomes of the room of such a gang.
	Looks int
}

// Default returns what the paper does, and the own choices that cost it nothing.
func Default() Config {
	return Config{Elastic: true, Special: true, Decreasing: true, Faster: true, Looks: 4}
}

// New returns a scheduler that carries out what the policy decides. It stops no running job and leaves none with fewer
// workers than its least: first it takes workers from running jobs, then it starts gangs with their base, then running jobs
// grow, each as far as there is room. A pass in which gangs found no servers is undone and planned anew without them, so
// that nobody shrinks in vain.
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

// memory is what Reset forgets. All of it follows from the state but when the next epoch is due.
type memory struct {
	fresh   bool // no epoch yet
	changed bool // since the last epoch
	due     time.Duration
	lent    int32 // servers on loan at the last epoch
	live    []cluster.JobID
	listed  []bool // by id: in live
	refused refusals
	jobs    []Job
	starts  []int32 // into jobs
	donors  []int32 // into jobs: those that are to have fewer workers
	best    cluster.Placement
	moved   cluster.Placement
	changes []change
	last    map[cluster.JobID]int // into changes
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
		if !missed || look >= e.cfg.Looks && len(s.Running()) > 0 {
			return e.settle(tx, mark)
		}
		tx.Rollback(mark)
	}
}

// begins reports whether an epoch begins now; if not, but one should, it asks to be called.
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

// bounds returns the least and the most workers of a job.
func (e *scheduler) bounds(spec *cluster.JobSpec) (base, most int32) {
	if !e.cfg.Elastic {
		return spec.Workers, spec.Workers
	}
	return spec.Least(), spec.Most()
}

// list brings live up to date: the waiting jobs and the running elastic ones, by submission, then id.
func (e *scheduler) list(s *cluster.View) {
	if n := s.Jobs() - len(e.listed); n > 0 {
		e.listed = append(e.listed, make([]bool, n)...)
	}
	concerned := func(id cluster.JobID) bool {
		switch s.Phase(id) {
		case cluster.Pending:
			return true
		case cluster.Running:
			base, most := e.bounds(s.Spec(id))
			return base < most
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

// describe fills jobs with all that live but those that are out of this epoch.
func (e *scheduler) describe(s *cluster.View) error {
	e.jobs = e.jobs[:0]
	for _, id := range e.live {
		spec := s.Spec(id)
		j := Job{ID: id, GPUMilli: int64(spec.Request.GPUMilli), Workers: spec.Workers}
		j.Base, j.Most = e.bounds(spec)
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
			return fmt.Errorf("job %s has no estimate of its duration, which %s needs", spec.Name, e.policy.Name())
		}
		e.jobs = append(e.jobs, j)
	}
	return nil
}
