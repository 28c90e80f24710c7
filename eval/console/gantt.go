// Package console draws schedules as text, for a quick look in a terminal.
package console

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// Options describe the terminal. Every rune must be one column wide.
type Options struct {
	Width  int  // columns of every line, at least MinWidth
	Height int  // largest number of lines; at least minHeight, plus half of that for every further schedule
	Colour bool // whether to use the escape sequences of terminals with 256 colours
	ASCII  bool // for terminals without UTF-8
}

// The smallest size of a drawing.
const (
	MinWidth  = 40
	minHeight = 8
)

const (
	legendLines = 2
	axisLines   = 2
	ownLines    = 2 // lines of a schedule besides its rows: title and strip
	labelWidth  = 14
)

// Gantt draws schedules one above the other on a common time axis. A row is a GPU, a server or several servers, depending on
// Height; a column is an interval of time. The largest jobs have letters, which the last lines explain. A cell shows a job's
// letter if the job holds most of what is held there and at least half of the capacity; other cells are shaded by how full they
// are. The strip below each schedule shows the largest number of GPUs that waiting jobs ask for, on the same scale for all
// schedules. A job has the same letter and colour in all schedules.
//
// Every line has exactly Width runes. The drawing depends only on the logs and the options.
func Gantt(w io.Writer, o Options, logs ...*sim.Log) error {
	if least := minHeight + max(0, len(logs)-1)*minHeight/2; o.Width < MinWidth || o.Height < least {
		return fmt.Errorf("draw schedule: %d columns and %d lines, want %d and %d or more", o.Width, o.Height, MinWidth, least)
	}
	d := drawing{Options: o}
	gpus := 0
	for _, log := range logs {
		if n := len(log.Records); n > 0 {
			d.until = max(d.until, log.Records[n-1].At)
		}
		gpus = max(gpus, log.Config.Cluster.GPUs())
	}
	if d.until == 0 || gpus == 0 {
		return fmt.Errorf("draw schedule: the logs hold no time or no GPU")
	}
	d.arrange(logs)
	return d.canvas.writeTo(w, o.Colour)
}

type drawing struct {
	Options
	until  time.Duration
	left   int // column where the time axis begins
	canvas canvas
	glyphs glyphs
	letter map[string]rune // of a job, by its name
	most   float64         // largest number of GPUs waited for, the top of the strips
}

func (d *drawing) arrange(logs []*sim.Log) {
	d.glyphs = newGlyphs(d.ASCII)
	panels, label, lines := make([]*panel, len(logs)), len("waiting"), legendLines+axisLines
	for i, log := range logs {
		room := (d.Height-legendLines-axisLines)/len(logs) - ownLines
		panels[i] = newPanel(log, room)
		lines += ownLines + len(panels[i].rows)
		for _, r := range panels[i].rows {
			label = max(label, min(len([]rune(r.label)), labelWidth))
		}
	}
	d.left = label + 2
	d.canvas = newCanvas(d.Width, lines)
	columns := d.Width - d.left
	for i, log := range logs {
		panels[i].line = eval.NewTimeline(log, d.until, columns)
		d.most = max(d.most, slices.Max(panels[i].line.Waiting))
	}
	seen := map[string]bool{}
	for _, p := range panels {
		p.fill(d.until, columns)
		for i := range p.cells {
			if p.full(i) {
				seen[p.log.Jobs[p.cells[i].job].Name] = true
			}
		}
	}
	d.legend(logs, seen, lines-legendLines)
	y := 0
	for _, p := range panels {
		y = d.panel(p, y)
	}
	d.axis(y)
	d.canvas.trim()
}

// panel draws one schedule and returns the number of the line below it.
func (d *drawing) panel(p *panel, y int) int {
	m := eval.Measure(p.log)
	name := cmp.Or(p.log.Scheduler, "schedule")
	seconds := func(s float64) string { return short(time.Duration(s * float64(time.Second))) }
	title := fmt.Sprintf("%s: mean JCT %s, makespan %s, utilisation %.0f %%", name, seconds(m.MeanJCT), seconds(m.Makespan),
		100*m.Utilisation)
	if most := slices.Max(p.line.Waiting); most > 0 {
		title += fmt.Sprintf(", up to %.4g GPUs wait", most)
	}
	if m.Truncated != "" {
		title += ", cut off: " + m.Truncated
	}
	d.text(0, y, d.Width, title)
	y++
	for i := range p.rows {
		d.label(y, p.rows[i].label)
		for x := range p.columns {
			d.canvas.put(d.left+x, y, d.cell(p, i, x))
		}
		y++
	}
	d.label(y, "waiting")
	for x, n := range p.line.Waiting {
		d.canvas.put(d.left+x, y, glyph{r: d.glyphs.bar(n / max(d.most, 1e-9))})
	}
	return y + 1
}

// cell returns the glyph for how full a row is during a column, and which job holds most of it.
func (d *drawing) cell(p *panel, row, column int) glyph {
	i := row*p.columns + column
	c := &p.cells[i]
	if c.held <= 0 {
		return glyph{r: ' '}
	}
	name := p.log.Jobs[c.job].Name
	if letter, ok := d.letter[name]; ok && p.full(i) {
		return glyph{r: letter, fg: black, bg: d.colour(name)}
	}
	return glyph{r: d.glyphs.shade(c.held / p.capacity(i)), fg: d.colour(name)}
}

func (d *drawing) label(y int, s string) {
	name := []rune(s)
	if over := len(name) - (d.left - 2); over > 0 { // keep the end of the name, in which servers differ
		name = append([]rune{d.glyphs.cut}, name[over+1:]...)
	}
	d.text(d.left-2-len(name), y, d.left-2, string(name))
	d.canvas.put(d.left-1, y, glyph{r: d.glyphs.wall})
}

// text writes s from column x on and truncates it before column end.
func (d *drawing) text(x, y, end int, s string) {
	for _, r := range s {
		if x == end {
			d.canvas.put(end-1, y, glyph{r: d.glyphs.cut})
			return
		}
		d.canvas.put(x, y, glyph{r: d.glyphs.plain(r)})
		x++
	}
}
