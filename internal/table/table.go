// Package table lays out rows of cells: aligned text, and Markdown.
package table

import (
	"strings"
	"unicode/utf8"
)

// Text writes rows two blanks apart, the first columns to the left and the others, which hold numbers, to the right. Rows have
// equally many cells.
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

// Markdown writes rows as a table whose head is the first.
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

// Thousands puts a comma between thousands of a whole number.
func Thousands(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
