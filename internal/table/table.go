// Package table formats rows of cells as aligned text or as Markdown.
package table

import (
	"strings"
	"unicode/utf8"
)

// Text writes rows as columns with two blanks between them. It aligns the first columns, as many as the parameter left says, to
// the left, and the others, which contain numbers, to the right. All rows must have the same number of cells.
func Text(b *strings.Builder, left int, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
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
