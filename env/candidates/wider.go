package candidates

import "github.com/clustergym/clustergym/env/cluster"

// more adds the candidates that start a waiting job if Times is above 1, up to Times of each sort: on the servers that take the
// whole job, on the GPUs of further running jobs, with further numbers of workers, and with further amounts of CPU and memory.
func (b *board) more(id cluster.JobID) {
	w := b.walk
	s, m, n := w.tx.View(), &w.memory, w.times()
	spec := s.Spec(id)
	var found [16]int // servers, by type of GPU
	for i := range s.Servers() {
		v := cluster.ServerID(i)
		if t := s.TypeOf(v); found[t] < n && s.Fits(v, id, spec.Request) >= spec.Workers {
			found[t]++
			m.pieces = append(m.pieces, cluster.Piece{Server: v, Workers: spec.Workers, Amount: spec.Request})
			b.start(Begin, id, m.placed(len(m.pieces)-1))
		}
	}
	least, above := int(spec.Least()), int(spec.Most()-spec.Least())
	for k := range min(n, above) {
		if at, ok := m.alone(s, id, int32(least+1+k*above/min(n, above)), spec.Request); ok {
			b.start(Sized, id, at)
		}
	}
	if !w.Menu {
		return
	}
	if w.beside(w.tx, id, spec.Request) != nil {
		for _, p := range w.pairings[:min(n, len(w.pairings))] {
			b.start(Packed, id, p.at)
		}
	}
	for k := range n {
		a, factor := spec.Request, 4*float64(k+1)/float64(n)
		a.CPUMilli, a.MemMiB = times(a.CPUMilli, factor), times(a.MemMiB, max(factor, 1))
		if at, ok := m.alone(s, id, spec.Workers, a); ok {
			b.start(Amounts, id, at)
		}
	}
}
