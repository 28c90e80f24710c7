// Package recording draws commands and what they print as an animated SVG, such as that of the README's tour. It runs nothing:
// the text comes from a page whose test compares it with what the commands print.
package recording

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// The look of the drawing, in pixels, and its pace in seconds.
const (
	columns    = 100
	charWidth  = 7.8
	lineHeight = 18
	border     = 14
	perCommand = 1.6 // from when a command appears to its output
	perLine    = 0.25
	rest       = 6 // at the end, before the recording begins again
)

// Block returns the lines of the first block of console output on a page.
func Block(page string) ([]string, error) {
	_, after, found := strings.Cut(page, "\n```console\n")
	text, _, closed := strings.Cut(after, "\n```\n")
	if !found || !closed {
		return nil, fmt.Errorf("record: no block of console output on the page")
	}
	return strings.Split(text, "\n"), nil
}

// line is a line of the drawing and when it appears.
type line struct {
	text    string
	command bool
	at      float64
}

// SVG draws lines, of which those that begin with "$ " are commands. A line wider than the drawing is folded. With reduced motion
// all lines stand from the beginning. Equal lines give equal bytes.
func SVG(lines []string) string {
	var all []line
	at := 0.5
	for _, text := range lines {
		command := strings.HasPrefix(text, "$ ")
		for _, part := range folded(text) {
			all = append(all, line{part, command, at})
		}
		if at += perLine; command {
			at += perCommand
		}
	}
	whole := at + rest
	width, height := int(2*border+columns*charWidth), 2*border+lineHeight*len(all)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`+"\n",
		width, height)
	b.WriteString("<title>A recording of the tour in a terminal</title>\n<style>\n")
	b.WriteString("text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;\n" +
		"  fill: #d7dce2; white-space: pre }\n")
	b.WriteString(".c { fill: #8fd1a6; font-weight: bold }\n")
	fmt.Fprintf(&b, "@media (prefers-reduced-motion: no-preference) { text { animation: %gs step-end infinite } }\n", whole)
	for i, l := range all {
		fmt.Fprintf(&b, "@keyframes l%d { 0%% { opacity: 0 } %.2f%% { opacity: 1 } }\n", i, 100*l.at/whole)
	}
	fmt.Fprintf(&b, "</style>\n<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#1d2229\"/>\n", width, height)
	for i, l := range all {
		class := ""
		if l.command {
			class = ` class="c"`
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d"%s style="animation-name: l%d">`, border, border+13+lineHeight*i, class, i)
		_ = xml.EscapeText(&b, []byte(l.text)) // a builder takes every text
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// folded wraps a line at the width of the drawing. The lines after the first begin with two blanks.
func folded(text string) []string {
	var parts []string
	rest := []rune(text)
	for indent := 0; len(rest) > columns-indent; indent = 2 {
		cut := columns - indent
		for k := cut; k > cut/2; k-- {
			if rest[k] == ' ' {
				cut = k
				break
			}
		}
		parts = append(parts, strings.Repeat(" ", indent)+string(rest[:cut]))
		rest = []rune(strings.TrimLeft(string(rest[cut:]), " "))
	}
	if len(parts) == 0 {
		return []string{text}
	}
	return append(parts, "  "+string(rest))
}
