package cli

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

// app is what all commands share: where they read and write, and the global flags.
type app struct {
	in   io.Reader
	out  *output   // results
	talk io.Writer // everything else

	json  bool
	quiet bool

	learners []Learner // that a main of one's own has
}

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

// say tells the user something that is not the result.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		_, _ = fmt.Fprintln(a.talk, names.Escape(fmt.Sprintf(format, args...)))
	}
}

// warn tells the user, also a quiet one, of something that is wrong and does not end the command.
func (a *app) warn(err error) {
	if a.json {
		_ = json.NewEncoder(a.talk).Encode(map[string]string{"warning": err.Error()}) // as with say
		return
	}
	_, _ = fmt.Fprintf(a.talk, "warning: %s\n", names.Escape(err.Error()))
}

// printf prints a part of the result.
func (a *app) printf(format string, args ...any) {
	_, _ = io.WriteString(a.out, names.Escape(fmt.Sprintf(format, args...))) // an error stays with the output
}

// printJSON prints a result as JSON.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printRows prints aligned columns.
func (a *app) printRows(rows [][]string) error { return writeRows(a.out, rows) }

// sayRows tells the user something in aligned columns.
func (a *app) sayRows(rows [][]string) {
	if !a.quiet {
		_ = writeRows(a.talk, rows) // as with say
	}
}

func writeRows(to io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, names.Escape(strings.Join(row, "\t"))) // Flush has the error
	}
	return w.Flush()
}

// write writes a file whole or not at all, compressed if its name ends in .gz, in a folder that is made if need be; the path
// "-" is standard output.
func (a *app) write(path string, fill func(io.Writer) error) error {
	if path == "-" {
		buf := bufio.NewWriter(a.out)
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
