package game_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// settle computes the agreement one candidate after the other. It returns the candidate that is carried out, or Pass, and the
// refused ones.
func settle(list []candidates.Candidate, how game.Agreement, joint []game.Action) (carried game.Action, refused []game.Refusal) {
	for k := range list {
		n := game.Action(k + 1)
		if !slices.Contains(joint, n) {
			continue
		}
		agreed, lead, weight := true, cluster.ServerID(-1), float32(0)
		for _, m := range list[k].Members {
			if m.Weight > weight {
				lead, weight = m.Server, m.Weight
			}
			a := joint[m.Server]
			agreed = agreed && (a == n || how == game.Lead && a == game.Pass)
		}
		switch {
		case !agreed || joint[lead] != n:
			refused = append(refused, game.Refusal{Candidate: n, Reason: game.Disagreed})
		case carried != game.Pass:
			refused = append(refused, game.Refusal{Candidate: n, Reason: game.Overtaken})
		default:
			carried = n
		}
	}
	return carried, refused
}

// TestWhatIsAgreedOnIsCarriedOut checks that the game carries out exactly what a plain loop finds agreed, and refuses what the
// loop finds refused: a walk that takes those candidates gives the same log.
func TestWhatIsAgreedOnIsCarriedOut(t *testing.T) {
	taken, passed := 0, 0
	reasons := map[game.Reason]int{}
	simtest.Many(t, 400, func(t *rapid.T) {
		c, e := drawGame(t), simtest.Draw(t)
		var script []game.Action
		m := &match{}
		move := drawWander(t)
		var wantRefused []game.Refusal
		m.act = func(tx *cluster.Txn, r *game.Round, joint []game.Action) {
			var carried game.Action
			move(tx, r, joint)
			carried, wantRefused = settle(r.List, c.Agree, joint)
			if script = append(script, carried); carried == game.Pass {
				passed++
			} else {
				taken++
			}
		}
		m.played = func(_ *cluster.Txn, joint []game.Action, _ bool) {
			if got := m.game.Refused(); !slices.Equal(got, wantRefused) {
				t.Fatalf("agents name %v and %v is refused, want %v", joint, got, wantRefused)
			}
			for _, x := range wantRefused {
				reasons[x.Reason]++
			}
		}
		got := simtest.Written(t, m.play(t, c, e))
		want := &follower{walk: candidates.NewSource(c.Review), script: script}
		if text := simtest.Written(t, simtest.End(t, simtest.Begin(t, e), want)); text != got {
			t.Fatalf("the agents' log is\n%s\nthat of the candidates %v is\n%s", got, script, text)
		}
		if len(want.script) > 0 {
			t.Fatalf("%d candidates were not taken", len(want.script))
		}
		if m.game.Tally() != want.walk.Tally() {
			t.Fatalf("counted %v, want %v", m.game.Tally(), want.walk.Tally())
		}
	})
	enough(t, "candidates carried out", taken, 500)
	enough(t, "rounds passed", passed, 100)
	enough(t, "candidates disagreed on", reasons[game.Disagreed], 100)
	enough(t, "candidates overtaken", reasons[game.Overtaken], 10)
}

// follower takes candidates by their recorded numbers.
type follower struct {
	walk   candidates.Source
	script []game.Action
}

func (f *follower) Name() string            { return "follower" }
func (f *follower) Reset(seed uint64) error { return f.walk.Reset(seed) }

func (f *follower) Schedule(tx *cluster.Txn) error {
	err := f.walk.Begin(tx)
	for err == nil && len(f.walk.List()) > 0 {
		if len(f.script) == 0 {
			return errors.New("the script has ended")
		}
		n := f.script[0]
		if f.script = f.script[1:]; n == game.Pass {
			err = f.walk.Pass()
		} else {
			_, err = f.walk.TakeAll([]int{int(n) - 1})
		}
	}
	return err
}

// TestMaskedActionsChangeNothing checks that an action outside the mask, or with a number that does not exist, gives an error and
// changes nothing: neither the state, the round, the tally nor the time at which the agents are asked again.
func TestMaskedActionsChangeNothing(t *testing.T) {
	tried := 0
	simtest.Many(t, 200, func(t *rapid.T) {
		c, e := drawGame(t), simtest.Draw(t)
		m := &match{}
		move := drawWander(t)
		var again game.Round
		m.act = func(tx *cluster.Txn, r *game.Round, joint []game.Action) {
			move(tx, r, joint)
			picture := func() string {
				at, woken := tx.Wake()
				return fmt.Sprintln(simtest.Portray(tx.View()), tx.Mark(), tx.Events(), at, woken, m.game.Tally(), m.game.Refused())
			}
			before := picture()
			for i := range joint {
				old := joint[i]
				for n := -1; n <= r.Spec().Candidates; n++ {
					if n >= 0 && n < r.Spec().Candidates && r.Legal(i)[n] {
						continue
					}
					joint[i] = game.Action(n)
					if more, err := m.game.Play(joint); more || !errors.Is(err, game.ErrMasked) ||
						!strings.Contains(err.Error(), fmt.Sprintf("agent %d names %d", i, n)) {
						t.Fatalf("agent %d names %d: %v, want an error about it that is ErrMasked", i, n, err)
					}
					tried++
				}
				joint[i] = old
			}
			if after := picture(); after != before {
				t.Fatalf("it was\n%s\nand is\n%s", before, after)
			}
			must.Do(t, m.game.Show(&again))
			if want, got := portray(r), portray(&again); got != want {
				t.Fatalf("the round was\n%s\nand is\n%s", want, got)
			}
		}
		m.play(t, c, e)
	})
	enough(t, "masked actions", tried, 1000)
}

