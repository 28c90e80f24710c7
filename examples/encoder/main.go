// Command encoder lets agents see something else than the standard observations. It runs the conformance suite on an
// environment with its own encoder, then searches for a linear preference among candidates on what little that encoder shows.
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
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/examples/greedy"
)

const (
	tries   = 30 // of the search
	windows = 4  // of training that it tries each on
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
	own := func() (env.Env, error) { return newEnv(src, scenario.Train, Lean{}) }
	e, err := own()
	if err != nil {
		return err
	}
	standard, err := newEnv(src, scenario.Train, observe.NewStandard())
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "numbers in an observation: %d, by the standard encoder %d\n", size(e.Spec()), size(standard.Spec()))
	if err := check(w, own); err != nil {
		return err
	}
	best, err := search(e)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "best weights of %d: length %+.1f, width %+.1f, age %+.1f, starts %+.1f, stops %+.1f\n", tries, best[0], best[1], best[2],
		best[3], best[4])
	return judge(w, src, best)
}

// newEnv returns an environment whose seeds are the windows of a split.
func newEnv(src *scenario.Source, split scenario.Split, encoder observe.Encoder) (env.Env, error) {
	cfg, err := src.Scenario().SimConfig()
	if err != nil {
		return nil, err
	}
	g, err := greedy.Game("fifo", encoder)
	if err != nil {
		return nil, err
	}
	return env.New(env.Config{
		Sim:  cfg,
		Game: g,
		Episode: func(seed uint64) (sim.Episode, error) {
			e, err := src.Episode(split, int(seed%uint64(src.Count(split))), seed)
			return e.Episode, err
		},
	})
}

func size(s game.Spec) int {
	return s.Agents*len(s.Server) + s.Jobs*len(s.Job) + s.Candidates*len(s.Candidate) + len(s.Global)
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

// weights like candidates by a weighted sum: of the three features of the job that it is about, and of its own two.
type weights [5]float64

func (x weights) score(ts *env.TimeStep, n game.Action) float64 {
	spec, sum := ts.Spec(), 0.0
	if row := int(ts.Of[n-1]); row >= 0 {
		for i, v := range ts.Jobs[row*len(spec.Job):][:3] {
			sum += x[i] * float64(v)
		}
	}
	own := ts.Candidates[int(n)*len(spec.Candidate):]
	return sum + x[3]*float64(own[0]) + x[4]*float64(own[1])
}

// search draws weights and keeps those with the highest return on the first training windows.
func search(e env.Env) (best weights, err error) {
	draw := rand.New(rand.NewPCG(1, 1))
	most := 0.0
	for n := range tries {
		var x weights
		for i := range x {
			x[i] = draw.NormFloat64()
		}
		sum, err := total(e, x.score, windows)
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
func total(e env.Env, score func(*env.TimeStep, game.Action) float64, n int) (sum float64, err error) {
	p := greedy.Player{Score: score}
	for seed := range n {
		reward, err := p.Episode(e, uint64(seed))
		if err != nil {
			return 0, err
		}
		sum += reward
	}
	return sum, nil
}

// judge compares the weights with the prior and two plain orders on the test windows, which the search has not seen.
func judge(w io.Writer, src *scenario.Source, found weights) error {
	e, err := newEnv(src, scenario.Test, Lean{})
	if err != nil {
		return err
	}
	windows := src.Count(scenario.Test)
	jobs := windows * src.Scenario().Window.Arrivals
	for _, o := range []struct {
		name  string
		score func(*env.TimeStep, game.Action) float64
	}{
		{"as fifo, the prior", greedy.Prior},
		{"longest waiting first", weights{0, 0, 1, 10, -20}.score},
		{"shortest first", weights{-1, 0, 0, 10, -20}.score},
		{"found", found.score},
	} {
		sum, err := total(e, o.score, windows)
		if err != nil {
			return err
		}
		// The reward is minus the number of jobs in the system, in job-hours.
		if _, err := fmt.Fprintf(w, "%-22s mean JCT %5.2f h on test windows\n", o.name, -sum/float64(jobs)); err != nil {
			return err
		}
	}
	return nil
}
