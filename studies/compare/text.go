package compare

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/internal/table"
	"github.com/clustergym/clustergym/train"
)

// WriteText writes the comparison as aligned text: a table of the runs, one of their last updates, one of the runs that differ
// only in their seeds, and notes.
func (c *Comparison) WriteText(w io.Writer) error {
	return c.write(w, func(b *strings.Builder, left int, rows [][]string) { table.Text(b, left, rows) })
}

// WriteMarkdown writes the comparison as Markdown.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	return c.write(w, func(b *strings.Builder, _ int, rows [][]string) { table.Markdown(b, rows) })
}

func (c *Comparison) write(w io.Writer, write func(b *strings.Builder, left int, rows [][]string)) error {
	var b strings.Builder
	write(&b, 1+len(c.Settings), c.runRows())
	if rows := c.lastRows(); len(rows) > 1 {
		b.WriteString("\nThe last update:\n\n")
		write(&b, 1, rows)
	}
	if len(c.Groups) > 0 {
		b.WriteString("\nRuns that differ only in train.seed:\n\n")
		write(&b, 2, c.groupRows())
	}
	for _, note := range c.notes() {
		b.WriteString("\n" + note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// none is the cell of a figure that a run does not have.
const none = "-"

// runRows returns the table of runs. A star marks a figure that cannot be compared with that of the first run.
func (c *Comparison) runRows() [][]string {
	rows := [][]string{slices.Concat([]string{"run"}, c.Settings, []string{"done", "validation", "at margin", "after", "seconds"})}
	for i := range c.Runs {
		r := &c.Runs[i]
		row := []string{r.Name}
		for _, key := range c.Settings {
			row = append(row, strings.ReplaceAll(r.Settings[key], "\n", " "))
		}
		row = append(row, fmt.Sprintf("%d of %d", r.Updates, r.Of))
		if b := r.Best; b != nil {
			star := ""
			if len(r.Other) > 0 {
				star = " *"
			}
			row = append(row, figure(b.JCT)+star, strconv.FormatFloat(b.Margin, 'g', -1, 64), strconv.Itoa(b.Update))
		} else {
			row = append(row, none, none, none)
		}
		seconds := none
		if r.Seconds != nil {
			seconds = table.Thousands(strconv.FormatFloat(*r.Seconds, 'f', 0, 64))
		}
		rows = append(rows, append(row, seconds))
	}
	return rows
}

// lastRows returns the table of the metrics of the last update that all runs with an update have.
func (c *Comparison) lastRows() [][]string {
	rows := [][]string{{"run"}}
	var values []map[string]float64
	for i := range c.Runs {
		if c.Runs[i].Last != nil {
			rows = append(rows, []string{c.Runs[i].Name})
			values = append(values, c.Runs[i].Last.Numbers())
		}
	}
	if values == nil {
		return rows
	}
	for _, t := range train.Glossary() {
		for _, key := range t.Keys(values[0]) {
			lacks := func(v map[string]float64) bool { _, ok := v[key]; return !ok }
			if key == "update" || slices.ContainsFunc(values, lacks) {
				continue
			}
			rows[0] = append(rows[0], key)
			for i, v := range values {
				rows[i+1] = append(rows[i+1], strconv.FormatFloat(v[key], 'g', 4, 64))
			}
		}
	}
	return rows
}

func (c *Comparison) groupRows() [][]string {
	rows := [][]string{{"runs", "seeds", "mean", "min", "max", "95 % interval"}}
	for i := range c.Groups {
		g := &c.Groups[i]
		interval := none
		if g.Interval != nil {
			interval = "[" + figure(g.Interval[0]) + ", " + figure(g.Interval[1]) + "]"
		}
		rows = append(rows, []string{
			strings.Join(g.Runs, ", "), strings.Join(g.Seeds, ", "), figure(g.Mean), figure(g.Min), figure(g.Max), interval,
		})
	}
	return rows
}

func figure(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }

// notes returns what limits the comparison, and the command for a better one.
func (c *Comparison) notes() []string {
	var notes, unfinished []string
	for i := range c.Runs {
		r := &c.Runs[i]
		if !r.Finished {
			unfinished = append(unfinished, r.Name)
		}
		if len(r.Other) > 0 {
			notes = append(notes, fmt.Sprintf("* %s cannot be compared with %s, for it has another %s.", r.Name, c.Runs[0].Name,
				strings.Join(r.Other, ", another ")))
		}
	}
	if len(unfinished) > 0 {
		notes = append(notes, "Not finished: "+strings.Join(unfinished, ", ")+".")
	}
	if c.Eval == "" {
		return notes
	}
	return append(notes, "The column validation is the "+c.what+" relative to the prior's, mean over the validation windows,\n"+
		"of the policy that the run keeps: that after the given update, where 0 stands for the prior or the policy that\n"+
		"the run began with. Each run chose by this figure, so it flatters. This command compares them on test windows:\n\n    "+
		c.Eval)
}
