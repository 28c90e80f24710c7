package headroom

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/policy"
)

// TestRivalsAreToldMore checks that the best rival is also played as if it were told what the scenario hides, with the result that
// eval has of it, and that what it then achieves counts as achieved by knowing the future, and for nothing else.
func TestRivalsAreToldMore(t *testing.T) {
	src := scenariotest.Open(t, "embedded-physics-untold-v1", "workload.jobs=600", "window.arrivals=40")
	suite, err := eval.NewSuite(src, scenario.Train, []int{0, 1}) // the truth is not learned there
	if err != nil {
		t.Fatal(err)
	}
	suite.Seeds = []uint64{1}
	p := Plan{Suite: suite, Effort: 4}
	for _, name := range []string{"fjf", "las+know:speed=fit", "srsf+menu+know:speed=fit"} {
		found, err := (&policy.Finder{Fits: true}).Load(name)
		if err != nil {
			t.Fatal(err)
		}
		p.Rivals = append(p.Rivals, Rival{*found, Fixed})
	}
	without, err := Measure(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	p.Hidden = baselines.Truth{Times: true, Speeds: true}
	with, err := Measure(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	const rival = "srsf+menu+know"
	want := []Worth{
		{Of: "run times", Policy: rival + ":speed=fit:time=truth"}, {Of: "speeds", Policy: rival + ":speed=truth"},
		{Of: "both", Policy: rival + ":speed=truth:time=truth"},
	}
	if len(with.Told) != len(want) || len(with.Rows) != len(without.Rows)+len(want) || with.Ceiling != without.Ceiling {
		t.Fatalf("%+v\n%+v\nwithout %+v", with.Told, with.Rows, without.Rows)
	}
	for i, row := range without.Rows {
		at := i
		if i > 0 {
			at += len(want)
		}
		got := with.Rows[at]
		if got.Group != row.Group || got.MeanJCT > row.MeanJCT || got.MeanJCT != row.MeanJCT && row.Group != clairvoyant {
			t.Errorf("row %+v, without references %+v", got, row)
		}
		for _, w := range with.Told {
			if row.Group == clairvoyant && got.MeanJCT > w.Mean {
				t.Errorf("who knows the future achieves %v, the rival with %s %v", got.MeanJCT, w.Of, w.Mean)
			}
		}
	}
	plan := eval.Plan{Suites: []eval.Suite{suite}}
	for i, w := range want {
		if got := with.Told[i]; got.Of != w.Of || got.Policy != w.Policy || got.Rival != rival+":speed=fit" || got.Difference == nil {
			t.Errorf("told %+v, want %+v", got, w)
		}
		if row := with.Rows[1+i]; row.Group != ToldMore || row.Policy != w.Policy || row.MeanJCT != with.Told[i].Mean {
			t.Errorf("row %+v, want that of %+v", row, with.Told[i])
		}
		found, err := (&policy.Finder{Fits: true}).Load(w.Policy)
		if err != nil {
			t.Fatal(err)
		}
		plan.Policies = append(plan.Policies, *found)
	}
	results, err := eval.Run(t.Context(), plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		mean := (results[i].MeanJCT + results[len(want)+i].MeanJCT) / 2
		if got := float64(with.Told[i].Mean); got < mean*(1-1e-9) || got > mean*(1+1e-9) {
			t.Errorf("%s: mean JCT %v, eval has %v", want[i].Policy, got, mean)
		}
	}
	var b strings.Builder
	if err := with.WriteText(&b); err != nil || !strings.Contains(b.String(), "were told what the scenario hides, its mean JCT would differ by") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestRivalsOfBorrowedNamesAreNotTold checks that no rule is played in place of a policy that only bears its name.
func TestRivalsOfBorrowedNamesAreNotTold(t *testing.T) {
	m := measuring{plan: &Plan{}}
	for _, name := range []string{"las", "fifo=srsf", "srtf"} {
		p, err := new(policy.Finder).Load(name)
		if err != nil {
			t.Fatal(err)
		}
		m.plan.Rivals = append(m.plan.Rivals, Rival{*p, Fixed})
	}
	m.plan.Rivals[0].Spec = baselines.Spec{} // as of a policy that was not found
	results := []eval.Result{{}, {}, {}}
	for i, p := range m.plan.Rivals {
		results[i].Policy, results[i].Costs = p.Name, []objectives.Bill{{Total: float64(i + 1)}}
	}
	if got := m.best(results); got == nil || got.Name != "srtf" {
		t.Errorf("the best rival that can be told more is %+v, want srtf", got)
	}
}

// TestToldMore checks the names of references.
func TestToldMore(t *testing.T) {
	times, speeds, both := baselines.Truth{Times: true}, baselines.Truth{Speeds: true}, baselines.Truth{Times: true, Speeds: true}
	for _, c := range []struct {
		name string
		told baselines.Truth
		want string
	}{
		{"srsf+menu+move+know:speed=fit", times, "srsf+menu+move+know:speed=fit:time=truth"},
		{"srsf+menu+move+know:speed=fit", speeds, "srsf+menu+move+know:speed=truth"},
		{"srsf+menu+move+know:speed=fit", both, "srsf+menu+move+know:speed=truth:time=truth"},
		{"las+know:time=history:by=mean:speed=none+loan", both, "las+know:by=mean:speed=truth:time=truth+loan"},
		{"las+loan+know", speeds, "las+loan+know:speed=truth"},
		{"sjfhold:times=3:place=compact", times, "sjfhold:times=3:place=compact+know:time=truth"},
		{"las+menu", speeds, "las+menu+know:time=told:speed=truth"},
	} {
		s, err := baselines.Parse(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got := toldMore(s, c.told)
		if needs := got.Needs(); got.String() != c.want || needs.Past() || needs.Truth != c.told {
			t.Errorf("%s, told %+v: %s, want %s; it needs %+v", c.name, c.told, got, c.want, needs)
		}
	}
}
