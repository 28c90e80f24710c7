package elastic

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
)

// Allowance is how much of each tenant's quota an allocation uses, in thousandths of GPUs.
type Allowance map[string]int64

// Take adds thousandths of GPUs to the use of the job's tenant; a negative number gives them back.
func (a Allowance) Take(s *cluster.View, id cluster.JobID, milli int64) {
	if s.Quota(id) >= 0 {
		a[s.Spec(id).Tenant] += milli
	}
}

// Left returns how many thousandths of GPUs the job's tenant may still take, beyond what it holds.
func (a Allowance) Left(s *cluster.View, id cluster.JobID) int64 {
	if milli, limited := s.QuotaLeft(id); limited {
		return milli - a[s.Spec(id).Tenant]
	}
	return math.MaxInt64 / 4
}
