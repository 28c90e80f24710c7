package objectives

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
)

// Bill is what an episode costs by one objective.
type Bill struct {
	Objective string  `json:"objective"`
	Unit      string  `json:"unit"`
	Total     float64 `json:"total"`
	Terms     []Share `json:"terms"` // in the order of the objective's terms
	// BySize and ByTenant say whose jobs it is that cost. Costs of the cluster as a whole are in neither.
	BySize   []Share `json:"by_size,omitempty"`
	ByTenant []Share `json:"by_tenant,omitempty"`
}

// Share is what one term, or some of the jobs, cost.
type Share struct {
	Of   string  `json:"of"`
	Jobs int     `json:"jobs,omitempty"` // 0 for terms
	Cost float64 `json:"cost"`
}

// size is a class of BySize: the GPUs that jobs ask for, up to most.
type size struct {
	most float64
	name string
}

var sizes = []size{{1, "1"}, {4, "2-4"}, {8, "5-8"}, {math.Inf(1), "9-"}}

// Bill returns what the meter has charged so far: in all, by term, and to which of the jobs.
func (m *Meter) Bill(jobs iter.Seq2[cluster.JobID, *cluster.JobSpec]) Bill {
	o := m.objective
	cost := Bill{Objective: o.Name, Unit: o.Unit, Total: m.Total()}
	for i, x := range m.Terms() {
		cost.Terms = append(cost.Terms, Share{Of: o.TermName(i), Cost: x})
	}
	bySize, byTenant := make([]Share, len(sizes)), map[string]*Share{}
	for id, spec := range jobs {
		sum := 0.0
		m.Job(id, func(_ int, x float64) { sum += x })
		i := slices.IndexFunc(sizes, func(c size) bool { return spec.GPUs() <= c.most })
		bySize[i].Of = sizes[i].name
		name := cmp.Or(spec.Tenant, spec.User, "-")
		if byTenant[name] == nil {
			byTenant[name] = &Share{Of: name}
		}
		for _, s := range [2]*Share{&bySize[i], byTenant[name]} {
			s.Jobs++
			s.Cost += sum
		}
	}
	cost.BySize = slices.DeleteFunc(bySize, func(s Share) bool { return s.Jobs == 0 })
	for _, s := range byTenant {
		cost.ByTenant = append(cost.ByTenant, *s)
	}
	cost.ByTenant = mostOf(cost.ByTenant)
	return cost
}

// mostTenants is how many tenants a result names; the others are one.
const (
	mostTenants = 32
	// Others is the name of these.
	Others = "others"
)

// mostOf sorts tenants and returns those that cost most, and the others as one.
func mostOf(list []Share) []Share {
	slices.SortFunc(list, func(a, b Share) int { return cmp.Or(cmp.Compare(b.Cost, a.Cost), strings.Compare(a.Of, b.Of)) })
	if len(list) > mostTenants {
		rest := Share{Of: Others}
		for _, s := range list[mostTenants-1:] {
			rest.Jobs += s.Jobs
			rest.Cost += s.Cost
		}
		list = append(list[:mostTenants-1], rest)
	}
	return list
}

// MeanBills returns the means over cases of what they cost by each objective, and of the parts.
func MeanBills(cases [][]Bill) []Bill {
	var means []Bill
	for i, first := range cases[0] {
		mean := Bill{Objective: first.Objective, Unit: first.Unit}
		for _, costs := range cases {
			c, n := &costs[i], len(cases)
			mean.Total += c.Total / float64(n)
			mean.Terms = addShares(mean.Terms, c.Terms, n)
			mean.BySize = addShares(mean.BySize, c.BySize, n)
			mean.ByTenant = addShares(mean.ByTenant, c.ByTenant, n)
		}
		slices.SortFunc(mean.BySize, func(a, b Share) int { return cmp.Compare(sizeIndex(a.Of), sizeIndex(b.Of)) })
		mean.ByTenant = mostOf(mean.ByTenant)
		means = append(means, mean)
	}
	return means
}

// addShares adds what one of so many cases costs to means.
func addShares(means, of []Share, cases int) []Share {
	for _, s := range of {
		i := slices.IndexFunc(means, func(m Share) bool { return m.Of == s.Of })
		if i < 0 {
			i, means = len(means), append(means, Share{Of: s.Of})
		}
		means[i].Jobs += s.Jobs
		means[i].Cost += s.Cost / float64(cases)
	}
	return means
}

func sizeIndex(name string) int {
	return slices.IndexFunc(sizes, func(s size) bool { return s.name == name })
}
