package report

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/must"
)

// costing gives each result a cost by one objective: so much for each of two terms, by policy.
func costing(s *Section, name string, of map[string][2]float64) {
	for i := range s.Results {
		r := &s.Results[i]
		x := of[r.Policy]
		r.Costs = []objectives.Bill{{
			Objective: name, Unit: name + "s", Total: x[0] + x[1], Terms: []objectives.Share{{Of: name + " wait", Cost: x[0]}, {Of: "stop", Cost: x[1]}},
			BySize:   []objectives.Share{{Of: "1", Jobs: 1, Cost: x[0]}, {Of: "9-", Jobs: 1, Cost: x[1]}},
			ByTenant: []objectives.Share{{Of: name + " a", Jobs: 1, Cost: x[0]}, {Of: "b", Jobs: 1, Cost: x[1]}},
		}}
	}
}

// TestPageShowsCosts checks that policies are in the order of what they cost, what the bars say, and that the one that is far off
// is cut and does not shorten the others.
func TestPageShowsCosts(t *testing.T) {
	s := section(t, "x", 2, 50, 2, "fifo", "srtf", "las")
	costing(&s, "mine", map[string][2]float64{"fifo": {9000, 1000}, "srtf": {30, 10}, "las": {0, 20}})
	s.compare(t, "fifo")
	view := costViews(&s.Comparison, []string{"fifo", "srtf", "las"})[0]
	las, srtf, fifo := view.Bars[0], view.Bars[1], view.Bars[2]
	if las.Says != "las: 20 mines, stop 100 %" || len(las.Segments) != 1 || las.Segments[0].Look != "p1" || las.Cut {
		t.Errorf("%+v", las)
	}
	if srtf.Segments[0].To != 250 || srtf.Segments[1].From != 250 || srtf.Cut { // three medians of 40 fill the room
		t.Errorf("%+v", srtf)
	}
	if end := fifo.Segments[len(fifo.Segments)-1]; end.To != 1000 || !fifo.Cut || len(fifo.Segments) != 1 {
		t.Errorf("%+v", fifo)
	}
	o := must.Get(objectives.Open("small-first"))(t)
	page := string(write(t, &Report{Sections: []Section{s}, Objectives: []*objectives.Objective{o}}))
	for _, want := range []string{
		`<h3>Costs by objective</h3>`, `aria-label="srtf: 40 mines, mine wait 75 %, stop 25 %"`, `10,000 ▸</span>`, `1<small>GPUs ↓`, `mine a<small>tenant`,
		"The bar is cut", `<summary>The objective small-first</summary>`, `1/min wait, until the job has run for 1m, beyond 10m`, `"label":"mine"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
