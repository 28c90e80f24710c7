package eval

import (
	"bytes"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/must"
)

// costly returns made results that cost something: "new" half as much as "old", save what no job is charged for.
func costly() []Result {
	results := made()
	for i := range results {
		r := &results[i]
		x, at := 100*float64(r.Seed), float64(len(r.Window))
		if r.Policy == "new" {
			x /= 2
		}
		r.Costs = []objectives.Bill{{
			Objective: "mine", Unit: "%", Total: x + at, Terms: []objectives.Share{{Of: "wait", Cost: x}, {Of: "makespan", Cost: at}},
			BySize:   []objectives.Share{{Of: "2-4", Jobs: 3, Cost: x / 4}, {Of: "9-", Jobs: 1, Cost: 3 * x / 4}},
			ByTenant: []objectives.Share{{Of: "a", Jobs: 4, Cost: x}},
		}}
		if r.Window == "test-1" { // has other sizes and tenants
			r.Costs[0].BySize = []objectives.Share{{Of: "1", Jobs: 4, Cost: x}}
			r.Costs[0].ByTenant = []objectives.Share{{Of: "b", Jobs: 4, Cost: x}}
		}
	}
	return results
}

// TestCostTables checks that policies are ranked by the first objective, and the tables of costs and of their parts.
func TestCostTables(t *testing.T) {
	c := must.Get(Compare(costly(), "old"))(t)
	if c.Policies[0].Policy != "new" || c.Best() != "new" || c.Ranking() != "mine" {
		t.Errorf("ranked %s first by %s", c.Policies[0].Policy, c.Ranking())
	}
	var b bytes.Buffer
	must.Do(t, c.WriteTable(&b, Screen{}))
	text, _, _ := strings.Cut(b.String(), "policy  mean JCT")
	text += strings.Join(c.Verdict(), "\n") + "\n\n" + Markdown([]Comparison{c}, c.CostKeys()...)
	golden(t, "costs.txt", []byte(text))
}

// TestCostsOfSeedsOfTraining checks that the parts of policies that differ in their seed of training are averaged.
func TestCostsOfSeedsOfTraining(t *testing.T) {
	c := must.Get(Compare(costly(), "old"))(t)
	one, two := c.Policies[0], c.Policies[0]
	one.Policy, two.Policy = "new-1", "new-2"
	two.Costs = []objectives.Bill{{Objective: "mine", Unit: "%", Total: 120, Terms: []objectives.Share{{Of: "wait", Cost: 100}, {Of: "makespan", Cost: 20}}}}
	c.Policies = append(c.Policies, one, two)
	m := OverSeeds(&c)
	if got := m.Policies[2].Costs[0]; got.Total != (81+120)/2. || got.Terms[0].Cost != (75+100)/2. || got.BySize[0].Of != "1" {
		t.Errorf("%+v", got)
	}
}

// TestManyTenantsAreOne checks that a result names the tenants that cost most, and that tables show fewer still.
func TestManyTenantsAreOne(t *testing.T) {
	var list []objectives.Share
	for i := range 32 {
		list = append(list, objectives.Share{Of: string(rune('A' + i)), Jobs: 1, Cost: float64(i)})
	}
	list[31] = objectives.Share{Of: objectives.Others, Jobs: 9, Cost: 36}
	results := costly()
	for i := range results {
		results[i].Costs[0].ByTenant = list
	}
	c := must.Get(Compare(results, "old"))(t)
	parts := c.Parts(0)
	last := parts.Columns[len(parts.Columns)-2]                                            // before what no job is charged for
	if last.Label != "others" || parts.Rows[0].Cells[len(parts.Columns)-2].Text != "361" { // 0 to 25, and 36
		t.Errorf("%+v, %+v", parts.Columns, parts.Rows[0])
	}
}
