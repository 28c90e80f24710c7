package train

import (
	"slices"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/candidates"
)

// proposals counts, by rival of Config.Rivals, the decisions at which one of the rival's proposals was among the candidates, and
// those of them at which the team took one. What the prior proposes, too, counts as the prior's. The zero value counts nothing.
type proposals struct {
	offered, taken map[string]int
}

// newProposals returns counts for these rivals.
func newProposals(rivals []string) (p proposals) {
	if len(rivals) == 0 {
		return p
	}
	p = proposals{map[string]int{}, map[string]int{}}
	for _, name := range rivals {
		p.offered[name], p.taken[name] = 0, 0
	}
	return p
}

// see counts a choice.
func (p *proposals) see(c *agents.Choice) {
	by := func(o *candidates.Candidate, name string) bool { return o.By == name || slices.Contains(o.Also, name) }
	for name := range p.offered { // the counts do not depend on the order
		offered := false
		for k := range c.List {
			offered = offered || !c.Gone[k] && by(&c.List[k], name)
		}
		if offered {
			p.offered[name]++
		}
		if by(&c.List[c.Action], name) {
			p.taken[name]++
		}
	}
}

// add adds the counts of others.
func (p *proposals) add(others *proposals) {
	for name := range p.offered {
		p.offered[name] += others.offered[name]
		p.taken[name] += others.taken[name]
	}
}
