package candidates

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// show fills the list with up to Items candidates after the base's own: of made, the first of each kind, then the second of each
// kind and so on. It skips candidates that are infeasible, that the commitment forbids or that are on the list already.
func (b *board) show(own Candidate) {
	w := b.walk
	w.coalitions.clear(w.tx.View().Servers())
	own.of = w
	w.list = append(w.list[:0], own)
	w.try(&w.list[0]) // for its members: it was feasible when the base proposed it
	b.sort()
	var next [Kinds]int // by kind: the index in order at which to continue
	for found := true; found && len(w.list) <= w.Items; {
		found = false
		for kind := range Kinds {
			for ; next[kind] < len(b.order); next[kind]++ {
				i := b.order[next[kind]]
				c := &b.made[i]
				if int(c.Kind) != kind || b.listed(i) || b.forbidden(c) || !w.try(c) {
					continue
				}
				c.of = w
				w.list = append(w.list, *c)
				next[kind]++
				found = true
				break
			}
			if len(w.list) > w.Items {
				break
			}
		}
	}
}

// sort orders made: first the first candidate of each kind for each job, then the second ones and so on, so that the candidates
// for one job leave room in the list for those of others.
func (b *board) sort() {
	var turns [Kinds]int
	b.order, b.turns = b.order[:0], b.turns[:0]
	for i := range b.made {
		c := &b.made[i]
		if i > 0 && c.Job != b.made[i-1].Job {
			turns = [Kinds]int{}
		}
		b.order, b.turns = append(b.order, i), append(b.turns, turns[c.Kind])
		turns[c.Kind]++
	}
	slices.SortFunc(b.order, func(i, j int) int { return cmp.Or(cmp.Compare(b.turns[i], b.turns[j]), cmp.Compare(i, j)) })
}

// listed reports whether the list, or the proposals of the base and the rivals before index i, contain a candidate with the same
// operations and, if it has none, the same reservations. A candidate that was proposed and that the board finds as well so keeps
// the kind of its proposal.
func (b *board) listed(i int) bool {
	c := &b.made[i]
	twin := func(o *Candidate) bool {
		return same(o.Ops, c.Ops) && (len(c.Ops) > 0 || o.Kind == c.Kind && o.Job == c.Job && slices.EqualFunc(o.holds, c.holds, alike))
	}
	for k := range b.made[:min(i, b.proposed)] {
		if twin(&b.made[k]) {
			return true
		}
	}
	for k := range b.walk.list {
		if twin(&b.walk.list[k]) {
			return true
		}
	}
	return false
}

// same reports whether two lists of operations are equal.
func same(a, b []cluster.Proposal) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.Job != y.Job || x.Kind != y.Kind || x.Server != y.Server || !slices.Equal(x.Placement, y.Placement) {
			return false
		}
	}
	return true
}

// forbidden reports whether the candidate starts a job that the commitment keeps from starting, or would add a reservation that
// conflicts with another.
func (b *board) forbidden(c *Candidate) bool {
	w := b.walk
	if c.Kind == Reserve || c.Kind == Gather {
		own := &c.holds[len(c.holds)-1]
		return slices.ContainsFunc(w.front.holds, func(r reservation) bool { return own.conflicts(&r) })
	}
	for i := range c.Ops {
		p := &c.Ops[i]
		if p.Kind == cluster.OpPlace && w.front.forbids(w.tx, &start{job: p.Job, at: p.Placement}) {
			return true
		}
	}
	return false
}
