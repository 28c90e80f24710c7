// Command encoder lets agents see something else than the standard observations. It runs the conformance suite on an
// environment with its own encoder, then searches for a linear order of jobs on what little that encoder shows.
//
//	go run ./encoder
package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/examples/greedy"
)

const (
	candidates = 30 // that the search tries
	windows    = 4  // of training that it tries each on
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "encoder:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	s, err := scenario.Load("embedded-small-v1")
	if err != nil {
		return err
	}
	src, err := s.Open()
	if err != nil {
		return err
	}
	own := func() (env.Env, error) { return newEnv(src, scenario.Train, &Lean{Window: 16}) }
	e, err := own()
	if err != nil {
		return err
	}
	standard := env.NewEncoder().Spec(e.Spec().Agents)
	fmt.Fprintf(w, "numbers in an observation: %d, by the standard encoder %d\n", size(e.Spec()), size(standard))
	if err := check(w, own); err != nil {
		return err
	}
	best, err := search(e)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "best weights of %d: length %+.1f, width %+.1f, age %+.1f\n", candidates, best[0], best[1], best[2])
	return judge(w, src, best)
}

// newEnv returns an environment whose seeds are the windows of a split.
func newEnv(src *scenario.Source, split scenario.Split, encoder env.Encoder) (env.Env, error) {
	cfg, err := src.Scenario().SimConfig()
	if err != nil {
		return nil, err
	}
	return env.New(env.Config{
		Sim:        cfg,
		Encoder:    encoder,
		SkipForced: true,
		Episode: func(seed uint64) (sim.Episode, error) {
			e, err := src.Episode(split, int(seed%uint64(src.Count(split))), seed)
			return e.Episode, err
		},
	})
}

func size(s env.Spec) int {
	return s.Agents*len(s.Server) + s.Window*len(s.Job) + s.Agents*s.Items()*len(s.Item) + len(s.Global)
}

// check runs the conformance suite.
func check(w io.Writer, create envtest.Make) error {
	for _, r := range envtest.Report(create, 1) {
		if r.Status == envtest.Failed {
			return fmt.Errorf("check %s: %s", r.Name, r.Detail)
		}
	}
	_, err := fmt.Fprintln(w, "conformance suite: passed")
	return err
}

// weights order jobs by a weighted sum of the three features of a job.
type weights [3]float64

func (x weights) score(ts *env.TimeStep, k int) float64 {
	sum := 0.0
	for i, v := range ts.Jobs[3*k : 3*k+3] {
		sum += x[i] * float64(v)
	}
	return sum
}

// search draws candidates and keeps the one with the highest return on the first training windows.
func search(e env.Env) (best weights, err error) {
	draw := rand.New(rand.NewPCG(1, 1))
	most := 0.0
	for n := range candidates {
		var x weights
		for i := range x {
			x[i] = draw.NormFloat64()
		}
		sum, err := total(e, x, windows)
		if err != nil {
			return best, err
		}
		if n == 0 || sum > most {
			best, most = x, sum
		}
	}
	return best, nil
}

// total is the sum of rewards over the first n windows.
func total(e env.Env, x weights, n int) (sum float64, err error) {
	p := greedy.Player{Score: x.score}
	for seed := range n {
		reward, err := p.Episode(e, uint64(seed))
		if err != nil {
			return 0, err
		}
		sum += reward
	}
	return sum, nil
}

// judge compares the weights with two plain orders on the test windows, which the search has not seen.
func judge(w io.Writer, src *scenario.Source, found weights) error {
	e, err := newEnv(src, scenario.Test, &Lean{Window: 16})
	if err != nil {
		return err
	}
	jobs := src.Count(scenario.Test) * src.Scenario().Window.Arrivals
	for _, o := range []struct {
		name string
		x    weights
	}{{"longest waiting first", weights{0, 0, 1}}, {"shortest first", weights{-1, 0, 0}}, {"found", found}} {
		sum, err := total(e, o.x, src.Count(scenario.Test))
		if err != nil {
			return err
		}
		// The reward is minus the number of jobs in the system, in job-hours.
		if _, err := fmt.Fprintf(w, "%-22s mean JCT %.2f h on test windows\n", o.name, -sum/float64(jobs)); err != nil {
			return err
		}
	}
	return nil
}
