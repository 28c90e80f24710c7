package baselines

import (
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
)

// newest is a user's scheduler that starts the latest job first.
type newest struct{ name string }

func (n *newest) Name() string { return n.name }

func (*newest) Reset(uint64) error { return nil }

func (*newest) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	waiting := slices.Clone(s.Pending())
	slices.Reverse(waiting)
	for _, id := range waiting {
		if at, fits := s.BestFit(id, nil); fits {
			if err := tx.Place(id, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// newest is among the baselines of all tests of this package, so that they also check it.
func init() {
	Register(Baseline{
		Name: "newest", About: "the job that came last starts first", Rule: "The job that came last starts first.", Source: "own",
		Needs: needsNothing,
	}, func() cluster.Scheduler { return &newest{"newest"} })
}

func TestOwnScheduler(t *testing.T) {
	if names := Names(); names[len(names)-1] != "newest" || !Known("newest+move") {
		t.Errorf("the names are %q", names)
	}
	for _, name := range []string{"newest", "newest+move", "newest+loan", "newest+move:saves=1h+loan:reclaim=scf", "rollout:base=newest"} {
		if s, err := New(name); err != nil || s.Name() != name {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	for name, want := range map[string]string{
		"newest+menu": "it chooses amounts itself, want +menu behind an order of jobs",
		"newest:x=1":  `no option "x", want none`,
		"newset":      "newest",
	} {
		if _, err := New(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", name, err, want)
		}
	}
	if r, err := Reviewed("fifo+menu:tries=3:wait=false"); err != nil || r.Play().Name() != "fifo+menu:wait=false:tries=1" {
		t.Errorf("played on with options of the menu: %v", err)
	}
	if r, err := Reviewed("newest"); err != nil || r.Play().Name() != "newest" {
		t.Errorf("as a prior: %v", err)
	}
	if c, err := Wide("fifo", 8, "newest", "newest+move"); err != nil || len(c.Rivals) != 2 {
		t.Errorf("as a rival: %v", err)
	}
}

// TestRegisterRefuses checks that registering under a name that has another meaning, or under an invalid name, panics with the
// reason.
func TestRegisterRefuses(t *testing.T) {
	before := len(All())
	for _, c := range [][3]string{ // name, name that the scheduler returns, message
		{"newest", "newest", `scheduler "newest": the program already has a policy of that name`},
		{"fifo", "fifo", `scheduler "fifo": the program already has a policy of that name`},
		{"rollout", "rollout", `scheduler "rollout": the program already has a policy of that name`},
		{"prior", "prior", `scheduler "prior": the program already has a policy of that name`},
		{"released", "released", `scheduler "released": the program already has a policy of that name`},
		{"mine", "yours", `scheduler "mine": it calls itself "yours", want the name that it is registered by`},
		{"mine+loan", "mine+loan", "want a name of"},
		{"mine:x=1", "mine:x=1", "want a name of"},
		{"", "", "want a name of"},
	} {
		said := func() (said string) {
			defer func() { said, _ = recover().(string) }()
			Register(Baseline{Name: c[0]}, func() cluster.Scheduler { return &newest{c[1]} })
			return ""
		}()
		if !strings.Contains(said, c[2]) {
			t.Errorf("%q: %q, want %q", c[0], said, c[2])
		}
	}
	if after := len(All()); after != before {
		t.Errorf("%d baselines, %d before", after, before)
	}
}
