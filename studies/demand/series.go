package demand

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/rng"
)

const (
	// Generated is the name of the series that inference.DefaultCycle draws.
	Generated = "generated"
	// Step is the time between two samples of the predictors (Lyra, EuroSys 2023, §6).
	Step = 5 * time.Minute
	// Peak is the fraction of the pool that the peak of a series uses, as in Lyra's inference cluster (EuroSys 2023, Fig. 1).
	Peak = 0.95
	// Day is the number of steps in a day.
	Day = int(24 * time.Hour / Step)

	generatedDays = 14
)

// Open returns usage in steps of Step. The name Generated gives 14 generated days; other names are archives of ServeGen's
// request rates, whose bins of ten minutes Open divides in two. seed determines the drawing, or the division: see
// inference.Series.Resample.
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

// TrainingPart returns the first days of usage.
func TrainingPart(usage inference.Series, days int) (inference.Series, error) {
	if days < 1 || days > len(usage.Values)/Day {
		return inference.Series{}, fmt.Errorf("take %d training days of %.1f, want 1 or more that are there",
			days, float64(len(usage.Values))/float64(Day))
	}
	return usage.Slice(0, days*Day), nil
}
