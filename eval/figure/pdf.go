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

// writePDF writes the figure as a PDF of one page. It holds paths and text only: several images would come in random order,
// and so would several fonts.
func writePDF(w io.Writer, f *Figure) (err error) {
	// The canvas keeps fonts in temporary files and panics where it cannot.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("draw: %v", r)
		}
	}()
	c := western{vgpdf.New(f.width, f.height)}
	f.drawOn(c, true)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err = w.Write(undated(b.Bytes()))
	return err
}

var date = regexp.MustCompile(`Date \(D:\d{14}\)`)

// undated sets the dates at the end of a PDF to a fixed one of the same length, for offsets into the file follow.
func undated(pdf []byte) []byte {
	info := max(0, bytes.LastIndex(pdf, []byte("/CreationDate")))
	return append(pdf[:info:info], date.ReplaceAll(pdf[info:], []byte("Date (D:20000101000000)"))...)
}

// western is a PDF canvas that takes UTF-8: the fonts of vgpdf are coded in Windows' page 1252.
type western struct{ *vgpdf.Canvas }

func (c western) FillString(f font.Face, at vg.Point, s string) {
	c.Canvas.FillString(f, at, encode(s))
}

// encode turns UTF-8 into code page 1252, with a dash for a minus and a question mark for what is not in it.
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
