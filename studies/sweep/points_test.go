package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// asked returns a request that varies the given settings.
func asked(vary ...string) Request {
	r := DefaultRequest()
	r.Scenario, r.Vary = "embedded-small-v1", vary
	return r
}

func plan(t *testing.T, r Request) *Plan {
	t.Helper()
	p, err := NewPlan(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGrid(t *testing.T) {
	p := plan(t, asked("train.rate=1e-3, 3e-3", "train.size.graph=dynamic,none", `train.label=0.1`))
	want := []string{
		"p1-rate-1e-3-graph-dynamic-label-0.1", "p2-rate-1e-3-graph-none-label-0.1", "p3-rate-3e-3-graph-dynamic-label-0.1",
		"p4-rate-3e-3-graph-none-label-0.1",
	}
	for i, point := range p.Points {
		c := &point.Config
		if point.Name != want[i] || c.Rate != []float64{1e-3, 1e-3, 3e-3, 3e-3}[i] ||
			c.Size.Graph != []string{"dynamic", "none", "dynamic", "none"}[i] || c.Label != 0.1 || c.Size.Width != 32 {
			t.Errorf("point %d: %s, %v: %+v", i, point.Name, point.Values, c)
		}
	}
	if len(p.Points) != len(want) || !slices.Equal(p.Keys, []string{"train.rate", "train.size.graph", "train.label"}) {
		t.Errorf("%d points of %v", len(p.Points), p.Keys)
	}
	with := asked(`train.rivals="srtf,las",las`)
	with.Train.Candidates = 62
	p = plan(t, with)
	if len(p.Points) != 2 || p.Points[0].Config.Rivals != "srtf,las" || p.Points[0].Name != "p1-rivals-srtf-las" {
		t.Errorf("a value with a comma: %+v", p.Points)
	}
	if p := plan(t, asked()); len(p.Points) != 1 || p.Points[0].Name != "p1" {
		t.Errorf("nothing varies: %+v", p.Points)
	}
}

// values returns a setting with n values.
func values(key string, n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint(i+4))
	}
	return key + "=" + strings.Join(list, ",")
}

// TestRandom checks that points are drawn from the grid without repetition, in its order, and by the seed.
func TestRandom(t *testing.T) {
	r := asked(values("train.windows", 30), values("train.window", 40))
	r.Random = 50
	var names [2][]string
	for i := range names {
		var seen []string
		for _, p := range plan(t, r).Points {
			seen = append(seen, fmt.Sprintf("%03d %03d", p.Config.Windows, p.Config.Window))
			names[i] = append(names[i], p.Name)
		}
		if len(seen) != 50 || !slices.IsSorted(seen) || len(slices.Compact(seen)) != 50 {
			t.Errorf("drew %v", seen)
		}
	}
	if !slices.Equal(names[0], names[1]) {
		t.Error("the same seed drew other points")
	}
	r.Train.Seed++
	other := plan(t, r)
	if slices.EqualFunc(names[0], other.Points, func(name string, p Point) bool { return name == p.Name }) {
		t.Error("another seed drew the same points")
	}
}

func TestMistakesAreNamed(t *testing.T) {
	with := func(change func(*Request), vary ...string) Request {
		r := asked(vary...)
		change(&r)
		return r
	}
	half := func(r *Request) { r.Halving = 2 }
	for _, c := range []struct {
		request Request
		want    []string
	}{
		{asked("train.rat=1"), []string{`unknown setting "train.rat"`, `"train.rate"`}},
		{asked("nonsense=1"), []string{`unknown setting "nonsense"`, "train.rate, ", "train.size.graph"}},
		{asked("scenario.horizon=1h,2h"), []string{`"scenario.horizon"`}},
		{asked("train.rate"), []string{`"train.rate"`, "KEY=VALUE"}},
		{asked("train.rate= "), []string{"KEY=VALUE"}},
		{asked("train.rate=1e-3,x"), []string{"vary train.rate", "a number", `"x"`}},
		{asked("train.rate=1e-3,5"), []string{"point p2-rate-5", "train.rate: 5"}},
		{asked("train.size.graph=none,tree"), []string{"point p2-graph-tree", `"tree"`, "dynamic"}},
		{asked("train.rate=1e-3,0.001"), []string{"1e-3 and 0.001 are the same value"}},
		{asked("train.rate=1e-3", "train.rate=2e-3"), []string{"vary train.rate", "twice"}},
		{asked(`train.rivals="las,`), []string{"vary train.rivals"}},
		{asked("train.seed=1,2"), []string{"vary train.seed", "seeds"}},
		{asked("train.prior=fifo,las"), []string{"vary train.prior", "relative to the cost of the prior"}},
		{asked("train.patience=1,2"), []string{"vary train.patience", "no run may end early"}},
		{with(func(r *Request) { r.Train.Patience = 3 }, "train.rate=1e-3,2e-3"), []string{"train.patience: 3, want 0"}},
		{with(half, "train.updates=10,20"), []string{"vary train.updates", "rungs"}},
		{asked(values("train.windows", 40), values("train.window", 40)), []string{"1600 points", "at most 1000", "random"}},
		{asked(values("train.windows", 200), values("train.window", 200), values("train.batch", 200)), []string{"1048576"}},
		{with(func(r *Request) { r.Random = 3 }, "train.rate=1e-3,2e-3"), []string{"random: 3 points of a grid of 2"}},
		{with(func(r *Request) { r.Random = 1001 }, values("train.windows", 40), values("train.window", 40)), []string{"random: 1001"}},
		{with(func(r *Request) { r.Random = -1 }), []string{"random: -1"}},
		{with(func(r *Request) { r.Seeds = 0 }), []string{"seeds: 0, want 1 to 100"}},
		{with(func(r *Request) { r.Halving = 1 }), []string{"halving: 1"}},
		{with(half), []string{"no rung before update 60 for 1 point,"}},
		{with(func(r *Request) { r.Halving, r.Train.Every = 2, 60 }, "train.rate=1e-3,2e-3"), []string{"no rung", "train.every (60)"}},
	} {
		_, err := NewPlan(c.request)
		if err == nil {
			t.Errorf("%v: no error, want %q", c.request.Vary, c.want)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: error %q lacks %q", c.request.Vary, err, part)
			}
		}
	}
}
