package candidates

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// memory is what the candidates of a list point into, and scratch space for finding them. It is used again from list to list, so
// that once it has grown, looking for candidates allocates nothing. What it hands out is valid until it is cleared; who keeps a
// candidate's operations or the block that it holds for longer copies them.
type memory struct {
	pieces cluster.Placement
	ops    []cluster.Proposal
	blocks []bool
	gpus   []time.Duration
	freed  []freed
}

// freed is a server and when it has room for so many workers.
type freed struct {
	at     time.Duration
	server cluster.ServerID
}

func (m *memory) clear() { m.pieces, m.ops, m.blocks = m.pieces[:0], m.ops[:0], m.blocks[:0] }

// placement copies a placement.
func (m *memory) placement(p cluster.Placement) cluster.Placement {
	from := len(m.pieces)
	m.pieces = append(m.pieces, p...)
	return m.placed(from)
}

// placed returns the pieces that were added since there were so many.
func (m *memory) placed(from int) cluster.Placement {
	return m.pieces[from:len(m.pieces):len(m.pieces)]
}

// alone proposes GPUs that nobody uses for n workers.
func (m *memory) alone(s *cluster.State, id cluster.JobID, n int32, a cluster.Amount) (cluster.Placement, bool) {
	from := len(m.pieces)
	var fits bool
	if m.pieces, fits = s.BestFitAlone(id, n, a, m.pieces); !fits {
		m.pieces = m.pieces[:from]
		return nil, false
	}
	return m.placed(from), true
}

// list makes a list of operations, which keep the placements that they point to.
func (m *memory) list(ops ...cluster.Proposal) []cluster.Proposal {
	from := len(m.ops)
	m.ops = append(m.ops, ops...)
	return m.ops[from:len(m.ops):len(m.ops)]
}

// proposals copies operations, so that they can be carried out again.
func (m *memory) proposals(ops []cluster.Op) []cluster.Proposal {
	from := len(m.ops)
	for i := range ops {
		o := &ops[i]
		m.ops = append(m.ops, cluster.Proposal{Kind: o.Kind, Job: o.Job, Server: o.Server, Placement: m.placement(o.Placement())})
	}
	return m.ops[from:len(m.ops):len(m.ops)]
}

// own copies operations and their placements.
func (m *memory) own(ops []cluster.Proposal) []cluster.Proposal {
	all := m.list(ops...)
	for i := range all {
		all[i].Placement = m.placement(all[i].Placement)
	}
	return all
}

// starts appends what was proposed since the mark. only is false if that is not starts alone.
func (m *memory) starts(tx *cluster.Txn, mark int, dst []start) (all []start, only bool) {
	ops := tx.Ops()[mark:]
	for i := range ops {
		o := &ops[i]
		if o.Kind != cluster.OpPlace {
			return dst, false
		}
		dst = append(dst, start{o.Job, m.placement(o.Placement()), unshared(tx.State(), o)})
	}
	return dst, true
}

// reserve foresees where the gang finds room first: on as few servers as can be, those free soonest. ok is false where estimates
// do not tell.
func (m *memory) reserve(s *cluster.State, id cluster.JobID) (r reservation, ok bool) {
	n, from := s.Servers(), len(m.blocks)
	m.blocks = slices.Grow(m.blocks, n)[:from+n]
	r = reservation{gang: id, block: m.blocks[from : from+n : from+n]}
	clear(r.block)
	workers, most := s.Spec(id).Workers, s.MostGPUs()
	whole, rest := workers/most, workers%most
	if whole > 0 && !m.pick(s, &r, whole, most) || rest > 0 && !m.pick(s, &r, 1, rest) {
		m.blocks = m.blocks[:from]
		return reservation{}, false
	}
	return r, r.free > s.Now()
}

// pick adds so many servers to a block, those that are first expected to have as many free GPUs as needed.
func (m *memory) pick(s *cluster.State, r *reservation, servers, need int32) bool {
	m.freed = m.freed[:0]
	for i := range s.Servers() {
		v := cluster.ServerID(i)
		if r.block[v] || !s.Open(v) || !s.MayUse(r.gang, v) || s.Server(v).GPUs < need {
			continue
		}
		m.gpus = frees(s, v, m.gpus[:0])
		if at := m.gpus[need-1]; at < never {
			m.freed = append(m.freed, freed{at, v})
		}
	}
	if int32(len(m.freed)) < servers {
		return false
	}
	slices.SortFunc(m.freed, func(a, b freed) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.server, b.server)) })
	for _, c := range m.freed[:servers] {
		r.block[c.server], r.free = true, max(r.free, c.at)
	}
	return true
}
