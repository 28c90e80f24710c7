package figure

import (
	"fmt"

	"gonum.org/v1/plot/vg/draw"
)

// MostNamed is the largest number of lines that Search can tell apart.
const MostNamed = 8

// Search draws the learning curves of a search over settings: X is the number of updates, Y the validation, which is what the
// word names, such as the mean JCT, relative to the prior's. A line at 1 stands for the prior. The named lines, at most
// MostNamed, have a colour and an entry in the legend; the faint ones are drawn behind them and share the entry faintName.
func Search(what string, named, faint []Line, faintName string) (*Figure, error) {
	if len(named) == 0 || len(named) > MostNamed {
		return nil, fmt.Errorf("draw search: %d lines, want 1 to %d", len(named), MostNamed)
	}
	box, err := around(named, faint)
	if err != nil {
		return nil, fmt.Errorf("draw search: %w", err)
	}
	behind := draw.LineStyle{Color: pale, Width: .6}
	var entries []entry
	for i := range named {
		entries = append(entries, lineEntry(named[i].Name, stroke(i)))
	}
	if len(faint) > 0 {
		entries = append(entries, lineEntry(faintName, behind))
	}
	return withLegend("Search: validation relative to the prior over updates", column, entries, func() []panel {
		p := box.relative(what)
		for i := range faint {
			p.Add(path{faint[i].X, faint[i].Y, behind})
		}
		for i := range named {
			k := len(named) - 1 - i // the first line is drawn last, above the others
			p.Add(path{named[k].X, named[k].Y, stroke(k)})
		}
		return []panel{{plot: p, height: 124}}
	}), nil
}
