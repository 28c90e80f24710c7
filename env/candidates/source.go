package candidates

import "github.com/clustergym/clustergym/env/cluster"

// Source goes through the decisions of an episode, a list of candidates at a time: Begin, then TakeAll or Pass until List is
// empty.
type Source interface {
	// Reset begins an episode.
	Reset(seed uint64) error
	// Begin asks the base what it proposes at a decision point and finds the first list.
	Begin(tx *cluster.Txn) error
	// List returns the candidates to choose from, the base's own first. It is empty when the decision is over. The list is
	// the source's, and valid until its next step.
	List() []Candidate
	// TakeAll carries out candidates, at least one, by their places in the list, in this order, and finds the next list. It
	// returns the places of those that could not be carried out after the ones before them, valid until the next step.
	TakeAll(places []int) (refused []int, err error)
	// Pass carries out nothing, and closes the list.
	Pass() error
	// Tally counts what was carried out since Reset by its kind.
	Tally() [Kinds]int
}

var (
	_ Source = (*walk)(nil)
	_ Source = (*board)(nil)
)

// NewSource returns the source that the configuration asks for, before its first Reset.
func NewSource(c Config) Source {
	if c.Wide {
		return newBoard(c)
	}
	return newWalk(c)
}
