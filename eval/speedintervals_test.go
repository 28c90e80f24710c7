package eval

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

var (
	intervals = flag.String("intervals", "", "a split: TestIntervalsOfReadings plays all of its windows, by default three of validation")
)

// coverage counts readings by whether they lie in the interval that was predicted to contain them with probability 0.8.
type coverage struct{ in, below, above int }

func (c coverage) all() int { return c.in + c.below + c.above }

func (c coverage) share() float64 { return float64(c.in) / float64(c.all()) }

func (c coverage) String() string {
	if c.all() == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %% of %d", 100*c.share(), c.all())
}

// gauge is a scheduler beside which speeds are learned from readings. Before it learns from a reading of a job that had readings
// before, it compares the reading with what was predicted.
type gauge struct {
	cluster.Scheduler
	speeds *belief.Speeds
	before map[cluster.JobID][]cluster.Reading // what it has learned from
	counts map[string]coverage                 // by what changed, see changed; "all" for all
}

func (g *gauge) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	for _, id := range s.Running() {
		g.judge(s, id)
	}
	for _, e := range tx.Events() {
		if e.Kind == cluster.Finished || e.Kind == cluster.Interrupted {
			g.judge(s, e.Job)
		}
	}
	g.speeds.Observe(tx)
	return g.Scheduler.Schedule(tx)
}

// judge compares the new readings of a job with what is predicted of them.
func (g *gauge) judge(s *cluster.View, id cluster.JobID) {
	spec, before := s.Spec(id), g.before[id]
	last := time.Duration(-1)
	if len(before) > 0 {
		last = before[len(before)-1].At
	}
	for _, r := range s.Readings(id) {
		if r.At <= last || r.MemMiB < spec.Request.MemMiB {
			continue // known, or left out of what is learned
		}
		g.before[id] = append(g.before[id], r)
		what := changed(before, &r)
		mean, sd, ok := g.speeds.Next(s, spec, &r.Configuration)
		if !ok || what == "" {
			continue
		}
		for _, k := range []string{what, "all"} {
			c := g.counts[k]
			switch miss := (math.Log(r.Speed) - mean) / sd; {
			case miss < -1.2816:
				c.below++
			case miss > 1.2816:
				c.above++
			default:
				c.in++
			}
			g.counts[k] = c
		}
	}
}

// changes are the differences of configurations that are told apart.
var changes = []struct {
	name string
	is   func(a, b *cluster.Configuration) bool
}{
	{"CPU", func(a, b *cluster.Configuration) bool { return a.CPUMilli != b.CPUMilli }},
	{"workers", func(a, b *cluster.Configuration) bool { return a.Workers != b.Workers }},
	{"GPU type", func(a, b *cluster.Configuration) bool { return a.GPUType != b.GPUType }},
	{"shared", func(a, b *cluster.Configuration) bool { return a.Shared != b.Shared }},
	{"spread", func(a, b *cluster.Configuration) bool { return a.Workers == b.Workers && a.Servers != b.Servers }},
}

// changed says in what the configuration of a reading differs from one of those before it: the name of the change, "several", or ""
// for none.
func changed(before []cluster.Reading, r *cluster.Reading) (what string) {
	for _, c := range changes {
		if slices.ContainsFunc(before, func(o cluster.Reading) bool { return c.is(&o.Configuration, &r.Configuration) }) {
			if what != "" {
				return "several"
			}
			what = c.name
		}
	}
	return what
}

// TestIntervalsOfReadings plays unseen windows and checks how many readings lie in the intervals that beliefs about speed predict
// from the earlier readings of the job: with beliefs that begin each window cold, and with those of training windows. In the last
// scenario, models run at other speeds than in the others, and beliefs come from the training windows of the scenario before it.
// The bounds are wide for three windows, because the readings of a window are not independent. With -v it prints a table.
func TestIntervalsOfReadings(t *testing.T) {
	t.Setenv(scenario.SharedVariable, sharedtest.Dir(t))
	split, windows, least, most := scenario.Validation, 3, 0.65, 0.9
	names := []string{"venus-load110-weak-moldable-warm", "hetero-warm-venus", "varied-venus"}
	if *intervals != "" {
		split, windows, least, most = scenario.Split(*intervals), math.MaxInt, 0.75, 0.9
		names = slices.Insert(names, 1, "mixed-load150-weak-moldable-warm")
	}
	kinds := []string{"all"}
	for _, c := range changes {
		kinds = append(kinds, c.name)
	}
	kinds = append(kinds, "several")
	table := "\n| scenario | beliefs | " + strings.Join(kinds, " | ") + " |\n" + strings.Repeat("|---", 2+len(kinds)) + "|\n"
	var given baselines.Given
	for i, name := range names {
		name = name + "-untold-v1"
		s, err := scenario.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		src, err := s.Open()
		if err != nil {
			t.Fatal(err)
		}
		if i < len(names)-1 {
			if given, err = newPast(src).fit(t.Context(), baselines.Needs{Learned: true, Speeds: true}, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, warm := range []bool{false, true} {
			total := map[string]coverage{}
			n := src.Count(split)
			for k := range min(windows, n) {
				e, err := src.Episode(split, (2*k+1)*n/(2*min(windows, n)), fitSeed)
				if err != nil {
					t.Fatal(err)
				}
				for what, c := range measure(t, e, given, warm) {
					sum := total[what]
					total[what] = coverage{sum.in + c.in, sum.below + c.below, sum.above + c.above}
				}
			}
			table += fmt.Sprintf("| %s | %s |", name, map[bool]string{false: "cold", true: "from training windows"}[warm])
			for _, k := range kinds {
				table += " " + total[k].String() + " |"
			}
			table += "\n"
			if c := total["all"]; !(c.share() > least && c.share() < most) {
				t.Errorf("%s, warm %t: the intervals contain %v readings, want %.0f to %.0f %%", name, warm, c, 100*least, 100*most)
			}
			t.Logf("%s, warm %t: %.1f %% below, %.1f %% above", name, warm, 100*float64(total["all"].below)/float64(total["all"].all()),
				100*float64(total["all"].above)/float64(total["all"].all()))
		}
	}
	t.Log(table)
}

// measure plays an episode, with beliefs from training windows if warm, and counts readings by what changed.
func measure(t *testing.T, e scenario.Episode, given baselines.Given, warm bool) map[string]coverage {
	t.Helper()
	name, speeds := observer, belief.NewSpeeds(true)
	if warm {
		name += ":seen=training"
		if err := speeds.Restore(given.Speeds()); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := baselines.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	plays, err := spec.New(given)
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.New()
	if err != nil {
		t.Fatal(err)
	}
	g := &gauge{plays, speeds, map[cluster.JobID][]cluster.Reading{}, map[string]coverage{}}
	if err := s.Run(t.Context(), g, fitSeed); err != nil {
		t.Fatal(err)
	}
	return g.counts
}
