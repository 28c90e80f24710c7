package candidates

import (
	"maps"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Take carries out a candidate in a fork of the state in which it was found, and makes the base play on after it. If the base is
// a scheduler that moves jobs, its next Schedule goes on in the middle of the decision, with what the candidate's own source
// knew. Told of all jobs as if they were new, it would look for moves at once. An error wraps cluster.ErrInfeasible.
func (g *Guard) Take(tx *cluster.Txn, o *Candidate) error {
	if s, ok := g.base.(*Scheduler); ok && s.resumes(o) {
		g.commitment = commitment{}
		return nil
	}
	if err := o.Apply(tx); err != nil {
		return err
	}
	g.Commit(o)
	return nil
}

// resumes makes the next Schedule go on in the middle of the decision in which o was found, with o taken. It reports whether the
// source can: whether it finds its lists as that of o does.
func (s *Scheduler) resumes(o *Candidate) bool {
	w, ok := s.Source.(*walk)
	if !ok || !w.Moves || o.of == nil || o.of.Wide {
		return false
	}
	s.next = o
	return true
}

// resume takes the place of Begin in the middle of a decision of another walk: it goes on as that would after taking c. It
// changes nothing of the other walk.
func (w *walk) resume(tx *cluster.Txn, c *Candidate) error {
	of := c.of
	w.memory.clear()
	w.tx, w.events = tx, of.events
	w.freed, w.news, w.deltas, w.lists, w.from = of.freed, of.news, of.deltas, of.lists, tx.Mark()
	w.plan, w.at, w.whole = append(w.plan[:0], of.plan...), of.at, of.whole
	w.ops, w.list = slices.Clone(of.ops), append(w.list[:0], *c)
	w.held = maps.Clone(of.held)
	w.front.commit(&of.front.commitment)
	w.front.stale = true
	if c.Kind == Own {
		return w.Take(0)
	}
	return w.takeOther(c)
}
