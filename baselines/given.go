package baselines

import (
	"errors"
	"time"

	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/env/cluster"
)

// Given is what baselines may use that their names do not contain. The zero Given is enough for most.
type Given struct {
	// Fitted returns a predictor of iterations that was fitted on jobs which ran before the episode: a new one at each call, always
	// with the same knowledge. It must be safe for concurrent use. A baseline with the option predictor=fitted needs it.
	Fitted func() asrpt.Predictor
	// Past calls ended for each job that ran before the episode, in the order in which they ended, with the job's isolated run time.
	// It must be safe for concurrent use. KnowSuffix with seen=training needs it.
	Past func(ended func(spec *cluster.JobSpec, ran time.Duration))
}

// ErrUnfitted is wrapped by the error of New about a baseline that needs Given.Fitted, which is nil.
var ErrUnfitted = errors.New("a fitted predictor needs the training split of a scenario, which is not known here:" +
	" want a file that clustergym predictor fit wrote")

// ErrNoPast is wrapped by the error of New about a baseline that needs Given.Past, which is nil.
var ErrNoPast = errors.New("seen=training needs the training split of a scenario, which is not known here: want seen=nothing," +
	" or a baseline in eval or headroom")

// Fits reports whether the baseline of that name, which is named as in New, needs something of Given. It returns the error of New
// about any other mistake in the name.
func Fits(name string) (fits bool, err error) {
	_, err = Given{
		Fitted: func() asrpt.Predictor {
			fits = true
			return nil // the scheduler is never used
		},
		Past: func(func(*cluster.JobSpec, time.Duration)) { fits = true },
	}.New(name)
	return fits, err
}
