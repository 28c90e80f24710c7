package demand

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/rng"
)

const (
	// Generated names the series that inference.DefaultCycle draws.
	Generated = "generated"
	// Step is that of the predictors (Lyra, EuroSys 2023, §6).
	Step = 5 * time.Minute
	// Peak is the share of the pool that the peak of a series takes, as in Lyra's inference cluster (EuroSys 2023, Fig. 1).
	Peak = 0.95
	// Day is the number of steps in a day.
	Day = int(24 * time.Hour / Step)

	generatedDays = 14
)

// Open returns usage in steps of Step: of Generated, 14 days, or of an archive of ServeGen's request rates, whose bins of
// ten minutes are halved. seed is that of the drawing, or of the halving: see inference.Series.Resample.
func Open(name string, seed uint64) (inference.Series, error) {
	rates, err := open(name, seed)
	if err != nil {
		return inference.Series{}, err
	}
	usage, err := rates.Usage(1, Peak)
	if err != nil {
		return inference.Series{}, fmt.Errorf("%s: %w", name, err)
	}
	return usage, nil
}

func open(name string, seed uint64) (inference.Series, error) {
	if name == Generated {
		return inference.DefaultCycle().Generate(generatedDays*Day, Step, seed)
	}
	rates, err := inference.ReadServeGen(name)
	if err != nil {
		return inference.Series{}, err
	}
	return rates.Resample(Step, rng.Stream(seed, "resample"))
}

// TrainingPart is the first days of usage.
func TrainingPart(usage inference.Series, days int) (inference.Series, error) {
	if days < 1 || days > len(usage.Values)/Day {
		return inference.Series{}, fmt.Errorf("take %d training days of %.1f, want 1 or more that are there",
			days, float64(len(usage.Values))/float64(Day))
	}
	return usage.Slice(0, days*Day), nil
}
