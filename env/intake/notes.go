package intake

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/slurmtext"
)

// Note says what a State could not represent and what was done instead. It is an error for those who would print it as a warning.
type Note struct {
	What    string // such as "pods with scheduling gates, left out"
	Count   int
	Example string // the first of them
}

// Error returns the note as one line.
func (n *Note) Error() string {
	return fmt.Sprintf("%s: %d, for example %s", n.What, n.Count, n.Example)
}

// mostNotes is the most different notes. Further ones share a note, because their number depends on the input.
const mostNotes = 64

const furtherNotes = "further things that a snapshot cannot represent"

// notes collects Notes, in the order in which they first occur.
type notes []Note

// add counts one occurrence.
func (n *notes) add(what, example string) {
	same := func(what string) int { return slices.IndexFunc(*n, func(m Note) bool { return m.What == what }) }
	i := same(what)
	if i < 0 && len(*n) >= mostNotes {
		what = furtherNotes
		i = same(what)
	}
	if i < 0 {
		i = len(*n)
		*n = append(*n, Note{What: what, Example: example})
	}
	(*n)[i].Count++
}

// addAll counts one occurrence for each example, and names two of them.
func (n *notes) addAll(what string, examples []string) {
	for range examples {
		n.add(what, phrase.Few(examples))
	}
}

// cut shortens text from the input for a note, and escapes what a terminal might act on.
func cut(s string) string { return names.Escape(shorten(s)) }

func shorten(s string) string { return slurmtext.Shorten(s) }
