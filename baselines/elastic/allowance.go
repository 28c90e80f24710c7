package elastic

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
)

// allowance is what an allocation takes of tenants' quotas, in thousandths of GPUs by tenant.
type allowance map[string]int64

// take counts thousandths of GPUs with the job's tenant; less than 0 gives back.
func (a allowance) take(s *cluster.View, id cluster.JobID, milli int64) {
	if s.Quota(id) >= 0 {
		a[s.Spec(id).Tenant] += milli
	}
}

// left is how many thousandths of GPUs the job's tenant may still take, beyond what it holds.
func (a allowance) left(s *cluster.View, id cluster.JobID) int64 {
	if milli, limited := s.QuotaLeft(id); limited {
		return milli - a[s.Spec(id).Tenant]
	}
	return math.MaxInt64 / 4
}
