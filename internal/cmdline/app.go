// Package cmdline contains what the command lines of this project's programs share: input and output, exit codes, command groups,
// flag completion, and the pages of the command reference.
package cmdline

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/table"
)

// App contains what the commands of a program share: input and output, and the global flags. New returns a complete App; a zero
// App can only write files.
type App struct {
	In   io.Reader
	Out  io.Writer // results
	Talk io.Writer // everything else

	JSON  bool // print results, and errors, as JSON
	Quiet bool // print no talk and no progress

	out *output // the same writer as Out
}

// New returns an App that prints results to out and other text to talk. Run returns the first error of writing to out.
func New(in io.Reader, out, talk io.Writer) App {
	o := &output{w: out}
	return App{In: in, Out: o, Talk: talk, out: o}
}

// Stdout returns the writer for results that New got. Callers use it to find out whether it is a terminal; they print to Out.
func (a *App) Stdout() io.Writer { return a.out.w }

// output stores the first error of its writer, so that Run can return it.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(b)
	if err != nil {
		o.err = fmt.Errorf("write result: %w", err)
	}
	return n, o.err
}

// Say prints a message that is not part of the result. It prints nothing with --quiet.
func (a *App) Say(format string, args ...any) {
	if !a.Quiet {
		_, _ = fmt.Fprintln(a.Talk, names.Escape(fmt.Sprintf(format, args...)))
	}
}

// Warn prints a warning: an error that does not end the command. It prints it with --quiet too.
func (a *App) Warn(err error) {
	if a.JSON {
		_ = json.NewEncoder(a.Talk).Encode(map[string]string{"warning": err.Error()}) // an error here does not matter, as in Say
		return
	}
	_, _ = fmt.Fprintf(a.Talk, "warning: %s\n", names.Escape(err.Error()))
}

// Printf prints a part of the result.
func (a *App) Printf(format string, args ...any) {
	_, _ = io.WriteString(a.Out, names.Escape(fmt.Sprintf(format, args...))) // out stores an error
}

// PrintJSON prints a result as JSON.
func (a *App) PrintJSON(v any) error {
	e := json.NewEncoder(a.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// PrintRows prints aligned columns. On a terminal, the text of the last column is folded to its width.
func (a *App) PrintRows(rows [][]string) error {
	width, _ := a.Terminal()
	return writeRows(a.Out, table.Fold(rows, width))
}

// PrintOr prints a result as JSON with --json, otherwise as text does.
func (a *App) PrintOr(v any, text func() error) error {
	if a.JSON {
		return a.PrintJSON(v)
	}
	return text()
}

// Print prints a result: as JSON with --json, otherwise as tables of aligned columns.
func (a *App) Print(v any, tables ...[][]string) error {
	return a.PrintOr(v, func() error {
		for i, rows := range tables {
			if i > 0 {
				a.Printf("\n")
			}
			if err := a.PrintRows(rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// Terminal returns the width of standard output if it is a terminal, otherwise 0, and whether it shows colours.
func (a *App) Terminal() (width int, colour bool) {
	if a.out == nil {
		return 0, false
	}
	f, ok := a.out.w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 0
	}
	return width, os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// SayRows prints a message in aligned columns. It prints nothing with --quiet.
func (a *App) SayRows(rows [][]string) {
	if !a.Quiet {
		_ = writeRows(a.Talk, rows) // an error here does not matter, as in Say
	}
}

func writeRows(to io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, names.Escape(strings.Join(row, "\t"))) // Flush returns an error
	}
	return w.Flush()
}

// Write writes a file atomically, and creates its folder if needed. It compresses the file if its name ends in .gz. The path "-"
// is standard output.
func (a *App) Write(path string, fill func(io.Writer) error) error {
	if path == "-" {
		buf := bufio.NewWriter(a.Out)
		if err := fill(buf); err != nil {
			return err
		}
		return buf.Flush()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return atomicfile.Write(path, 0o666, func(w io.Writer) error {
		buf := bufio.NewWriterSize(w, 1<<16)
		if !strings.HasSuffix(path, ".gz") {
			if err := fill(buf); err != nil {
				return err
			}
			return buf.Flush()
		}
		z := gzip.NewWriter(buf)
		if err := fill(z); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		return buf.Flush()
	})
}
