package game_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// priors returns the names of all baselines, without and with each of their suffixes. It leaves out those that
// both move jobs and borrow servers: alone, such a baseline moves first and then borrows, but as a prior it borrows first.
func priors() (names []string) {
	for _, b := range all.Table().All() {
		inner := []string{b.Name}
		if b.Orders() {
			inner = append(inner, b.Name+baselines.MenuSuffix)
		}
		for _, name := range inner {
			names = append(names, name, name+baselines.LoanSuffix, name+baselines.MoveSuffix+":saves=1s")
		}
	}
	return names
}

// about returns a game that reviews the proposals of a baseline.
func about(t rapid.TB, prior string) game.Config {
	t.Helper()
	r := must.Get(all.Table().Reviewed(prior))(t)
	return game.Config{Review: r.Config, Rule: r.Rule}
}

// drawGame draws the configuration of a game.
func drawGame(t *rapid.T) game.Config {
	c := about(t, rapid.SampledFrom(priors()).Draw(t, "prior"))
	c.Agree = rapid.SampledFrom([]game.Agreement{game.All, game.Lead}).Draw(t, "agreement")
	c.Review.Deltas = rapid.Bool().Draw(t, "deltas")
	c.Review.Items = rapid.SampledFrom([]int{1, 3, 7, 20}).Draw(t, "items")
	c.Review.Hold = time.Duration(rapid.SampledFrom([]int{30, 400, 7200}).Draw(t, "hold")) * time.Second
	return c
}

// match is an episode that agents play.
type match struct {
	game  *game.Game
	round game.Round
	// act fills the joint action.
	act func(tx *cluster.Txn, r *game.Round, joint []game.Action)
	// played, if not nil, is called with the joint action and whether there is another round.
	played func(tx *cluster.Txn, joint []game.Action, more bool)
}

// play plays an episode to its end, at which every job has finished, and returns its log.
func (m *match) play(t rapid.TB, c game.Config, e *sim.Episode) *sim.Log {
	t.Helper()
	var err error
	if m.game, err = game.New(c, len(e.Config.Cluster.Servers)); err != nil {
		t.Fatal(err)
	}
	if err = m.game.Reset(1); err != nil {
		t.Fatal(err)
	}
	s, joint := simtest.Begin(t, e), make([]game.Action, len(e.Config.Cluster.Servers))
	for {
		tx, ok := s.Next()
		if !ok {
			break
		}
		more, err := m.game.Begin(tx)
		for more && err == nil {
			if err = m.game.Show(&m.round); err != nil {
				break
			}
			m.act(tx, &m.round, joint)
			if more, err = m.game.Play(joint); err == nil && m.played != nil {
				m.played(tx, joint, more)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Commit()
	}
	if !s.Outcome().Terminated {
		t.Fatalf("outcome %+v, want every job finished", s.Outcome())
	}
	return s.Log()
}

// wander names random candidates: some by their whole coalition, some by a part of it, and some by arbitrary agents.
func wander(draw *rand.Rand) func(*cluster.Txn, *game.Round, []game.Action) {
	return func(_ *cluster.Txn, r *game.Round, joint []game.Action) {
		clear(joint)
		for range draw.IntN(4) {
			n, all := game.Action(1+draw.IntN(len(r.List))), draw.IntN(3) > 0
			for _, s := range r.Members(n) {
				if all || draw.IntN(2) == 0 {
					joint[s.Server] = n
				}
			}
		}
		if draw.IntN(4) == 0 {
			i := draw.IntN(len(joint))
			if n := game.Action(draw.IntN(r.Spec().Candidates)); r.Legal(i)[n] {
				joint[i] = n
			}
		}
	}
}

func drawWander(t *rapid.T) func(*cluster.Txn, *game.Round, []game.Action) {
	return wander(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "draws"), 1)))
}

// enough fails a test that has seen fewer cases than wanted.
func enough(t *testing.T, what string, n, want int) {
	t.Helper()
	if t.Logf("%d %s", n, what); n < want {
		t.Errorf("%d %s, want %d or more", n, what, want)
	}
}
