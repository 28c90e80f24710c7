package placement

import "github.com/clustergym/clustergym/env/cluster"

// Cost returns the cost of the cheapest choice for the job that the placer considered last.
func (m *Menu) Cost() float64 { return m.best.cost }

// EachPlace lists the placements that Menu compares for n workers of a job, at most most of each sort.
func EachPlace(s *cluster.View, id cluster.JobID, n int32, a cluster.Amount, most int) (all []cluster.Placement) {
	var l places
	_ = l.each(s, id, n, a, most, func(at cluster.Placement) error {
		all = append(all, append(cluster.Placement(nil), at...))
		return nil
	})
	return all
}
