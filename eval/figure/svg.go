package figure

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"

	"gonum.org/v1/plot/vg/vgsvg"
)

// fonts lists the fonts of the SVG. The first ones have the widths of Liberation Sans, with which the text was laid out.
const fonts = `"Liberation Sans",Arimo,Arial,Helvetica,sans-serif`

// writeSVG writes the canvas, with a title for screen readers and with fallback fonts.
func writeSVG(w io.Writer, c *vgsvg.Canvas, title string) error {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	title = html.EscapeString(title)
	head, body, ok := strings.Cut(b.String(), ">\n<g ")
	if !ok {
		return fmt.Errorf("find the first group of the document")
	}
	head = strings.Replace(head, "<svg ", fmt.Sprintf("<svg role=\"img\" aria-label=\"%s\" font-family='%s' ", title, fonts), 1)
	// Every text element names Liberation Sans, without a fallback.
	body = strings.ReplaceAll(body, "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", "")
	_, err := fmt.Fprintf(w, "%s>\n<title>%s</title>\n<g %s", head, title, body)
	return err
}
