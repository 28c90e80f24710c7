package train

import (
	"fmt"

	"github.com/clustergym/clustergym/checkpoints"
)

// OlderError says that the newest checkpoint of a run cannot be read, and which older one can.
type OlderError struct {
	Step    int                   // of the newest checkpoint that can be read: how many updates had finished
	Skipped []checkpoints.Skipped // the newer checkpoints, newest first
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("the newest checkpoint cannot be read, the newest that can is %d:%s", e.Step, checkpoints.Reasons(e.Skipped))
}

// Unwrap returns why the newer checkpoints cannot be read.
func (e *OlderError) Unwrap() []error {
	var all []error
	for _, s := range e.Skipped {
		all = append(all, s.Err)
	}
	return all
}

// newest returns the newest checkpoint that can be read. If newer ones cannot, older is asked first: what it returns is returned,
// and nil takes the older checkpoint. A nil older refuses. found is false for a store without a checkpoint.
func newest(store *checkpoints.Store, older func(*OlderError) error) (c checkpoints.Checkpoint, found bool, err error) {
	c, skipped, err := store.Latest()
	found = err == nil || len(skipped) > 0
	if err != nil || len(skipped) == 0 {
		return c, found, err
	}
	instead := &OlderError{Step: c.Step, Skipped: skipped}
	if older == nil {
		return c, found, instead
	}
	return c, found, older(instead)
}
