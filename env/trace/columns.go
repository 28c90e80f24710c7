package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Columns names, for columns of the native format, the columns of a file that has others. Each entry is "native=own". Times may
// also be given as dates (see readTime), and the duration as the difference of two columns of times: "duration=end-start".
// Columns of the file that the native format does not know are left out.
type Columns []string

// The columns of a difference of times. No column of a file has these names: they contain a blank at the beginning.
const spanEnd, spanStart = " end", " start"

// pick finds the columns in the header of a file. The parameter given has entries for columns that c does not name.
func (c Columns) pick(h *header, given Columns) (*columns, error) {
	native := layouts()[0]
	known := slices.Concat(native.required, native.optional)
	p := &columns{width: len(h.names)}
	for _, entry := range c {
		if err := p.pick(entry, h, known); err != nil {
			return nil, err
		}
	}
	for _, entry := range given {
		if name, _, _ := strings.Cut(entry, "="); !p.has(name) {
			if err := p.pick(entry, h, known); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range known { // columns that have their native names
		at := h.find(name)
		switch {
		case p.has(name):
		case at >= 0:
			p.add(name, h, at)
		case slices.Contains(native.required, name):
			return nil, fmt.Errorf("columns: the file has no column %s: add %s, with one of %s", name,
				shown(cmp.Or(guess(h, name), name+"=COLUMN")), shown(h.String()))
		}
	}
	p.unread = p.rest(h)
	return p, nil
}

// has reports whether a column of the native format was found.
func (c *columns) has(name string) bool {
	return slices.Contains(c.header, name) || name == "duration" && slices.Contains(c.header, spanEnd)
}

// pick adds the column or the difference of columns that an entry names.
func (c *columns) pick(entry string, h *header, known []string) error {
	name, own, ok := strings.Cut(strings.TrimSpace(entry), "=")
	switch {
	case !ok || name == "" || own == "":
		return fmt.Errorf("columns: %q, want a column of the native format, = and a column of the file", entry)
	case !slices.Contains(known, name):
		return fmt.Errorf("columns: %q is no column of the native format, want one of %s", name, strings.Join(known, ","))
	case c.has(name):
		return fmt.Errorf("columns: %s stands twice", name)
	}
	names, columns := []string{name}, []string{own}
	if end, start, isSpan := cutSpan(own, h); name == "duration" && isSpan && h.find(own) < 0 {
		names, columns = []string{spanEnd, spanStart}, []string{end, start}
	}
	for i, column := range columns {
		at := h.find(column)
		if at < 0 {
			return fmt.Errorf("columns: %s=%s: the file has no column %q, only %s", name, shown(column), column, shown(h.String()))
		}
		c.add(names[i], h, at)
	}
	return nil
}

// cutSpan cuts the difference of two columns, of which the names may have hyphens, too.
func cutSpan(own string, h *header) (end, start string, ok bool) {
	end, start, ok = strings.Cut(own, "-")
	for i := range own {
		if own[i] == '-' && h.find(own[:i]) >= 0 && h.find(own[i+1:]) >= 0 {
			return own[:i], own[i+1:], true
		}
	}
	return end, start, ok
}
