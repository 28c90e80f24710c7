package predict

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/baselines/option"
)

// The kinds of predictors, as options and files name them.
const (
	kindGranted = "granted"
	kindMean    = "group-mean"
	kindMedian  = "group-median"
	kindForest  = "forest"
	kindNoisy   = "noisy"
)

// Kinds returns the kinds that New accepts: granted, group-mean, group-median, forest, noisy(SIGMA) and a file.
func Kinds() []string {
	return []string{kindGranted, kindMean, kindMedian, kindForest, "noisy(SIGMA)", "FILE" + option.FileExtension}
}

// New returns an untrained predictor of a kind with its defaults. "noisy(SIGMA)", such as noisy(0.5), stands for granted
// estimates with noise. For a path that ends in ".predictor" New returns the trained predictor in that file.
func New(kind string) (Predictor, error) {
	switch kind {
	case kindGranted:
		return newGranted(), nil
	case kindMean:
		return newGroupMean(), nil
	case kindMedian:
		return newGroupMedian(), nil
	case kindForest:
		return NewForest(DefaultForest()), nil
	}
	if inside, ok := strings.CutPrefix(kind, "noisy("); ok && strings.HasSuffix(inside, ")") {
		sigma, err := strconv.ParseFloat(strings.TrimSuffix(inside, ")"), 64)
		if err != nil || !(sigma >= 0 && sigma <= maxSigma) {
			return nil, fmt.Errorf("predictor %q: want noisy(SIGMA) with a number from 0 to %v", kind, maxSigma)
		}
		return newNoisy(newGranted(), sigma), nil
	}
	if strings.HasSuffix(kind, option.FileExtension) {
		return open(kind)
	}
	return nil, fmt.Errorf("predictor %q: want one of %s", kind, strings.Join(Kinds(), ", "))
}

func open(path string) (p Predictor, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open predictor: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if p, err = load(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}
