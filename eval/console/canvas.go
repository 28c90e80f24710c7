package console

import (
	"bufio"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// glyph is a rune and its colours, 0 for those of the terminal.
type glyph struct {
	r      rune
	fg, bg uint8
}

const black = 16

// colours are fills of jobs out of the 256, even in lightness so that none stands out.
const colours = "\x6e\xd0\x72\xcb\x50\xdc\x8b\xd9\xb3\x4b\x96\xa8"

// colour is a job's in all schedules of a drawing: those with letters differ as long as the colours last, the rest go by name.
func (d *drawing) colour(name string) uint8 {
	if letter, ok := d.letter[name]; ok {
		return colours[int(letter-'A')%len(colours)]
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return colours[h.Sum32()%uint32(len(colours))]
}

// canvas is lines of equal width.
type canvas struct {
	width  int
	glyphs []glyph
}

func newCanvas(width, lines int) canvas {
	c := canvas{width, make([]glyph, width*lines)}
	for i := range c.glyphs {
		c.glyphs[i].r = ' '
	}
	return c
}

func (c *canvas) put(x, y int, g glyph) { c.glyphs[y*c.width+x] = g }

// trim cuts the last line off if it is blank.
func (c *canvas) trim() {
	last := len(c.glyphs) - c.width
	if !slices.ContainsFunc(c.glyphs[last:], func(g glyph) bool { return g.r != ' ' }) {
		c.glyphs = c.glyphs[:last]
	}
}

func (c *canvas) writeTo(w io.Writer, colour bool) error {
	buf := bufio.NewWriter(w)
	now := glyph{}
	for i, g := range c.glyphs {
		if colour && (g.fg != now.fg || g.bg != now.bg) {
			buf.WriteString("\x1b[0")
			if g.fg != 0 {
				buf.WriteString(";38;5;" + strconv.Itoa(int(g.fg)))
			}
			if g.bg != 0 {
				buf.WriteString(";48;5;" + strconv.Itoa(int(g.bg)))
			}
			buf.WriteByte('m')
			now = g
		}
		_, _ = buf.WriteRune(g.r) // Flush has the error
		if (i+1)%c.width == 0 {
			if now.fg != 0 || now.bg != 0 {
				buf.WriteString("\x1b[0m")
				now = glyph{}
			}
			buf.WriteByte('\n')
		}
	}
	return buf.Flush()
}

// glyphs are the runes that drawings are made of.
type glyphs struct {
	ascii                         bool
	shades, bars                  []rune // from little to full
	wall, corner, rule, tick, cut rune
}

func newGlyphs(ascii bool) glyphs {
	if ascii {
		return glyphs{true, []rune(".:+#"), []rune("123456789"), '|', '+', '-', '+', '~'}
	}
	return glyphs{false, []rune("░▒▓█"), []rune("▁▂▃▄▅▆▇█"), '│', '└', '─', '┴', '…'}
}

func (g *glyphs) shade(part float64) rune { return level(g.shades, part) }

func (g *glyphs) bar(part float64) rune { return level(g.bars, part) }

// level picks a rune for a part of 1: the first for any that is above 0, the last for all of it, and a blank for none.
func level(runes []rune, part float64) rune {
	if part <= 0 {
		return ' '
	}
	i := int(math.Ceil(part*float64(len(runes))-1e-9)) - 1
	return runes[min(max(i, 0), len(runes)-1)]
}

// Plain replaces every rune that a terminal might obey instead of show by a question mark, and if ascii is set every one beyond
// ASCII.
func Plain(s string, ascii bool) string {
	g := glyphs{ascii: ascii}
	return strings.Map(g.plain, s)
}

// plain replaces what a terminal might obey instead of show, and what it cannot show.
func (g *glyphs) plain(r rune) rune {
	if !unicode.IsPrint(r) || g.ascii && r > unicode.MaxASCII {
		return '?'
	}
	return r
}
