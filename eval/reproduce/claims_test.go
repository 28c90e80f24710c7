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
			f[JCTMean], f[TrainingUse] = x, x/1000
			r.each = append(r.each, f)
			sum += x
		}
		r.Mean[JCTMean], r.Mean[TrainingUse] = sum/float64(len(jct)), sum/float64(len(jct))/1000
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
		{"a ratio above its bar holds", Claim{Metric: JCTMean, Over: "c", Under: "a", Paper: 2, Bar: 1.9}, Holds, 1, "400 / 200"},
		{"a ratio of four fifths of the gain holds", Claim{Metric: JCTMean, Over: "c", Under: "a", Paper: 2.2}, Holds, 1, "400 / 200"},
		{"a ratio far above the published one", Claim{Metric: JCTMean, Over: "c", Under: "a", Paper: 1.4}, Exceeds, 2, "400 / 200"},
		{"a ratio below its bar is weaker", Claim{Metric: JCTMean, Over: "b", Under: "a", Paper: 2}, Weaker, 1, "240 / 200"},
		{"a ratio the wrong way round", Claim{Metric: JCTMean, Over: "a", Under: "b", Paper: 1.1}, Reversed, 0, "200 / 240"},
		{"an order holds, in one of two seeds", Claim{Metric: JCTMean, Order: []string{"a", "b", "c"}}, Holds, 1, "200 < 240 < 400"},
		{"an order of which half holds", Claim{Metric: JCTMean, Order: []string{"b", "a", "c"}}, Reversed, 1, "240 > 200 < 400"},
		{"an order of which more than half holds", Claim{Metric: JCTMean, Order: []string{"b", "a", "b", "c"}}, Partly, 0,
			"240 > 200 < 240 < 400"},
		{"an order of what is better when higher", Claim{Metric: TrainingUse, Order: []string{"c", "b", "a"}}, Holds, 1,
			"40.0 > 24.0 > 20.0"},
		{"the first is best", Claim{Metric: JCTMean, First: []string{"a", "c", "b"}}, Holds, 1, "200 against 400, 240"},
		{"the first is better than most", Claim{Metric: JCTMean, First: []string{"b", "c", "c", "a"}}, Partly, 1, "240 against 400, 400, 200"},
		{"a row failed", Claim{Metric: JCTMean, Over: "failed", Under: "a", Paper: 2}, NotRun, 0, ""},
		{"a row is not there", Claim{Metric: JCTMean, Order: []string{"a", "d"}}, NotRun, 0, ""},
		{"a figure of an order is not there", Claim{Metric: OverallUse, Order: []string{"a", "b"}}, NotRun, 0, ""},
		{"a figure is not there", Claim{Metric: OverallUse, Over: "a", Under: "b", Paper: 2}, NotRun, 0, "- / -"},
	} {
		v := c.claim.judge(rows)
		if v.Outcome != c.want || v.Seeds != c.seeds || v.Shown != c.shown {
			t.Errorf("%s: %s in %d seeds, %q; want %s in %d, %q", c.name, v.Outcome, v.Seeds, v.Shown, c.want, c.seeds, c.shown)
		}
	}
}
