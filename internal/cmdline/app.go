// Package cmdline is what the command lines of this project's programs share: where commands read and write, exit codes, groups,
// flags that complete, and the pages of the command reference.
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

	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/names"
)

// App is what the commands of a program share: where they read and write, and the global flags. New makes one; a zero App can
// write files and no more.
type App struct {
	In   io.Reader
	Out  io.Writer // results
	Talk io.Writer // everything else

	JSON  bool // print results, and errors, as JSON
	Quiet bool // print no talk and no progress

	out *output // the same as Out
}

// New returns an App that prints results to out. Run returns the first error of writing them.
func New(in io.Reader, out, talk io.Writer) App {
	o := &output{w: out}
	return App{In: in, Out: o, Talk: talk, out: o}
}

// Stdout returns the writer that New got for results. A caller asks it whether it is a terminal, and prints to Out.
func (a *App) Stdout() io.Writer { return a.out.w }

// output remembers the first error of a writer, for the end of the command.
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

// Say tells the user something that is not the result.
func (a *App) Say(format string, args ...any) {
	if !a.Quiet {
		_, _ = fmt.Fprintln(a.Talk, names.Escape(fmt.Sprintf(format, args...)))
	}
}

// Warn tells the user, also a quiet one, of something that is wrong and does not end the command.
func (a *App) Warn(err error) {
	if a.JSON {
		_ = json.NewEncoder(a.Talk).Encode(map[string]string{"warning": err.Error()}) // as with Say
		return
	}
	_, _ = fmt.Fprintf(a.Talk, "warning: %s\n", names.Escape(err.Error()))
}

// Printf prints a part of the result.
func (a *App) Printf(format string, args ...any) {
	_, _ = io.WriteString(a.Out, names.Escape(fmt.Sprintf(format, args...))) // an error stays with the output
}

// PrintJSON prints a result as JSON.
func (a *App) PrintJSON(v any) error {
	e := json.NewEncoder(a.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// PrintRows prints aligned columns.
func (a *App) PrintRows(rows [][]string) error { return writeRows(a.Out, rows) }

// SayRows tells the user something in aligned columns.
func (a *App) SayRows(rows [][]string) {
	if !a.Quiet {
		_ = writeRows(a.Talk, rows) // as with Say
	}
}

func writeRows(to io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, names.Escape(strings.Join(row, "\t"))) // Flush has the error
	}
	return w.Flush()
}

// Write writes a file whole or not at all, compressed if its name ends in .gz, in a folder that is made if need be; the path
// "-" is standard output.
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
