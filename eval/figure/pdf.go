package figure

import (
	"bytes"
	"fmt"
	"io"
	"regexp"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// writePDF writes the figure as a PDF of one page. The PDF contains only paths and text in one font: the library would write
// several images or fonts in random order.
func writePDF(w io.Writer, f *Figure) (err error) {
	// The canvas stores fonts in temporary files and panics if it cannot.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("draw: %v", r)
		}
	}()
	c := western{vgpdf.New(f.width, f.height)}
	f.drawOn(c)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err = w.Write(undated(b.Bytes()))
	return err
}

var date = regexp.MustCompile(`Date \(D:\d{14}\)`)

// undated replaces the dates at the end of a PDF by a fixed date of the same length, so that the offsets that follow remain
// valid.
func undated(pdf []byte) []byte {
	info := max(0, bytes.LastIndex(pdf, []byte("/CreationDate")))
	return append(pdf[:info:info], date.ReplaceAll(pdf[info:], []byte("Date (D:20000101000000)"))...)
}

// western is a PDF canvas that accepts UTF-8. The fonts of vgpdf use Windows code page 1252.
type western struct{ *vgpdf.Canvas }

func (c western) FillString(f font.Face, at vg.Point, s string) {
	c.Canvas.FillString(f, at, encode(s))
}

// encode converts UTF-8 to code page 1252. A minus becomes a dash, and a character outside the code page becomes a question mark.
func encode(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case r < 0x80 || 0xa0 <= r && r <= 0xff:
			b = append(b, byte(r))
		case r == '−' || r == '–':
			b = append(b, 0x96)
		case r == '—':
			b = append(b, 0x97)
		case r == '…':
			b = append(b, 0x85)
		case r == '’':
			b = append(b, 0x92)
		default:
			b = append(b, '?')
		}
	}
	return string(b)
}
