package loan

import "github.com/clustergym/clustergym/env/cluster"

// wanted returns the servers to borrow now: all that are offered (Lyra, §6), the lowest ids first, about which the paper is
// silent. The result is valid until the next call.
func (o *orchestrator) wanted(s *cluster.View) []cluster.ServerID {
	o.some = o.some[:0]
	room := int(s.Offer() - s.Lent())
	for i := range s.Servers() {
		if id := cluster.ServerID(i); len(o.some) < room && s.Server(id).Pool == cluster.Inference && !s.OnLoan(id) && !s.Down(id) {
			o.some = append(o.some, id)
		}
	}
	return o.some
}
