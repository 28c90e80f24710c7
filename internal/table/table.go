// Package table formats rows of cells as aligned text or as Markdown.
package table

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// between is what Text puts between two columns.
const between = "  "

// Text writes rows as columns with two blanks between them. It aligns the first columns, as many as the parameter left says, to
// the left, and the others, which contain numbers, to the right. All rows must have the same number of cells. Cells may contain
// escape sequences that set colours.
func Text(b *strings.Builder, left int, rows [][]string) {
	width := widths(rows)
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-visible(cell))
			if i > 0 {
				line.WriteString(between)
			}
			if i < left {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// Parts cuts a table by columns into tables that Text writes at most width characters wide, each with the first columns, as many
// as the parameter left says. A column that is too wide by itself is a part of its own. A width of 0 cuts nothing.
func Parts(left, width int, rows [][]string) [][][]string {
	wide, from := widths(rows), left
	head := 0
	for _, n := range wide[:left] {
		head += n + len(between)
	}
	var parts [][][]string
	for from < len(wide) {
		to, used := from+1, head+wide[from]
		for to < len(wide) && (width == 0 || used+len(between)+wide[to] <= width) {
			used += len(between) + wide[to]
			to++
		}
		part := make([][]string, len(rows))
		for i, row := range rows {
			part[i] = append(append([]string{}, row[:left]...), row[from:to]...)
		}
		parts, from = append(parts, part), to
	}
	return parts
}

// leastFold is the least room in which Fold folds: in less, lines of one or two words are harder to read than long ones.
const leastFold = 24

// Fold folds the text of the last column so that the rows fit a width, with two blanks between columns. Lines after the first of
// a text are rows of their own, empty in the other columns. Rows of different lengths, a width of 0, and a last column with too
// little room are left as they are.
func Fold(rows [][]string, width int) [][]string {
	if slices.ContainsFunc(rows, func(row []string) bool { return len(row) != len(rows[0]) || len(row) == 0 }) || len(rows) == 0 {
		return rows
	}
	room := width
	wide := widths(rows)
	last := len(wide) - 1
	for _, n := range wide[:last] {
		room -= n + len(between)
	}
	if width == 0 || room < leastFold {
		return rows
	}
	var folded [][]string
	for _, row := range rows {
		cells := row[:last:last]
		for _, line := range Wrap(row[last], room) {
			folded = append(folded, append(cells, line))
			cells = make([]string, last)
		}
	}
	return folded
}

// Wrap returns the words of a text in lines of at most width characters, where words are not longer: at least one line, which is
// empty for a text without words.
func Wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && visible(line)+1+visible(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// widths returns the width of each column.
func widths(rows [][]string) []int {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], visible(cell))
		}
	}
	return width
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// visible returns how many characters of a cell a terminal shows.
func visible(cell string) int { return utf8.RuneCountInString(colour.ReplaceAllString(cell, "")) }

// Markdown writes rows as a table. The first row is the header.
func Markdown(b *strings.Builder, rows [][]string) {
	line := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			b.WriteString(" " + strings.ReplaceAll(c, "|", "\\|") + " |")
		}
		b.WriteString("\n")
	}
	line(rows[0])
	b.WriteString("|" + strings.Repeat("---|", len(rows[0])) + "\n")
	for _, row := range rows[1:] {
		line(row)
	}
}

// Thousands inserts commas between the thousands of an integer.
func Thousands(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
