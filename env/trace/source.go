package trace

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// source yields the rows of a file, one after the other.
type source interface {
	// next moves to the next row. It returns io.EOF after the last; after any other error there is no further row.
	next() error
	// fields appends the fields of the row. An error is about this row alone.
	fields(into []string) ([]string, error)
	// place returns the number of the row's line, or what else finds it, for errors.
	place() string
}

// headBytes is the number of bytes by which a format is recognised.
const headBytes = 64 << 10

// textRows are the rows of a file with one row a line.
type textRows struct {
	lines *lines
	line  string
	comma string // separates the fields
}

func (t *textRows) next() (err error) {
	t.line, err = t.lines.next()
	return err
}

func (t *textRows) fields(into []string) ([]string, error) { return splitLine(into, t.line, t.comma) }

func (t *textRows) place() string { return strconv.Itoa(max(1, t.lines.number)) }

// openText reads the first line of a file, a header of columns.
func openText(in *bufio.Reader, opt Options) (*textRows, *header, error) {
	t := &textRows{lines: newLines(in, opt)}
	if err := t.next(); err != nil {
		return t, nil, err
	}
	if comma, ok := strings.CutPrefix(strings.TrimSpace(t.line), "sep="); ok && len(comma) < 2 { // a line that Excel writes
		if err := t.next(); err != nil {
			return t, nil, err
		}
	}
	t.comma = separator(t.line)
	names, err := t.fields(nil)
	return t, newHeader(names), err
}

// separator returns what separates the fields of a header: the most frequent of comma, semicolon, tab and bar outside of quotes,
// and a comma if there is none of them.
func separator(line string) string {
	best, most := ",", 0
	for _, c := range []string{",", ";", "\t", "|"} {
		n, quoted := 0, false
		for i := range len(line) {
			if line[i] == '"' {
				quoted = !quoted
			} else if !quoted && line[i] == c[0] {
				n++
			}
		}
		if n > most {
			best, most = c, n
		}
	}
	return best
}

// separatorName returns how an error calls a separator.
func separatorName(comma string) string {
	return map[string]string{",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}[comma]
}

// splitLine appends the fields of one line to fields. It removes the space around a field unless quotes enclose it.
func splitLine(fields []string, line, comma string) ([]string, error) {
	space := " \t\r"
	if comma == "\t" {
		space = " \r"
	}
	for {
		line = strings.TrimLeft(line, space)
		if !strings.HasPrefix(line, `"`) || comma == "|" && !isQuoted(line, comma) {
			field, rest, more := strings.Cut(line, comma)
			fields = append(fields, strings.TrimSpace(field))
			if !more {
				return fields, nil
			}
			line = rest
			continue
		}
		field, rest, err := cutQuoted(line)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
		rest = strings.TrimLeft(rest, space)
		if rest == "" {
			return fields, nil
		}
		if !strings.HasPrefix(rest, comma) {
			return nil, fmt.Errorf("%q follows a quoted field, want %s", shorten(rest), separatorName(comma))
		}
		line = rest[1:]
	}
}

// isQuoted reports whether a line begins with a field in quotes, rather than with a name that contains some: sacct, which
// separates fields by bars, quotes none.
func isQuoted(line, comma string) bool {
	_, rest, err := cutQuoted(line)
	rest = strings.TrimSpace(rest)
	return err == nil && (rest == "" || strings.HasPrefix(rest, comma))
}
