package trace

import (
	"fmt"
	"slices"
)

// Count says what holds for some rows of a trace, as a verb phrase such as "ask for no GPU".
type Count struct {
	What string `json:"what"`
	Rows int    `json:"rows"`
}

// Counts are counts in the order in which they came up, each What once.
type Counts []Count

// of returns the rows of a count, 0 if there is none.
func (c Counts) of(what string) int {
	if i := slices.IndexFunc(c, func(k Count) bool { return k.What == what }); i >= 0 {
		return c[i].Rows
	}
	return 0
}

// add returns the counts with some more rows of one, which may be new.
func (c Counts) add(what string, rows int) Counts {
	i := slices.IndexFunc(c, func(k Count) bool { return k.What == what })
	if i < 0 {
		c, i = append(slices.Clip(c), Count{What: what}), len(c)
	}
	c[i].Rows += rows
	return c
}

// Lines says in sentences what was left out, and what was taken for granted, each with its number of rows.
func (r *Report) Lines() []string {
	var lines []string
	for _, c := range r.Left {
		lines = append(lines, fmt.Sprintf("%d of %d rows %s and are set aside", c.Rows, r.Rows, c.What))
	}
	if r.Bad > 0 {
		lines = append(lines, fmt.Sprintf("%d of %d rows cannot be read and are skipped, such as", r.Bad, r.Rows))
		for _, example := range r.BadExamples {
			lines = append(lines, "  "+example)
		}
	}
	for _, c := range r.Notes {
		if c.Rows == 0 {
			lines = append(lines, c.What)
		} else {
			lines = append(lines, fmt.Sprintf("%d of %d rows %s", c.Rows, r.Rows, c.What))
		}
	}
	return lines
}
