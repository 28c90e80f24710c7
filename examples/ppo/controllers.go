package main

import (
	"fmt"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
)

// choice is what one decider sees in a round.
type choice struct {
	numbers []game.Action // numbers of the candidates that it may name; Pass is the first
	rows    [][]float64   // their rows, for the actor
	state   []float64     // for the critic
}

// controller determines who decides, what each decider sees, and which joint action follows from the choices.
type controller interface {
	deciders(s *game.Spec) int
	// widths returns the lengths of a row and of a state.
	widths(s *game.Spec) (row, state int)
	see(ts *env.TimeStep, decider int) choice
	reward(ts *env.TimeStep, decider int) float64
	// act fills the joint action from the number that each decider has chosen.
	act(ts *env.TimeStep, chosen, joint []game.Action)
}

func newController(name string) (controller, error) {
	switch name {
	case "ippo":
		return independent{}, nil
	case "central":
		return central{}, nil
	}
	return nil, fmt.Errorf("learner %q, want ippo or central", name)
}

// independent lets every server decide for itself, from what it sees of itself, of the candidates in whose coalition it is, and
// of the cluster: independent PPO with shared weights (de Witt et al., 2020). It learns of other servers only through its
// rewards.
type independent struct{}

func (independent) deciders(s *game.Spec) int { return s.Agents }

func (independent) widths(s *game.Spec) (row, state int) {
	state = len(s.Server) + len(s.Global)
	return state + len(s.Candidate), state
}

func (independent) see(ts *env.TimeStep, i int) choice {
	c := choice{state: join(ts.Server(i), ts.Global)}
	for n, legal := range ts.Legal(i) {
		if legal {
			c.numbers = append(c.numbers, game.Action(n))
			c.rows = append(c.rows, join(ts.Server(i), candidate(ts, game.Action(n)), ts.Global))
		}
	}
	return c
}

func (independent) reward(ts *env.TimeStep, i int) float64 { return ts.Rewards[i] }

func (independent) act(_ *env.TimeStep, chosen, joint []game.Action) { copy(joint, chosen) }

// central decides for all servers at once. It chooses one candidate, which all members of the candidate's coalition (the servers
// that it concerns) then name, or Pass.
type central struct{}

func (central) deciders(*game.Spec) int { return 1 }

func (central) widths(s *game.Spec) (row, state int) {
	state = len(s.Server) + len(s.Global)
	return state + len(s.Candidate), state + len(s.Job)
}

func (central) see(ts *env.TimeStep, _ int) choice {
	s := ts.Spec()
	c := choice{state: join(mean(ts.Servers, len(s.Server)), mean(ts.Jobs, len(s.Job)), ts.Global)}
	for n := range game.Action(s.Candidates) {
		members := ts.Members(n)
		if n != game.Pass && len(members) == 0 {
			continue // no server may name it
		}
		part := make([]float32, len(s.Server)) // the mean of the servers in its coalition
		for _, m := range members {
			for k, x := range ts.Server(int(m.Server)) {
				part[k] += x / float32(len(members))
			}
		}
		c.numbers = append(c.numbers, n)
		c.rows = append(c.rows, join(part, candidate(ts, n), ts.Global))
	}
	return c
}

func (central) reward(ts *env.TimeStep, _ int) float64 { return ts.Reward }

func (central) act(ts *env.TimeStep, chosen, joint []game.Action) { ts.Unanimous(chosen[0], joint) }

// candidate returns the row of a candidate; for Pass it is zero.
func candidate(ts *env.TimeStep, n game.Action) []float32 {
	width := len(ts.Spec().Candidate)
	return ts.Candidates[int(n)*width : (int(n)+1)*width]
}

// mean returns the mean of rows.
func mean(rows []float32, width int) []float32 {
	sum := make([]float32, width)
	for i, x := range rows {
		sum[i%width] += x / float32(len(rows)/width)
	}
	return sum
}

func join(parts ...[]float32) []float64 {
	var all []float64
	for _, p := range parts {
		for _, x := range p {
			all = append(all, float64(x))
		}
	}
	return all
}
