package trace

import (
	"slices"
	"strings"
	"unicode"
)

// columns says where the columns that a format reads stand in the rows of a file.
type columns struct {
	header []string // their names in the format
	own    []string // what the file calls them
	from   []int    // where they stand
	width  int      // fields that every row must have
	unread []string // columns of the file that are left out
	buf    []string // of row
}

// add adds a column of the format that stands at the given place of the file's header.
func (c *columns) add(name string, h *header, at int) {
	c.header, c.own, c.from = append(c.header, name), append(c.own, h.names[at]), append(c.from, at)
}

// row returns the fields of a row of the file that the format reads. The next call overwrites them.
func (c *columns) row(fields []string) row {
	c.buf = c.buf[:0]
	for _, at := range c.from {
		c.buf = append(c.buf, fields[at])
	}
	return row{header: c.header, fields: c.buf}
}

// named returns an error about a column with the name that the file has for it.
func (c *columns) named(err error) error {
	if e, ok := err.(columnError); ok { //nolint:errorlint // the row keeps the error itself
		if i := slices.Index(c.header, e.column); i >= 0 {
			e.column = c.own[i]
		}
		return e
	}
	return err
}

// match finds the columns of a format in the header of a file. It also returns the required columns that the header lacks and
// the columns that the format does not know. Capitals, spaces and underscores in names do not count, and the index that pandas
// writes is no column.
func (l layout) match(h *header) (c *columns, missing, extra []string) {
	c = &columns{width: len(h.names)}
	for _, name := range slices.Concat(l.required, l.optional) {
		if at := h.find(name); at >= 0 {
			c.add(name, h, at)
		} else if slices.Contains(l.required, name) {
			missing = append(missing, name)
		}
	}
	c.unread = c.rest(h)
	for _, name := range c.unread {
		if !isIndex(name) {
			extra = append(extra, name)
		}
	}
	return c, missing, extra
}

// rest returns the names of the columns of the file that are not read.
func (c *columns) rest(h *header) []string {
	read := make([]bool, len(h.names))
	for _, at := range c.from {
		read[at] = true
	}
	var names []string
	for i, name := range h.names {
		if !read[i] {
			names = append(names, name)
		}
	}
	return names
}

// header is the first line of a file.
type header struct {
	names  []string
	exact  map[string]int
	folded map[string]int // -1 if several names are equal but for capitals, spaces and punctuation
}

func newHeader(names []string) *header {
	h := &header{names: names, exact: make(map[string]int, len(names)), folded: make(map[string]int, len(names))}
	for i, name := range names {
		if _, twice := h.exact[name]; !twice {
			h.exact[name] = i
		}
		if _, twice := h.folded[fold(name)]; twice {
			h.folded[fold(name)] = -1
		} else {
			h.folded[fold(name)] = i
		}
	}
	return h
}

// find returns the place of a column: the one with this name, or else the only one whose name differs from it in capitals,
// spaces and punctuation alone. It returns -1 if there is none.
func (h *header) find(name string) int {
	if at, ok := h.exact[name]; ok {
		return at
	}
	if at, ok := h.folded[fold(name)]; ok && fold(name) != "" {
		return at
	}
	return -1
}

// String returns the names for errors.
func (h *header) String() string { return shorten(strings.Join(h.names, ",")) }

// twice returns a name that stands twice, "" if none does.
func (h *header) twice() string {
	for i, name := range h.names {
		if h.exact[name] != i && !isIndex(name) {
			return name
		}
	}
	return ""
}

// fold returns the letters and digits of a name, in lower case.
func fold(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, name)
}

// isIndex reports whether a column is the index that pandas writes: it has no name, or one like "Unnamed: 0".
func isIndex(name string) bool {
	digits, ok := strings.CutPrefix(name, "Unnamed: ")
	return name == "" || ok && strings.Trim(digits, "0123456789.") == ""
}
