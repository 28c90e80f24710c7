package floors

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
)

// table writes the packages by floor as a Markdown table, the highest floor first.
func (r rules) table(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| floor | package | what it is |\n|---|---|---|\n")
	above := 0
	for _, room := range slices.Backward(r.Rooms) {
		if room.Floor != above {
			above = room.Floor
			fmt.Fprintf(&b, "| **%d** | | **%s** |\n", above, r.Floors[above-1])
		}
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", room.Floor, room.Package, room.Is)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Sizes in the drawing, in pixels.
const (
	height = 22  // of a box
	story  = 80  // from row to row
	gap    = 12  // between boxes
	letter = 6.7 // width of a letter
)

// box is the position of a package in the drawing. x = 0 is the middle of the house.
type box struct{ x, y, width float64 }

func (b box) middle() float64 { return b.x + b.width/2 }

// draw writes the house as SVG: a box for each package on its floor, and a line to each package that it imports. A floor has as
// many rows as its packages need to stand above those of the floor that they import. It omits lines to packages that a package
// also reaches through others. It omits packages under internal and those for tests, because most packages import some of them.
func (r rules) draw(w io.Writer, packages []listed) error {
	imports, boxes := r.lines(packages), map[string]box{}
	var rows [][]entry
	first, row := []int{}, map[string]int{} // the lowest row of each floor; the row of each package
	for _, room := range r.Rooms {
		if _, shown := imports[room.Package]; !shown {
			continue
		}
		for len(first) < room.Floor {
			first = append(first, len(rows))
		}
		at := first[room.Floor-1]
		for _, to := range imports[room.Package] {
			at = max(at, row[to]+1)
		}
		for len(rows) <= at {
			rows = append(rows, nil)
		}
		row[room.Package], rows[at] = at, append(rows[at], room)
	}
	width := 0.0
	for i, row := range rows {
		width = max(width, place(boxes, row, imports, float64((len(rows)-1-i)*story+gap)))
	}
	var out strings.Builder
	out.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" `)
	fmt.Fprintf(&out, `viewBox="%.0f 0 %.0f %d" `, -width/2-gap, width+2*gap, len(rows)*story)
	out.WriteString(`font-family="monospace" font-size="11"><style>path{fill:none;stroke:#9aa5b1;stroke-width:.8}` +
		"line{stroke:#52606d}rect{fill:#eef3f8;stroke:#52606d}text{fill:#1f2933}</style>\n")
	for floor, from := range first {
		y := float64((len(rows) - from) * story)
		if floor+1 == len(first) || first[floor+1] > from {
			fmt.Fprintf(&out, `<line x1="%.0f" x2="%.0f" y1="%.0f" y2="%.0f"/><text x="%.0f" y="%.0f">%d: %s</text>`+"\n",
				-width/2-gap, width/2+gap, y, y, -width/2, y-6, floor+1, html.EscapeString(r.Floors[floor]))
		}
	}
	for _, row := range rows {
		for _, room := range row {
			for _, to := range imports[room.Package] {
				a, b := boxes[room.Package], boxes[to]
				fmt.Fprintf(&out, `<path d="M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f"/>`+"\n",
					a.middle(), a.y+height, a.middle(), a.y+height+40, b.middle(), b.y-40, b.middle(), b.y)
			}
		}
	}
	for _, row := range rows {
		for _, room := range row {
			b := boxes[room.Package]
			fmt.Fprintf(&out, `<g><title>%s</title><rect x="%.0f" y="%.0f" width="%.0f" height="%d" rx="4"/>`,
				html.EscapeString(room.Is), b.x, b.y, b.width, height)
			fmt.Fprintf(&out, `<text x="%.0f" y="%.0f">%s</text></g>`+"\n", b.x+6, b.y+15, html.EscapeString(room.Package))
		}
	}
	out.WriteString("</svg>\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// place sets the positions of a row of packages at height y, sorted by the positions of the packages that they import, and
// returns the width of the row.
func place(boxes map[string]box, row []entry, imports map[string][]string, y float64) float64 {
	over := func(room entry) float64 {
		sum, targets := 0.0, imports[room.Package]
		for _, to := range targets {
			sum += boxes[to].middle()
		}
		return sum / float64(max(len(targets), 1))
	}
	slices.SortStableFunc(row, func(a, b entry) int { return cmp.Compare(over(a), over(b)) })
	x, width := 0.0, -float64(gap)
	for _, room := range row {
		width += float64(len(room.Package))*letter + 12 + gap
	}
	x = -width / 2
	for _, room := range row {
		b := box{x, y, float64(len(room.Package))*letter + 12}
		boxes[room.Package] = b
		x += b.width + gap
	}
	return width
}

// lines returns for each package the packages to which the drawing draws a line. Packages that the drawing omits are not in the
// map.
func (r rules) lines(packages []listed) map[string][]string {
	deps, direct := map[string][]string{}, map[string][]string{}
	for _, p := range packages {
		name, own := r.own(p.ImportPath)
		i := slices.IndexFunc(r.Rooms, func(v entry) bool { return v.Package == name })
		if !own || i < 0 || within(name, "internal") || strings.HasPrefix(r.Rooms[i].Is, "tests:") {
			continue
		}
		direct[name] = []string{}
		for _, path := range p.Imports {
			if to, own := r.own(path); own && !within(to, "internal") {
				direct[name] = append(direct[name], to)
			}
		}
		for _, path := range p.Deps {
			if to, own := r.own(path); own {
				deps[name] = append(deps[name], to)
			}
		}
	}
	for name, targets := range direct {
		direct[name] = slices.DeleteFunc(slices.Clone(targets), func(to string) bool {
			return slices.ContainsFunc(targets, func(other string) bool { return slices.Contains(deps[other], to) })
		})
	}
	return direct
}
