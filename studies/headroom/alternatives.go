package headroom

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// Limits of the alternatives that the search draws.
const (
	items     = 64 // the most candidates at a decision point
	proposers = 3  // number of policies that propose candidates: the best of those that the search began with
)

// other is an alternative at a decision point: either operations to do first, or a job to hold back.
type other struct {
	ops  []cluster.Proposal // operations to do first; if empty, hide a job from the policy
	job  cluster.JobID      // the job to hide
	hold time.Duration      // the time until which to hide it
}

func (o other) equal(p other) bool { return o.job == p.job && o.hold == p.hold && same(o.ops, p.ops) }

// same reports whether two lists of operations are equal.
func same(a, b []cluster.Proposal) bool {
	return slices.EqualFunc(a, b, func(a, b cluster.Proposal) bool {
		return a.Kind == b.Kind && a.Job == b.Job && a.Server == b.Server && slices.Equal(a.Placement, b.Placement)
	})
}

// proposed is a scheduler that repeats operations proposed before.
type proposed struct{ ops []cluster.Proposal }

// Name implements cluster.Scheduler.
func (*proposed) Name() string { return "proposed" }

// Reset implements cluster.Scheduler.
func (*proposed) Reset(uint64) error { return nil }

// Schedule implements cluster.Scheduler.
func (p *proposed) Schedule(tx *cluster.Txn) error {
	for i := range p.ops {
		if err := tx.Do(&p.ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// newBoard returns a source of the candidates of a decision point. The parameter proposers is the largest number of policies that
// propose candidates, best first; times multiplies the usual number of candidates.
func (d *decider) newBoard(times, proposers int) (candidates.Source, error) {
	c := candidates.Default(func() cluster.Scheduler { return &d.own })
	c.Start = func() placement.Placer {
		eager := placement.DefaultMenu()
		eager.Patience, eager.Wait, eager.Price = 1e6, false, 0
		return placement.NewMenu(eager)
	}
	c.Menu, c.Deltas, c.Items = true, true, items
	for _, p := range d.rivals[:min(proposers, len(d.rivals))] {
		s, err := p.New()
		if err != nil {
			return nil, err
		}
		c.Rivals = append(c.Rivals, candidates.Named{Name: p.Name, New: func() cluster.Scheduler { return s }})
	}
	b := candidates.NewSource(c.Wider(times))
	return b, b.Reset(d.opts.Seed)
}

// others draws alternatives for a decision point. Either it holds back a job that the policy starts, until some running job has
// ended; or it does one of the candidates before the policy's own operations. In the wider search, about half of the candidates
// are ones that only the longer list contains.
func (d *decider) others(tx *cluster.Txn) ([]other, error) {
	m := record(tx)
	var starts []cluster.JobID
	for i := range m.ops {
		if o := &m.ops[i]; o.Kind == cluster.OpPlace && d.before.State().Phase(o.Job) == cluster.Pending {
			starts = append(starts, o.Job)
		}
	}
	usual, err := d.find(d.board, m.ops, starts)
	if err != nil {
		return nil, err
	}
	var rest found
	if d.wider != nil {
		if rest, err = d.find(d.wider, m.ops, starts); err != nil {
			return nil, err
		}
		rest.drop(&usual)
	}
	ends := d.ends(tx.View())
	holds := len(starts) > 0 && len(ends) > 0
	var all []other
	for range 4 * tries {
		if len(all) == tries || !holds && len(usual[0])+len(usual[1])+len(rest[0])+len(rest[1]) == 0 {
			break
		}
		var next other
		if holds && d.draw.IntN(2) == 0 {
			e := min(int(d.draw.ExpFloat64()*3), len(ends)-1)
			next = other{job: starts[d.draw.IntN(len(starts))], hold: ends[e] + time.Millisecond}
		} else if next.ops = d.pick(&usual, &rest); len(next.ops) == 0 {
			continue
		}
		if !slices.ContainsFunc(all, next.equal) {
			all = append(all, next)
		}
	}
	return all, nil
}

// found contains the operations of candidates, in two groups: those about jobs that the policy starts, and the others.
type found [2][][]cluster.Proposal

// pick draws one of the two groups and then a candidate of that group; it returns nil if the group is empty. If rest is empty,
// the random draws are the same as in the usual search.
func (d *decider) pick(usual, rest *found) []cluster.Proposal {
	about := d.draw.IntN(2)
	var ops []cluster.Proposal
	if some := usual[about]; len(some) > 0 {
		ops = some[d.draw.IntN(len(some))]
	}
	if some := rest[about]; len(some) > 0 && (len(ops) == 0 || d.extra.IntN(2) == 0) {
		ops = some[d.extra.IntN(len(some))]
	}
	return ops
}

// drop removes the candidates that are also in others.
func (f *found) drop(others *found) {
	for about := range f {
		f[about] = slices.DeleteFunc(f[about], func(ops []cluster.Proposal) bool {
			return slices.ContainsFunc(others[about], func(o []cluster.Proposal) bool { return same(o, ops) })
		})
	}
}

// find returns the candidates that a board lists besides the operations that the policy proposes. They belong to the board and
// are valid until its next call.
func (d *decider) find(b candidates.Source, ops []cluster.Proposal, starts []cluster.JobID) (f found, err error) {
	d.before.Fork(&d.fork)
	tx := d.fork.State().Txn()
	tx.Tell(d.fork.State().Introduce())
	d.own.ops = ops
	if err := b.Begin(tx); err != nil {
		return f, fmt.Errorf("find candidates at %v: %w", tx.Now(), err)
	}
	for _, c := range b.List() {
		if c.Kind == candidates.Own || c.Kind == candidates.Part || len(c.Ops) == 0 {
			continue // the policy does this anyway, or it means waiting, and a hold waits with knowledge of the future
		}
		about := 1
		if slices.Contains(starts, c.Job) {
			about = 0
		}
		f[about] = append(f[about], c.Ops)
	}
	return f, nil
}

// ends returns the times until which holding a job back may pay: when the running jobs will end, by their present speeds and true
// work, and when the next jobs will be submitted.
func (d *decider) ends(s *cluster.View) []time.Duration {
	var all []time.Duration
	for _, id := range s.Running() {
		left := d.work(id) - s.Progress(id)
		rate := s.PlannedRate(id)
		if rate > 0 && left > 0 {
			all = append(all, max(s.Since(id), s.Now())+time.Duration(float64(left)/rate))
		}
	}
	at, _ := slices.BinarySearch(d.submits, s.Now()+1)
	all = append(all, d.submits[at:min(at+4, len(d.submits))]...)
	slices.Sort(all)
	return slices.Compact(all)
}

// work returns the job's true work.
func (d *decider) work(id cluster.JobID) time.Duration { return d.start.Jobs[id].Work }
