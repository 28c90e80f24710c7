package sweep

import (
	"fmt"

	"github.com/clustergym/clustergym/internal/phrase"
)

// Plan is what a sweep will do.
type Plan struct {
	Request Request
	Keys    []string // settings that vary
	Points  []Point
	// Rungs contains the numbers of updates at which points are compared, ascending; the last is the end. Survivors contains the
	// number of points that train up to each rung. If train.updates varies, Rungs contains the largest number of updates.
	Rungs, Survivors []int
}

// NewPlan returns the plan of a request. It returns an error for a request that cannot be carried out. The error names the
// setting, its value and what was expected.
func NewPlan(r Request) (*Plan, error) {
	if r.Seeds < 1 || r.Seeds > maxSeeds {
		return nil, fmt.Errorf("seeds: %d, want 1 to %d", r.Seeds, maxSeeds)
	}
	if r.Random < 0 {
		return nil, fmt.Errorf("random: %d, want 0 for the whole grid, or the number of points to draw", r.Random)
	}
	if r.Halving != 0 && r.Halving < 2 {
		return nil, fmt.Errorf("halving: %d, want 0 for none, or 2 or more", r.Halving)
	}
	axes, err := r.axes()
	if err != nil {
		return nil, err
	}
	p := &Plan{Request: r}
	for _, a := range axes {
		p.Keys = append(p.Keys, a.key)
	}
	if p.Points, err = r.points(axes); err != nil {
		return nil, err
	}
	updates := 0
	for i := range p.Points {
		updates = max(updates, p.Points[i].Config.Updates)
	}
	p.Rungs = rungs(updates, r.Train.Every, r.Halving, len(p.Points))
	p.Survivors = survivors(len(p.Points), len(p.Rungs), r.Halving)
	if r.Halving > 0 && len(p.Rungs) == 1 {
		return nil, fmt.Errorf("halving: no rung before update %d for %s, want %d points or more, and train.every (%d) below"+
			" train.updates", updates, phrase.Count(len(p.Points), "point"), r.Halving, r.Train.Every)
	}
	return p, nil
}

// updates returns how far runs of a point train up to a rung.
func (p *Plan) updates(point, rung int) int {
	return min(p.Rungs[rung], p.Points[point].Config.Updates)
}
