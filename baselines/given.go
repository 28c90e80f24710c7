package baselines

import (
	"errors"

	"github.com/clustergym/clustergym/baselines/asrpt"
)

// Given is what baselines may use that their names do not contain. The zero Given is enough for most.
type Given struct {
	// Fitted returns a predictor of iterations that was fitted on jobs which ran before the episode: a new one at each call, always
	// with the same knowledge. It must be safe for concurrent use. A baseline with the option predictor=fitted needs it.
	Fitted func() asrpt.Predictor
}

// ErrUnfitted is wrapped by the error of New about a baseline that needs Given.Fitted, which is nil.
var ErrUnfitted = errors.New("a fitted predictor needs the training split of a scenario, which is not known here:" +
	" want a file that clustergym predictor fit wrote")

// Fits reports whether the baseline of that name, which is named as in New, needs Given.Fitted. It returns the error of New about
// any other mistake in the name.
func Fits(name string) (fits bool, err error) {
	_, err = Given{Fitted: func() asrpt.Predictor {
		fits = true
		return nil // the scheduler is never used
	}}.New(name)
	return fits, err
}
