package candidates

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// show fills the list: the base's own, then of what was made the first of each kind, the second of each and so on, each once and
// only if it is feasible and against no hold, as many as are wanted.
func (b *board) show(own Candidate) {
	w := b.walk
	w.coalitions.clear(w.tx.View().Servers())
	own.of = w
	w.list = append(w.list[:0], own)
	w.try(&w.list[0]) // who takes part: it was feasible when the base proposed it
	b.sort()
	var next [Kinds]int // where to look on, by kind
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

// sort orders what was made: what comes first of a kind for its job, then what comes second and so on, so that what could be
// done with one job leaves room for the others.
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

// listed reports whether a candidate with the same operations and holds is on the list, or was proposed: what the board finds,
// too, keeps the mark of who proposed it.
func (b *board) listed(i int) bool {
	c := &b.made[i]
	twin := func(o *Candidate) bool {
		return same(o.Ops, c.Ops) && (len(c.Ops) > 0 || o.Kind == c.Kind && o.Job == c.Job)
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

// same reports whether operations are equal.
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

// forbidden reports whether a candidate starts a job against a hold, or would be a second one.
func (b *board) forbidden(c *Candidate) bool {
	w := b.walk
	if (c.Kind == Reserve || c.Kind == Gather) && w.front.block != nil {
		return true
	}
	for i := range c.Ops {
		p := &c.Ops[i]
		if p.Kind == cluster.OpPlace && w.front.forbids(w.tx, &start{job: p.Job, at: p.Placement}) {
			return true
		}
	}
	return false
}
