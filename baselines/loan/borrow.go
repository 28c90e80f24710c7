package loan

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// wanted returns the servers to borrow now, in order. The result is valid until the next call.
func (o *orchestrator) wanted(s *cluster.View) []cluster.ServerID {
	room := int(s.Offer() - s.Lent())
	if room <= 0 {
		return nil
	}
	o.some = o.some[:0]
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.Server(id).Pool == cluster.Inference && !s.OnLoan(id) && !s.Down(id) {
			o.some = append(o.some, id)
		}
	}
	switch o.c.First {
	case Highest:
		slices.Reverse(o.some)
	case Largest:
		slices.SortStableFunc(o.some, func(a, b cluster.ServerID) int { return cmp.Compare(s.Server(b).GPUs, s.Server(a).GPUs) })
	}
	some := o.some[:min(len(o.some), room)]
	if o.c.Borrow == Needed {
		some = some[:o.needed(s, some)]
	}
	return some
}

// needed returns how many of the servers the waiting jobs can use, judged by sums of GPUs. Sums ignore gangs and fragmentation.
// Therefore, so that no job waits for ever, it returns all servers if nothing runs and some job does not fit.
func (o *orchestrator) needed(s *cluster.View, servers []cluster.ServerID) int {
	waiting := s.Pending()
	if len(s.Running()) == 0 && slices.ContainsFunc(waiting, func(id cluster.JobID) (fits bool) {
		o.fit, fits = s.BestFit(id, o.fit[:0])
		return !fits
	}) {
		return len(servers)
	}
	types := typesOf(s, servers)
	short := -s.FreeTotal() * cluster.WholeGPU
	for _, id := range waiting {
		if spec := s.Spec(id); slices.ContainsFunc(types, spec.Allows) {
			short += spec.GPUMilli()
		}
	}
	for i, id := range servers {
		if short <= 0 {
			return i
		}
		short -= int64(s.Server(id).GPUs) * cluster.WholeGPU
	}
	return len(servers)
}

// typesOf returns the GPU types of servers, each once.
func typesOf(s *cluster.View, servers []cluster.ServerID) (types []string) {
	for _, id := range servers {
		if t := s.Server(id).GPUType; !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return types
}
