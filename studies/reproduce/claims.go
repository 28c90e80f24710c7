package reproduce

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Claim is a statement about rows that is published, or that this project sets itself: an order of rows by one metric, which row
// is best, or a ratio of two rows.
type Claim struct {
	Text   string
	Metric Metric
	// Order contains rows, the best first.
	Order []string
	// First contains rows; the claim is that the first is the best.
	First []string
	// Over and Under are the rows whose metrics form a ratio above 1, Over / Under.
	Over, Under string
	Paper       float64 // the published ratio; NaN or 0 for none
	// Bar is the ratio that our result should reach; 0 stands for 1 + four fifths of the published gain.
	Bar float64
	// Why explains a difference from the paper.
	Why string
}

// A ratio counts as near the published one if its gain is between four fifths and twice the published gain.
const (
	fourFifths = .8
	twice      = 2
)

func (c *Claim) bar() float64 { return cmp.Or(c.Bar, 1+fourFifths*(c.Paper-1)) }

// The outcomes of a claim.
const (
	holds    = "holds"
	exceeds  = "exceeds"  // the bar is reached, but the gain is more than twice the published one
	weaker   = "weaker"   // the direction is the same, but the bar is not reached
	partly   = "partly"   // most neighbours in an order agree, or the first row is better than most
	reversed = "reversed" // the direction is opposite
	untried  = "not run"  // a row has no result
)

// Verdict is a claim and its outcome.
type Verdict struct {
	Text    string  `json:"text"`
	Metric  string  `json:"metric"`
	Paper   float64 `json:"paper,omitempty"` // the published ratio
	Bar     float64 `json:"bar,omitempty"`
	Ours    float64 `json:"ours,omitempty"` // the ratio of the means over seeds
	Shown   string  `json:"shown"`          // the figures on which it is based
	Outcome string  `json:"outcome"`
	Seeds   int     `json:"seeds"` // number of seeds under which the bar is reached or the order holds
	Why     string  `json:"why,omitempty"`
}

func (c *Claim) judge(rows []Result) Verdict {
	v := Verdict{Text: c.Text, Metric: c.Metric.Key(), Outcome: untried}
	find := func(key string) *Result {
		i := slices.IndexFunc(rows, func(r Result) bool { return r.Key == key && r.Error == "" })
		if i < 0 {
			return nil
		}
		return &rows[i]
	}
	switch {
	case c.Order != nil:
		c.judgeOrder(&v, find, c.Order, func(i int) int { return i - 1 })
	case c.First != nil:
		c.judgeOrder(&v, find, c.First, func(int) int { return 0 })
	default:
		c.judgeRatio(&v, find)
	}
	if v.Outcome != holds && v.Outcome != untried {
		v.Why = c.Why
	}
	return v
}

func (c *Claim) judgeRatio(v *Verdict, find func(string) *Result) {
	v.Paper, v.Bar = c.Paper, c.bar()
	over, under := find(c.Over), find(c.Under)
	if over == nil || under == nil {
		return
	}
	ratio := func(over, under Figures) float64 { return over[c.Metric] / under[c.Metric] }
	ours := ratio(over.Mean, under.Mean)
	v.Shown = c.Metric.show(over.Mean[c.Metric]) + " / " + c.Metric.show(under.Mean[c.Metric])
	if math.IsNaN(ours) || math.IsInf(ours, 0) {
		return
	}
	v.Ours = ours
	switch {
	case ours >= v.Bar && c.Paper > 1 && ours-1 > twice*(c.Paper-1):
		v.Outcome = exceeds
	case ours >= v.Bar:
		v.Outcome = holds
	case ours > 1:
		v.Outcome = weaker
	default:
		v.Outcome = reversed
	}
	for i := range over.each {
		if ratio(over.each[i], under.each[i]) >= v.Bar {
			v.Seeds++
		}
	}
}

// judgeOrder compares every row except the first with the row whose index better returns.
func (c *Claim) judgeOrder(v *Verdict, find func(string) *Result, keys []string, better func(i int) int) {
	var rows []*Result
	for _, key := range keys {
		r := find(key)
		if r == nil || math.IsNaN(r.Mean[c.Metric]) {
			return
		}
		rows = append(rows, r)
	}
	agree := 0
	shown := []string{c.Metric.show(rows[0].Mean[c.Metric])}
	for i := 1; i < len(rows); i++ {
		agrees := c.before(rows[better(i)].Mean, rows[i].Mean)
		if agrees {
			agree++
		}
		sign := " > "
		switch {
		case c.First != nil && i == 1:
			sign = " against "
		case c.First != nil:
			sign = ", "
		case agrees != metricKinds[c.Metric].higher:
			sign = " < "
		}
		shown = append(shown, sign, c.Metric.show(rows[i].Mean[c.Metric]))
	}
	v.Shown = strings.Join(shown, "")
	switch pairs := len(rows) - 1; {
	case agree == pairs:
		v.Outcome = holds
	case 2*agree > pairs:
		v.Outcome = partly
	default:
		v.Outcome = reversed
	}
	for seed := range rows[0].each {
		ok := true
		for i := 1; i < len(rows); i++ {
			ok = ok && c.before(rows[better(i)].each[seed], rows[i].each[seed])
		}
		if ok {
			v.Seeds++
		}
	}
}

// before reports whether a is at least as good as b.
func (c *Claim) before(a, b Figures) bool {
	if metricKinds[c.Metric].higher {
		a, b = b, a
	}
	return a[c.Metric] <= b[c.Metric]
}
