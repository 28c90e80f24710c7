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
	"pgregory.net/rapid"
)

// The tests take all baselines.
func init() { all.Register() }

// priors lists every baseline but rollout by name, as it is and with each of the suffixes that it takes. One that moves jobs and
// borrows servers is not among them: a baseline of that name borrows once it has moved, a prior moves once it has borrowed.
func priors() (names []string) {
	for _, b := range baselines.All() {
		if b.Name == "rollout" {
			continue
		}
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

// about is a game about a baseline's proposals.
func about(t rapid.TB, prior string) game.Config {
	t.Helper()
	r, err := baselines.Reviewed(prior)
	if err != nil {
		t.Fatal(err)
	}
	return game.Config{Review: r.Config, Rule: r.Rule}
}

// drawGame draws a game.
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
	// act fills what the agents name.
	act func(tx *cluster.Txn, r *game.Round, joint []game.Action)
	// played is told what they named and whether there is another round; nil for nobody.
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

// wander names candidates at random: some by all of their servers, some by a part of them, and some by anybody.
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

// enough fails a test that has seen too little.
func enough(t *testing.T, what string, n, want int) {
	t.Helper()
	if t.Logf("%d %s", n, what); n < want {
		t.Errorf("%d %s, want %d or more", n, what, want)
	}
}
