package reproduce

import (
	"testing"
)

func TestVerdicts(t *testing.T) {
	row := func(key string, jct ...float64) Result {
		r := Result{Row: Row{Key: key}, Mean: unknown()}
		sum := 0.0
		for _, x := range jct {
			f := unknown()
			f[jctMean], f[trainingUse] = x, x/1000
			r.each = append(r.each, f)
			sum += x
		}
		r.Mean[jctMean], r.Mean[trainingUse] = sum/float64(len(jct)), sum/float64(len(jct))/1000
		return r
	}
	rows := []Result{row("a", 100, 300), row("b", 200, 280), row("c", 400, 400), {Row: Row{Key: "failed"}, Error: "x"}}
	for _, c := range []struct {
		name  string
		claim Claim
		want  string
		seeds int
		shown string
	}{
		{"a ratio above its bar holds", Claim{Metric: jctMean, Over: "c", Under: "a", Paper: 2, Bar: 1.9}, holds, 1, "400 / 200"},
		{"a ratio of four fifths of the gain holds", Claim{Metric: jctMean, Over: "c", Under: "a", Paper: 2.2}, holds, 1, "400 / 200"},
		{"a ratio far above the published one", Claim{Metric: jctMean, Over: "c", Under: "a", Paper: 1.4}, exceeds, 2, "400 / 200"},
		{"a ratio below its bar is weaker", Claim{Metric: jctMean, Over: "b", Under: "a", Paper: 2}, weaker, 1, "240 / 200"},
		{"a ratio the wrong way round", Claim{Metric: jctMean, Over: "a", Under: "b", Paper: 1.1}, reversed, 0, "200 / 240"},
		{"an order holds, in one of two seeds", Claim{Metric: jctMean, Order: []string{"a", "b", "c"}}, holds, 1, "200 < 240 < 400"},
		{"an order of which half holds", Claim{Metric: jctMean, Order: []string{"b", "a", "c"}}, reversed, 1, "240 > 200 < 400"},
		{"an order of which more than half holds", Claim{Metric: jctMean, Order: []string{"b", "a", "b", "c"}}, partly, 0,
			"240 > 200 < 240 < 400"},
		{"an order of what is better when higher", Claim{Metric: trainingUse, Order: []string{"c", "b", "a"}}, holds, 1,
			"40.0 > 24.0 > 20.0"},
		{"the first is best", Claim{Metric: jctMean, First: []string{"a", "c", "b"}}, holds, 1, "200 against 400, 240"},
		{"the first is better than most", Claim{Metric: jctMean, First: []string{"b", "c", "c", "a"}}, partly, 1, "240 against 400, 400, 200"},
		{"a row failed", Claim{Metric: jctMean, Over: "failed", Under: "a", Paper: 2}, untried, 0, ""},
		{"a row is not there", Claim{Metric: jctMean, Order: []string{"a", "d"}}, untried, 0, ""},
		{"a figure of an order is not there", Claim{Metric: overallUse, Order: []string{"a", "b"}}, untried, 0, ""},
		{"a figure is not there", Claim{Metric: overallUse, Over: "a", Under: "b", Paper: 2}, untried, 0, "- / -"},
	} {
		v := c.claim.judge(rows)
		if v.Outcome != c.want || v.Seeds != c.seeds || v.Shown != c.shown {
			t.Errorf("%s: %s in %d seeds, %q; want %s in %d, %q", c.name, v.Outcome, v.Seeds, v.Shown, c.want, c.seeds, c.shown)
		}
	}
}
