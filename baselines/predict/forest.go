package predict

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/baselines/forest"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/rng"
)

// ForestConfig are the settings of the forest predictor. A-SRPT's predictor is a random-forest regression of the iterations of
// recurring jobs (abstract of arXiv:2501.05563); its features, parameters and training schedule are not known. Every setting
// here and its default are our choices, after a comparison (clustergym-studies predictor compare) on two public traces and on
// generated workloads.
type ForestConfig struct {
	// Forest is how each forest is grown; Seed is replaced by a seed derived from that of Reset.
	Forest forest.Config `predictor:"forest,need"`
	First  int           `predictor:"first,need"` // number of observations before the first training, at least 2
	// Every is the number of observations between two trainings; early on half of those so far, if that is less.
	Every  int `predictor:"every,need"`
	Window int `predictor:"window,need"` // number of the latest observations that a forest is trained on
	Runs   int `predictor:"runs,need"`   // number of the latest jobs of a set from whose run times the features are computed
	// Trials is the number of runs of a recurring job on which the predictor compares the forest with the group median. After that
	// it uses the better one for this recurring job; before, the forest. With 0 it always uses the forest.
	Trials int     `predictor:"trials,need"`
	Decay  float64 `predictor:"decay,need"` // weight of the latest run in the mean absolute log error of this comparison
}

// DefaultForest returns settings for 50 trees of medians, of depth 10, with at least 30 observations in a leaf and √p features
// per split. The forest is trained after 100 observations and then after every 1000, on the latest 20,000.
func DefaultForest() ForestConfig {
	c := forest.Default()
	c.Trees, c.Depth, c.MinLeaf, c.Median = 50, 10, 30, true
	return ForestConfig{Forest: c, First: 100, Every: 1000, Window: 20_000, Runs: 32, Trials: 3, Decay: .1}
}

// validate returns an error about the first field that is out of range.
func (c ForestConfig) validate() error {
	if err := c.Forest.Validate(); err != nil {
		return err
	}
	for _, f := range []struct {
		name            string
		value, from, to int
	}{
		{"first", c.First, 2, maxWindow},
		{"every", c.Every, 1, math.MaxInt32},
		{"window", c.Window, c.First, maxWindow},
		{"runs", c.Runs, 1, maxRuns},
		{"trials", c.Trials, 0, math.MaxInt32},
	} {
		if f.value < f.from || f.value > f.to {
			return fmt.Errorf("forest predictor: %s %d, want %d to %d", f.name, f.value, f.from, f.to)
		}
	}
	if !(c.Decay > 0 && c.Decay <= 1) {
		return fmt.Errorf("forest predictor: decay %v, want above 0 and at most 1", c.Decay)
	}
	return nil
}

// Limits of a predictor, also of one read from a file.
const (
	maxWindow = 200_000
	maxRuns   = 4096
)

// forestPredictor is the predictor that NewForest returns.
type forestPredictor struct {
	config ForestConfig
	seed   uint64
	loaded *forestState // the state that Reset restores; nil for an untrained one; never changed
	forestState
	asked map[string]*answer // by name: jobs that were predicted and have not ended
}

// forestState is what the predictor has learned.
type forestState struct {
	past    *history
	levels  map[levelKey]*level
	contest map[Key]*contest
	rows    []float32 // [observation][feature], the latest Window observations
	targets []float64 // log seconds, by observation
	seen    int       // number of observations in all
	fresh   int       // number of observations since the last training
	forest  *forest.Forest
}

// contest compares the forest with the group median on one recurring job.
type contest struct {
	Trials int     `predictor:"trials,0..mostCount"`
	Forest float64 `predictor:"forest,0..2000"` // decayed mean absolute log errors
	Median float64 `predictor:"median,0..2000"`
}

// answer is the first prediction for a job.
type answer struct {
	row            []float32
	trial          bool    // the forest and the group median both had an answer
	forest, median float64 // log iterations
}

// maxAsked is the largest number of unfinished jobs in memory, in case jobs never end.
const maxAsked = 1 << 17

