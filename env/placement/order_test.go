package placement_test

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// ordered returns the pending jobs, shortest estimate first.
func ordered(s *cluster.View) []cluster.JobID {
	ids := slices.Clone(s.Pending())
	slices.SortFunc(ids, func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(s.Spec(a).Estimate, s.Spec(b).Estimate), cmp.Compare(a, b))
	})
	return ids
}
