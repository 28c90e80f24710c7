package experiment

import (
	"fmt"
	"slices"
	"strings"
)

// put returns the text of a page with a block between the markers of a name.
func put(page, text, name, block string) (string, error) {
	begin, end := "\n<!-- "+name+" -->\n", "\n<!-- end of "+name+" -->\n"
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut("\n"+rest, end)
	if !found || !ended {
		return "", fmt.Errorf("%s: no lines <!-- %s --> and <!-- end of %s -->", page, name, name)
	}
	return before + begin + strings.TrimSuffix(block, "\n") + end + after, nil
}

// differ returns an error with the first line in which a file differs from what it should be.
func differ(path, now, want string) error {
	if now == want {
		return nil
	}
	has, wants := strings.Split(now, "\n"), strings.Split(want, "\n")
	i := 0
	for i < min(len(has), len(wants)) && has[i] == wants[i] {
		i++
	}
	line := func(lines []string) string {
		if i < len(lines) {
			return lines[i]
		}
		return "(nothing)"
	}
	return fmt.Errorf("%s:%d: out of date\n  there:   %s\n  printed: %s", path, i+1, line(has), line(wants))
}

// part returns one of the tables that a command prints with empty lines between them, from 1; 0 for everything.
func part(out string, number int) (string, error) {
	if number == 0 {
		return out, nil
	}
	parts := strings.Split(strings.TrimRight(out, "\n"), "\n\n")
	if number > len(parts) {
		return "", fmt.Errorf("part %d of what the command prints: it has %d", number, len(parts))
	}
	return parts[number-1] + "\n", nil
}

// pick returns rows and columns of a Markdown table, in the table's order, and an empty line.
func (p *Pick) pick(table string) (string, error) {
	rows := strings.Split(strings.TrimSpace(table), "\n")
	var columns []int
	left, found := slices.Clone(p.Columns), 0
	for i, cell := range cells(rows[0]) {
		name, _, _ := strings.Cut(strings.TrimSpace(cell), ",")
		if at := slices.Index(left, name); at >= 0 {
			left = slices.Delete(left, at, at+1)
		} else if i > 0 {
			continue
		}
		columns = append(columns, i)
	}
	var b strings.Builder
	for i, row := range rows {
		cells := cells(row)
		if i > 1 {
			if !slices.Contains(p.Rows, strings.TrimSpace(cells[0])) {
				continue
			}
			found++
		}
		for _, c := range columns {
			b.WriteString("|" + cells[c])
		}
		b.WriteString("|\n")
	}
	if len(left) > 0 || found != len(p.Rows) {
		return "", fmt.Errorf("for %s: the table has no columns %q, and %d of the rows %q", p.Page, left, found, p.Rows)
	}
	return b.String() + "\n", nil
}

// cells returns the cells of a row of a Markdown table, with the spaces around them.
func cells(row string) []string { return strings.Split(strings.Trim(row, "|"), "|") }
