package candidates

import "github.com/clustergym/clustergym/env/cluster"

// Source steps through the decisions of an episode, one list of candidates at a time. At each decision point, call Begin, then
// TakeAll or Pass until List is empty.
type Source interface {
	// Reset begins an episode.
	Reset(seed uint64) error
	// Begin asks the base for its proposal at a decision point and finds the first list.
	Begin(tx *cluster.Txn) error
	// List returns the candidates to choose from, the base's own first. It is empty when the decision is over. The list belongs
	// to the source and is valid until the source's next step.
	List() []Candidate
	// Lists returns the number of lists of the decision so far. As long as it stays the same, the list contains the same candidates
	// under the same indices, some of them gone.
	Lists() int
	// TakeAll carries out one or more candidates, given by their indices in the list, in this order. It then finds the next list.
	// It returns the indices of the candidates that no longer fitted after those before them; they are valid until the next step.
	TakeAll(places []int) (refused []int, err error)
	// Pass carries out none of the candidates and ends the list.
	Pass() error
	// Tally returns, for each kind, how many candidates were carried out since Reset.
	Tally() [Kinds]int
}

var (
	_ Source = (*walk)(nil)
	_ Source = (*board)(nil)
)

// NewSource returns the source for the configuration. Call Reset before the first Begin.
func NewSource(c Config) Source {
	if c.Wide {
		return newBoard(c)
	}
	return newWalk(c)
}
