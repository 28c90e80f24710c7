package game_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// player is a game.Player made of a function.
type player struct {
	act  func(*cluster.Txn, *game.Round, []game.Action) error
	draw *rand.Rand // restarted by Reset
}

func (p *player) Name() string { return "player" }

func (p *player) Reset(seed uint64) error {
	p.draw = rand.New(rand.NewPCG(seed, 2))
	return nil
}

func (p *player) Act(tx *cluster.Txn, r *game.Round, joint []game.Action) error {
	return p.act(tx, r, joint)
}

// TestNamingThePriorIsThePrior checks that, if all servers follow the prior, the log is that of the prior alone, byte for byte.
func TestNamingThePriorIsThePrior(t *testing.T) {
	names, rounds, stops, moves := priors(), 0, 0, 0
	simtest.Many(t, 700, func(t *rapid.T) {
		name, e := rapid.SampledFrom(names).Draw(t, "prior"), simtest.Draw(t)
		plain := must.Get(all.New(name))(t)
		c := about(t, name)
		c.Agree = rapid.SampledFrom([]game.Agreement{game.All, game.Lead}).Draw(t, "agreement")
		if c.Rule == nil { // a rule finds its candidates only in the usual review
			c.Review.Deltas = rapid.Bool().Draw(t, "deltas")
			c.Review.Items = rapid.SampledFrom([]int{1, 3, 7, 20}).Draw(t, "items")
		}
		team := game.NewScheduler(&player{act: func(_ *cluster.Txn, r *game.Round, joint []game.Action) error {
			if rounds++; r.Prior > 1 {
				moves++
			}
			if slices.ContainsFunc(r.List[0].Ops, func(p cluster.Proposal) bool { return p.Kind == cluster.OpPreempt }) {
				stops++
			}
			r.Unanimous(r.Prior, joint)
			return nil
		}}, c)
		want := simtest.Written(t, simtest.End(t, simtest.Begin(t, e), plain))
		if got := simtest.Written(t, simtest.End(t, simtest.Begin(t, e), team)); got != want {
			t.Fatalf("the log of a team that names %s is\n%s\nalone:\n%s", name, got, want)
		}
	})
	enough(t, "rounds", rounds, 1000)
	enough(t, "rounds about a proposal that stops jobs", stops, 20)
	enough(t, "rounds in which the prior moves a job", moves, 3)
}

// TestSchedulersPlayTheSameAgain checks that the same player, seed and episode give the same log, with a new scheduler and with
// one that has played before.
func TestSchedulersPlayTheSameAgain(t *testing.T) {
	simtest.Many(t, 100, func(t *rapid.T) {
		c, e := drawGame(t), simtest.Draw(t)
		play := func(s *game.Scheduler) string { return simtest.Written(t, simtest.End(t, simtest.Begin(t, e), s)) }
		make := func() *game.Scheduler {
			p := &player{}
			p.act = func(tx *cluster.Txn, r *game.Round, joint []game.Action) error {
				wander(p.draw)(tx, r, joint)
				return nil
			}
			return game.NewScheduler(p, c)
		}
		s := make()
		first := play(s)
		if again, other := play(s), play(make()); first != again || first != other {
			t.Fatalf("first\n%s\nagain\n%s\nanother\n%s", first, again, other)
		}
	})
}

func TestSchedulersReportErrors(t *testing.T) {
	e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: jobs(4, 2, 1, 7, 3, 16, 2)}
	broken := errors.New("broken")
	for _, c := range []struct {
		want   string
		is     error
		act    func(*cluster.Txn, *game.Round, []game.Action) error
		change func(*game.Config)
	}{
		{"act: broken", broken, func(*cluster.Txn, *game.Round, []game.Action) error { return broken }, nil},
		{"masked", game.ErrMasked, func(_ *cluster.Txn, r *game.Round, joint []game.Action) error {
			joint[0] = game.Action(r.Spec().Candidates - 1)
			return nil
		}, nil},
		{"0 candidates", nil, nil, func(c *game.Config) { c.Review.Items = 0 }},
	} {
		config := about(t, "sjfskip")
		if c.change != nil {
			c.change(&config)
		}
		s := game.NewScheduler(&player{act: c.act}, config)
		if s.Game() != nil || s.Name() != "player" {
			t.Errorf("%s has a game before its first decision", s.Name())
		}
		err := simtest.Begin(t, &e).Run(context.Background(), s, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("error %v, want one that says %q", err, c.want)
		}
	}
}
