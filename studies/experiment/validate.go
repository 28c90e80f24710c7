package experiment

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// marker is the form of a marker's name.
var marker = regexp.MustCompile(`^[a-z0-9.-]+$`)

func (f *File) validate() error {
	if f.About == "" || f.Page == "" || f.Threads < 0 || len(f.Tables) == 0 {
		return fmt.Errorf("%s:1: about %q, page %q, threads %d, %d tables: want a sentence, a page, 0 or more, and tables",
			f.path, f.About, f.Page, f.Threads, len(f.Tables))
	}
	if _, err := f.Runs(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range f.Tables {
		t := &f.Tables[i]
		if err := t.validate(); err != nil {
			return fmt.Errorf("%s:%d: table %q: %w", f.path, t.line, t.Marker, err)
		}
		if t.Page == "" {
			t.Page = f.Page
		}
		if seen[t.Marker] {
			return fmt.Errorf("%s:%d: table %q stands twice", f.path, t.line, t.Marker)
		}
		seen[t.Marker] = true
	}
	return nil
}

func (t *Table) validate() error {
	e := t.Eval
	switch {
	case !marker.MatchString(t.Marker):
		return errors.New("want a marker of small letters, digits, dots and dashes")
	case (e == nil) == (len(t.Run) == 0):
		return fmt.Errorf("eval and %d lines of run: want one of them", len(t.Run))
	case e == nil && program(t.Run) == "":
		return fmt.Errorf("run %q: want clustergym or clustergym-studies first", t.Run[0])
	case e != nil && (len(e.Scenarios) == 0 || len(e.Policies) == 0 || len(e.Against) == 0 || e.Out == "" || e.Windows < 0):
		return fmt.Errorf("%d scenarios, %d policies, against %d baselines, %d windows, out %q: want at least one each, and a folder",
			len(e.Scenarios), len(e.Policies), len(e.Against), e.Windows, e.Out)
	case (t.Copy.From == "") != (t.Copy.To == ""):
		return fmt.Errorf("copy from %q to %q: want both", t.Copy.From, t.Copy.To)
	case t.Part < 0:
		return fmt.Errorf("part %d: want 0 or more", t.Part)
	}
	for _, p := range t.Also {
		if p.Page == "" || len(p.Rows) == 0 || len(p.Columns) == 0 || !t.Bare {
			return fmt.Errorf("also on %q, %d rows, %d columns: want a page, rows and columns, of a bare table",
				p.Page, len(p.Rows), len(p.Columns))
		}
	}
	return nil
}

// program returns the program that a command begins with, or "" if it is none of this repository.
func program(lines []string) string {
	fields := strings.Fields(strings.Join(lines, " "))
	if len(fields) == 0 || !slices.Contains([]string{"clustergym", "clustergym-studies"}, fields[0]) {
		return ""
	}
	return fields[0]
}
