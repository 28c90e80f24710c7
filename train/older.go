package train

import (
	"fmt"

	"github.com/clustergym/clustergym/checkpoints"
)

// OlderError reports that the newest checkpoint of a run cannot be read, and which older checkpoint can.
type OlderError struct {
	Step    int                   // number of finished updates at the newest readable checkpoint
	Skipped []checkpoints.Skipped // the newer, unreadable checkpoints, newest first
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("the newest checkpoint cannot be read, the newest that can is %d:%s", e.Step, checkpoints.Reasons(e.Skipped))
}

// Unwrap returns the errors of the newer checkpoints.
func (e *OlderError) Unwrap() []error {
	var all []error
	for _, s := range e.Skipped {
		all = append(all, s.Err)
	}
	return all
}

// newest returns the newest readable checkpoint. If there are newer, unreadable ones, it calls older and returns its error; if
// older is nil, it returns the OlderError. found is false for a store without checkpoints.
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