// TestPlayNeedsARound checks that Play returns an error without one action per agent, and without a round.
func TestPlayNeedsARound(t *testing.T) {
	g, tx := opened(t)
	if more, err := g.Play(make([]game.Action, 3)); more || err == nil || !strings.Contains(err.Error(), "3 actions, want one for each of the 4") {
		t.Errorf("error %v, want one about 3 actions", err)
	}
	for more := true; more; {
		var err error
		if more, err = g.Play(make([]game.Action, 4)); err != nil {
			t.Fatal(err)
		}
	}
	at, woken := tx.Wake()
	if more, err := g.Play(make([]game.Action, 4)); more || err == nil || !strings.Contains(err.Error(), "no round") {
		t.Errorf("error %v, want one about a round", err)
	}
	if a, w := tx.Wake(); a != at || w != woken {
		t.Errorf("asked again at %v, want %v", a, at)
	}
}

// TestPassingStarvesNobody checks that, if all agents always pass, every job still finishes, and no job that the prior would
// start is kept for longer than Hold.
func TestPassingStarvesNobody(t *testing.T) {
	const retry = 5 * time.Minute // the retry interval after which a job that was kept is reviewed again
	passed, kept := 0, 0
	simtest.Many(t, 300, func(t *rapid.T) {
		c, e := drawGame(t), simtest.Draw(t)
		var proposed []cluster.JobID
		inner := c.Review.Base
		c.Review.Base = func() cluster.Scheduler { return simtest.Witness{Scheduler: inner(), Starts: &proposed} }
		since := map[cluster.JobID]time.Duration{}
		m := &match{act: func(_ *cluster.Txn, _ *game.Round, joint []game.Action) {
			clear(joint)
			passed++
		}}
		m.played = func(tx *cluster.Txn, _ []game.Action, _ bool) {
			for _, id := range proposed {
				at, before := since[id]
				switch {
				case tx.View().Phase(id) == cluster.Running:
				case !before:
					since[id] = tx.Now()
					kept++
				case tx.Now()-at >= c.Review.Hold+retry:
					t.Fatalf("job %d, which could have started at %v, still waits at %v, want it kept for %v at most", id, at, tx.Now(),
						c.Review.Hold)
				}
			}
		}
		m.play(t, c, e)
	})
	enough(t, "rounds passed", passed, 1000)
	enough(t, "jobs kept", kept, 300)
}

func TestGamesThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*game.Config)
	}{
		{"agreement(2), want all or lead", func(c *game.Config) { c.Agree = 2 }},
		{"no prior", func(c *game.Config) { c.Review.Base = nil }},
		{"no placer", func(c *game.Config) { c.Review.Start = nil }},
		{"0 candidates", func(c *game.Config) { c.Review.Items = 0 }},
		{"0 features of servers", func(c *game.Config) { c.Encoder = &table{spec: observe.Spec{Candidate: make([]observe.Feature, 1)}} }},
		{"0 of candidates", func(c *game.Config) { c.Encoder = &table{spec: observe.Spec{Server: make([]observe.Feature, 1)}} }},
		{"window of -1 jobs", func(c *game.Config) { c.Encoder = &table{spec: observe.Spec{Window: -1}} }},
	} {
		config := about(t, "sjfskip")
		c.change(&config)
		if _, err := game.New(config, 4); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one that says %q", err, c.want)
		}
	}
}

func TestAgreementsHaveNames(t *testing.T) {
	for _, a := range []game.Agreement{game.All, game.Lead} {
		if b, err := game.ParseAgreement(a.String()); err != nil || b != a {
			t.Errorf("%v is read as %v, %v", a, b, err)
		}
	}
	if _, err := game.ParseAgreement("most"); err == nil || !strings.Contains(err.Error(), `"most", want all or lead`) {
		t.Errorf("error %v, want one about most", err)
	}
	if a, b := game.Disagreed.String(), game.Overtaken.String(); a == b || a == "" || b == "" {
		t.Errorf("reasons are %q and %q", a, b)
	}
}
