package baselines

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
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

// Tested has the baselines that the tests of this package check. An external test file replaces it by the table of package all.
var Tested Table

// tested returns Tested with a user's own scheduler.
func tested() Table {
	return Tested.With(Own(Baseline{
		Name: "newest", About: "the job that came last starts first", Rule: "The job that came last starts first.", Source: "own",
		Needs: needsNothing,
	}, func() cluster.Scheduler { return &newest{"newest"} }))
}

// parsed returns the Spec of a name without mistakes.
func parsed(t rapid.TB, name string) Spec {
	t.Helper()
	return must.Get(tested().Parse(name))(t)
}

// made returns a scheduler by its name.
func made(t rapid.TB, name string) cluster.Scheduler {
	t.Helper()
	return must.Get(parsed(t, name).New(Given{}))(t)
}

func TestOwnScheduler(t *testing.T) {
	if names := tested().Names(); names[len(names)-1] != "newest" || !tested().Known("newest+move") {
		t.Errorf("the names are %q", names)
	}
	if _, known := (Table{}).Find("newest"); known {
		t.Error("another table has the user's scheduler")
	}
	for _, name := range []string{"newest", "newest+move", "newest+loan", "newest+move:saves=1h+loan:reclaim=scf"} {
		if s, err := tested().New(name); err != nil || s.Name() != name {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	for name, want := range map[string]string{
		"newest+menu": "it chooses amounts itself, want +menu behind an order of jobs",
		"newest:x=1":  `no option "x", want one of none`,
		"newset":      "newest",
	} {
		if _, err := tested().New(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", name, err, want)
		}
	}
	if r, err := Reviewed("fifo+menu:tries=3:wait=false"); err != nil || r.Play().Name() != "fifo+menu:wait=false:tries=1" {
		t.Errorf("played on with options of the menu: %v", err)
	}
	if r, err := parsed(t, "newest").Review(Given{}); err != nil || r.Play().Name() != "newest" {
		t.Errorf("as a prior: %v", err)
	}
	if c, err := parsed(t, "fifo").Wide(8, parsed(t, "newest"), parsed(t, "newest+move")); err != nil || len(c.Rivals) != 2 {
		t.Errorf("as a rival: %v", err)
	}
}

// TestTablesRefuse checks that a name that has another meaning, or an invalid name, panics with the reason.
func TestTablesRefuse(t *testing.T) {
	for _, c := range [][3]string{ // name, name that the scheduler returns, message
		{"newest", "newest", `policy "newest": the program already has one of that name`},
		{"fifo", "fifo", `policy "fifo": the program already has one of that name`},
		{"prior", "prior", `policy "prior": the program already has one of that name`},
		{"released", "released", `policy "released": the program already has one of that name`},
		{"mine", "yours", `scheduler "mine": it calls itself "yours", want the name of the baseline`},
		{"mine+loan", "mine+loan", "want a name of"},
		{"mine:x=1", "mine:x=1", "want a name of"},
		{"", "", "want a name of"},
	} {
		said := func() (said string) {
			defer func() { said, _ = recover().(string) }()
			tested().With(Own(Baseline{Name: c[0]}, func() cluster.Scheduler { return &newest{c[1]} }))
			return ""
		}()
		if !strings.Contains(said, c[2]) {
			t.Errorf("%q: %q, want %q", c[0], said, c[2])
		}
	}
}
