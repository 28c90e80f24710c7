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

// glyph is a rune with its colours; 0 is the terminal's default colour.
type glyph struct {
	r      rune
	fg, bg uint8
}

const black = 16

// colours are the fill colours for jobs, from the terminal's palette of 256, of about equal lightness so that none stands out.
const colours = "\x6e\xd0\x72\xcb\x50\xdc\x8b\xd9\xb3\x4b\x96\xa8"

// colour returns a job's colour, which is the same in all schedules of a drawing. Jobs with letters have distinct colours while
// there are enough; the colour of any other job depends on its name.
func (d *drawing) colour(name string) uint8 {
	if letter, ok := d.letter[name]; ok {
		return colours[int(letter-'A')%len(colours)]
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return colours[h.Sum32()%uint32(len(colours))]
}

// canvas is a grid of glyphs, line by line.
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

// trim removes the last line if it is blank.
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
		_, _ = buf.WriteRune(g.r) // Flush returns the error
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
	shades, bars                  []rune // from nearly empty to full
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

// level returns the rune for a fraction: a blank for 0, the first rune for any fraction above 0, and the last for 1.
func level(runes []rune, part float64) rune {
	if part <= 0 {
		return ' '
	}
	i := int(math.Ceil(part*float64(len(runes))-1e-9)) - 1
	return runes[min(max(i, 0), len(runes)-1)]
}

// Plain replaces control characters and other runes that a terminal does not print by question marks. If ascii is true, it also
// replaces runes outside ASCII.
func Plain(s string, ascii bool) string {
	g := glyphs{ascii: ascii}
	return strings.Map(g.plain, s)
}

// plain returns r, or a question mark if the terminal cannot show r or might interpret it as a command.
func (g *glyphs) plain(r rune) rune {
	if !unicode.IsPrint(r) || g.ascii && r > unicode.MaxASCII {
		return '?'
	}
	return r
}