// NewForest returns an untrained predictor that uses a random forest. It panics if the configuration is not valid.
//
// The forest learns the logarithm of the isolated run time (iterations times the time of an iteration) from features of the job
// and of the jobs that had ended when the job was first predicted; names of jobs must be unique in an episode. Categories (user,
// tenant, model, recurring job) enter as statistics of their earlier jobs. The hour of the day is not a feature, because the
// windows of a scenario count time from their first arrival, so that an hour learned in one window means nothing in another.
// Estimates are not features either. Before its first training the predictor answers with the group median. Afterwards it does
// so for a recurring job for which the group median was better: see ForestConfig.Trials.
func NewForest(c ForestConfig) Predictor {
	if err := c.validate(); err != nil {
		panic("predict: " + err.Error())
	}
	f := &forestPredictor{config: c}
	f.Reset(0)
	return f
}

func (f *forestPredictor) Name() string { return kindForest }

func (f *forestPredictor) Reset(seed uint64) {
	f.seed, f.asked = seed, map[string]*answer{}
	if f.loaded != nil {
		f.forestState = f.loaded.clone()
		return
	}
	f.forestState = forestState{past: newHistory(), levels: map[levelKey]*level{}, contest: map[Key]*contest{}}
}

func (f *forestState) clone() forestState {
	c := *f
	c.past, c.contest, c.levels = f.past.clone(), make(map[Key]*contest, len(f.contest)), make(map[levelKey]*level, len(f.levels))
	for k, x := range f.contest {
		c.contest[k] = new(*x)
	}
	for k, l := range f.levels {
		c.levels[k] = &level{*l.runs.clone(), l.Jobs}
	}
	// sharing is safe: observations never change, and appending to a clipped slice allocates a new one
	c.rows, c.targets = slices.Clip(f.rows), slices.Clip(f.targets)
	return c
}

func (f *forestPredictor) Predict(s *cluster.JobSpec) (iterations float64, cold bool) {
	known := f.past.runs(s)
	cold = known.count() == 0
	a := &answer{row: f.row(make([]float32, 0, features), s)}
	a.median = math.Log(f.past.guess(s))
	said := a.median
	if f.forest != nil {
		a.trial = !cold
		a.forest = min(max(f.forest.Predict(a.row)-math.Log(physics.IterationSeconds(s)), 0), math.Log(mostIterations))
		said = a.forest
		if c := f.contest[KeyOf(s)]; a.trial && f.config.Trials > 0 && c != nil && c.Trials >= f.config.Trials && c.Median < c.Forest {
			said = a.median
		}
	}
	if f.asked[s.Name] == nil && len(f.asked) < maxAsked {
		f.asked[s.Name] = a
	}
	return believed(math.Exp(said)), cold
}

func (f *forestPredictor) Observe(s *cluster.JobSpec, iterations float64) {
	iterations = believed(iterations)
	log := math.Log(iterations)
	a := f.asked[s.Name]
	delete(f.asked, s.Name)
	if a == nil {
		a = &answer{row: f.row(make([]float32, 0, features), s)}
	}
	if a.trial {
		c := valueOf(f.contest, KeyOf(s))
		c.Trials = more(c.Trials)
		c.Forest += f.config.Decay * (math.Abs(a.forest-log) - c.Forest)
		c.Median += f.config.Decay * (math.Abs(a.median-log) - c.Median)
	}
	f.rows = append(f.rows, a.row...)
	f.targets = append(f.targets, log+math.Log(physics.IterationSeconds(s)))
	if over := len(f.targets) - f.config.Window; over > 0 {
		f.rows, f.targets = f.rows[over*features:], f.targets[over:]
	}
	f.learn(s, iterations, f.config.Runs)
	f.past.add(s, iterations)
	f.seen, f.fresh = more(f.seen), more(f.fresh)
	f.train()
}

// train grows a forest if enough observations have come since the last training.
func (f *forestPredictor) train() {
	n := len(f.targets)
	due := f.config.First
	if f.forest != nil {
		due = min(f.config.Every, max(1, n/2))
	}
	if n < f.config.First || f.fresh < due {
		return
	}
	c := f.config.Forest
	c.Seed = rng.Derive(f.seed, "predict", "forest", strconv.Itoa(f.seen))
	grown, err := forest.Train(f.rows, f.targets, c)
	if err != nil {
		panic("predict: " + err.Error()) // cannot happen: features and targets are finite, and the configuration is valid
	}
	f.forest, f.fresh = grown, 0
}
