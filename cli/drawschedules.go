package cli

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval/console"
	"github.com/clustergym/clustergym/eval/figure"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// drawOptions are the flags for drawing schedules.
type drawOptions struct {
	Gantt string `flag:"gantt" help:"draw the schedule to this file: SVG, PNG or PDF by the end of its name"`
	Show  bool   `flag:"show" help:"print the schedule as a text chart before the metrics"`
}

// validate returns an error for flags that contradict each other, before the work begins.
func (o *drawOptions) validate(a *app) error {
	if o.Show && a.JSON {
		return cmdline.Usage("--show and --json both print to standard output: want one of them")
	}
	if format := figureFormat(o.Gantt); o.Gantt != "" && !slices.Contains(figure.Formats(), format) {
		return cmdline.Usage("--gantt %s: want a name that ends in .%s", o.Gantt, strings.Join(figure.Formats(), ", ."))
	}
	return nil
}

// figureFormat returns the format of a figure from its file's extension. It returns svg for standard output.
func figureFormat(path string) string {
	if path == "-" {
		return "svg"
	}
	return strings.TrimPrefix(filepath.Ext(strings.TrimSuffix(path, ".gz")), ".")
}

// draw draws schedules below each other.
func (o *drawOptions) draw(a *app, logs ...*sim.Log) error {
	if o.Gantt != "" {
		if err := a.Write(o.Gantt, func(w io.Writer) error { return o.drawGantt(w, logs) }); err != nil {
			return err
		}
	}
	if !o.Show {
		return nil
	}
	if err := console.Gantt(a.Out, a.screen(len(logs)), logs...); err != nil {
		return err
	}
	a.Printf("\n")
	return nil
}

func (o *drawOptions) drawGantt(w io.Writer, logs []*sim.Log) error {
	f, err := figure.Gantt(logs...)
	if err != nil {
		return err
	}
	return f.Write(w, figureFormat(o.Gantt))
}

// The size of drawings in characters: the width if standard output is not a terminal, the lines of the first schedule, and the
// lines of each further schedule.
const (
	plainWidth = 100
	firstLines = 24
	moreLines  = 16
)

// screen returns the size and abilities of standard output.
func (a *app) screen(schedules int) console.Options {
	o := console.Options{Width: plainWidth, Height: firstLines + (schedules-1)*moreLines}
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"), "utf-8"))
	o.ASCII = !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
	width, colour := a.Terminal()
	if width > 0 {
		o.Width = max(width, console.MinWidth)
	}
	o.Colour = colour
	return o
}
