package scenario

import (
	"strings"

	"github.com/clustergym/clustergym/internal/names"
)

// rename puts the name of the split behind the users, tenants and groups of the jobs of the validation and test splits.
func (s *Source) rename() {
	p := &s.pool
	for _, split := range []Split{Validation, Test} {
		from, to := p.bounds(s.scenario.Window.fractions(split))
		for _, i := range p.arrivals[from:to] {
			j := &p.workload.Jobs[i]
			j.User, j.Tenant, j.Group = at(j.User, split), at(j.Tenant, split), at(j.Group, split)
		}
	}
}

// at puts the split behind a name, which it cuts if the result would be too long. It leaves "" as it is.
func at(name string, split Split) string {
	if name == "" {
		return ""
	}
	behind := "@" + string(split)
	return strings.ToValidUTF8(name[:min(len(name), names.Longest-len(behind))], "") + behind
}
