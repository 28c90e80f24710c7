package objectives

import (
	"cmp"

	"github.com/clustergym/clustergym/env/cluster"
)

// seeTogether computes what the cluster as a whole costs an hour in its present state.
func (m *Meter) seeTogether(v *cluster.View) {
	for i := range m.objective.Terms {
		t, n := &m.objective.Terms[i], 0.0
		switch t.Cost {
		case IdleGPUTime:
			if m.waits(v) {
				n = float64(v.FreeTotal())
			}
		case Makespan:
			if len(m.active) > 0 || m.ended < m.options.Jobs-m.options.Warm {
				n = 1
			}
		case Unfair:
			n = m.tenants.shortfall(v)
		}
		m.together[i] = t.Price.Amount * n / t.Price.hours()
	}
}

// waits reports whether a job waits that counts.
func (m *Meter) waits(v *cluster.View) bool {
	for _, id := range v.Pending() {
		if int(id) >= m.options.Warm {
			return true
		}
	}
	return false
}

// tenants is memory for computing shares.
type tenants struct {
	at   map[string]int
	list []tenantUse
}

type tenantUse struct {
	share, wants, holds int64 // in thousandths of GPUs
}

// shortfall returns by how many GPUs the tenant that is worst off holds less than its share: its quota or, where no tenant has
// one, an equal part for each tenant with jobs, but never more than its jobs ask for. Jobs without a tenant are their user's.
func (s *tenants) shortfall(v *cluster.View) float64 {
	if s.at == nil {
		s.at = map[string]int{}
	}
	clear(s.at)
	s.list = s.list[:0]
	for _, id := range v.Pending() {
		s.of(v, id).wants += v.Spec(id).GPUMilli()
	}
	for _, id := range v.Running() {
		u, held := s.of(v, id), v.Placement(id).GPUMilli()
		u.holds += held
		u.wants += held
	}
	equal := int64(0)
	if n := int64(len(s.list)); n > 0 {
		total := v.Total()
		equal = total.GPUMilli / n
	}
	worst := int64(0)
	for i := range s.list {
		u := &s.list[i]
		if u.share < 0 {
			u.share = equal
		}
		worst = max(worst, min(u.share, u.wants)-u.holds)
	}
	return float64(worst) / cluster.WholeGPU
}

// short returns how many GPUs less than its share a job's tenant holds, below 0 if it holds more.
func (s *tenants) short(spec *cluster.JobSpec) float64 {
	i, ok := s.at[owner(spec)]
	if !ok {
		return 0
	}
	return float64(s.list[i].share-s.list[i].holds) / cluster.WholeGPU
}

// owner returns whom a job counts for: its tenant or, without one, its user.
func owner(spec *cluster.JobSpec) string { return cmp.Or(spec.Tenant, spec.User) }

// of returns the use of a job's tenant.
func (s *tenants) of(v *cluster.View, id cluster.JobID) *tenantUse {
	name := owner(v.Spec(id))
	i, ok := s.at[name]
	if !ok {
		i = len(s.list)
		s.at[name] = i
		s.list = append(s.list, tenantUse{share: v.Quota(id)})
	}
	return &s.list[i]
}
