package candidates

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// memory owns what the candidates of a list point to, and scratch space for the search. Lists reuse it one after the other, so
// that after a while the search allocates nothing. What it returns is valid until clear. A caller that keeps a candidate's
// operations or block for longer must copy them.
type memory struct {
	pieces cluster.Placement
	ops    []cluster.Proposal
	blocks []bool
	names  []string

	reserved []reservation
	outlook
}

func (m *memory) clear() {
	m.pieces, m.ops, m.blocks, m.names = m.pieces[:0], m.ops[:0], m.blocks[:0], m.names[:0]
	m.reserved = m.reserved[:0]
}

// placement copies a placement.
func (m *memory) placement(p cluster.Placement) cluster.Placement {
	from := len(m.pieces)
	m.pieces = append(m.pieces, p...)
	return m.placed(from)
}

// placed returns, as a placement, the pieces that were added since there were from of them.
func (m *memory) placed(from int) cluster.Placement {
	return m.pieces[from:len(m.pieces):len(m.pieces)]
}

// alone returns a placement of n workers on GPUs that no job uses.
func (m *memory) alone(s *cluster.View, id cluster.JobID, n int32, a cluster.Amount) (cluster.Placement, bool) {
	from := len(m.pieces)
	var fits bool
	if m.pieces, fits = s.BestFitAlone(id, n, a, m.pieces); !fits {
		m.pieces = m.pieces[:from]
		return nil, false
	}
	return m.placed(from), true
}

// list returns a list with these operations. It does not copy their placements.
func (m *memory) list(ops ...cluster.Proposal) []cluster.Proposal {
	from := len(m.ops)
	m.ops = append(m.ops, ops...)
	return m.ops[from:len(m.ops):len(m.ops)]
}

// proposals copies operations as proposals, so that they can be carried out again.
func (m *memory) proposals(ops []cluster.Op) []cluster.Proposal {
	from := len(m.ops)
	for i := range ops {
		o := &ops[i]
		m.ops = append(m.ops, cluster.Proposal{Kind: o.Kind, Job: o.Job, Server: o.Server, Placement: m.placement(o.Placement())})
	}
	return m.ops[from:len(m.ops):len(m.ops)]
}

// named returns a copy of a list of names with one more.
func (m *memory) named(list []string, name string) []string {
	from := len(m.names)
	m.names = append(append(m.names, list...), name)
	return m.names[from:len(m.names):len(m.names)]
}

// own copies operations and their placements.
func (m *memory) own(ops []cluster.Proposal) []cluster.Proposal {
	all := m.list(ops...)
	for i := range all {
		all[i].Placement = m.placement(all[i].Placement)
	}
	return all
}

// starts appends the starts that were carried out after the mark. only is false if there were other operations, too.
func (m *memory) starts(tx *cluster.Txn, mark int, dst []start) (all []start, only bool) {
	ops := tx.Ops()[mark:]
	for i := range ops {
		o := &ops[i]
		if o.Kind != cluster.OpPlace {
			return dst, false
		}
		dst = append(dst, start{o.Job, m.placement(o.Placement()), unshared(tx.View(), o)})
	}
	return dst, true
}
