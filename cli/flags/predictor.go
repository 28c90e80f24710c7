package flags

import (
	"errors"
	"os"

	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// PredictorHelp is the help text about the values of a flag that names a predictor.
const PredictorHelp = `A predictor is one of these: granted (the scenario's estimates); group-mean, group-median and forest
(computed from earlier runs of the recurring job); noisy(SIGMA) (the scenario's estimates with an error); or a file that
clustergym-studies predictor fit wrote.`

// Predictor returns the predictor that a flag names. The parameter flag is the flag's name, for errors.
func Predictor(flag, kind string) (predict.Predictor, error) {
	p, err := predict.New(kind)
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, cmdline.NoRun(err)
	case errors.Is(err, predict.ErrFormat):
		return nil, cmdline.Fail(cmdline.CodeMismatch, err)
	}
	return nil, cmdline.Usage("--%s: %w", flag, err)
}
