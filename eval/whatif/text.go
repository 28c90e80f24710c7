package whatif

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/phrase"
)

// WriteText writes the result as text. The parameter most is the largest number of jobs to write; if it is negative, all.
func (r *Result) WriteText(w io.Writer, most int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) // keeps the first error, which Flush returns
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\n", args...) }
	r.head(say)
	say("")
	r.totals(say)
	r.costs(say)
	if r.Compared < r.Jobs {
		say("\nmeans are over the %s", r.compared())
	}
	if r.Change != nil {
		say("\n%s", r.verdict())
	}
	shown := r.Effects
	if r.Change != nil {
		shown = slices.DeleteFunc(slices.Clone(shown), func(e Effect) bool { return e.same() })
	}
	moved := len(shown)
	if most >= 0 {
		shown = shown[:min(moved, most)]
	}
	if len(shown) > 0 {
		say("")
		r.effects(shown, say)
	}
	if len(shown) < moved {
		of := phrase.Count(moved, "job")
		if r.Change != nil {
			of = "the " + of + " affected"
		}
		say("\n%d of %s; --all shows them all", len(shown), of)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write what-if: %w", err)
	}
	return nil
}

// head says what is played, and what is different at first.
func (r *Result) head(say func(string, ...any)) {
	at := time.Duration(r.Now * float64(time.Second)).Round(time.Second)
	if r.Decision > 0 {
		say("%s from decision %d at %s on, as the log has them", phrase.Count(r.Jobs, "job"), r.Decision, at)
	} else {
		say("%s at %s, played to the end: a forecast, nothing is changed", phrase.Count(r.Jobs, "job"), at)
	}
	for _, line := range r.assumptions() {
		say("%s", line)
	}
	if r.Instead != "" {
		say("does:     %s\ninstead:  %s", r.Does, r.Instead)
	}
	for _, text := range r.Dropped {
		say("no longer fits: %s", text)
	}
	if r.Differs {
		say("%s decides otherwise than the log after that, also as it was", r.Base.Policy)
	}
}

func (r *Result) compared() string {
	if r.Change == nil {
		return phrase.Count(r.Compared, "job") + " that finish"
	}
	return phrase.Count(r.Compared, "job") + " that finish in both"
}

func (r *Result) assumptions() (lines []string) {
	for _, guess := range []struct {
		why   Guess
		words string
	}{
		{noEstimate, "no estimate, and the one assumed is taken"},
		{learned, "no estimate, and the median of similar jobs that have ended is taken"},
		{overrun, "outlived the estimate, and is taken to need as long again as it ran"},
		{shrunk, "asks for more workers than the working servers hold, and is taken to ask for as many as they do"},
	} {
		var names []string
		for _, a := range r.Assumed {
			if a.Why == guess.why && !slices.Contains(names, a.Job) {
				names = append(names, a.Job)
			}
		}
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("assumed: %s (%s)", guess.words, some(names)))
		}
	}
	return lines
}

func (s *Side) name() string { return s.Policy + ", " + s.Cluster }

// sides returns both sides, of which the second is the first without a change, and their difference.
func (r *Result) sides() (base, change *Side, d *Totals) {
	if r.Change == nil {
		return &r.Base, &r.Base, new(Totals)
	}
	return &r.Base, r.Change, r.Difference
}

// cells says a line about each side, and their difference.
func (r *Result) cells(say func(string, ...any), label, base, change, difference string) {
	if r.Change == nil {
		change, difference = "", ""
	}
	say("%s", strings.TrimRight(strings.Join([]string{label, base, change, difference}, "\t"), "\t "))
}

// WriteCosts writes what each side costs by the objectives.
func (r *Result) WriteCosts(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	r.costs(func(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\n", args...) })
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write costs: %w", err)
	}
	return nil
}

// costs says for each objective what each side costs: in all, by term, and who pays. Of many tenants each side names those that
// cost most: those that both name are said.
func (r *Result) costs(say func(string, ...any)) {
	a, b, _ := r.sides()
	for i := range a.Costs {
		base, change := &a.Costs[i], &b.Costs[i]
		say("")
		r.cells(say, base.Objective+", "+base.Unit, a.name(), b.name(), "difference")
		line := func(label string, x, y float64) {
			sign := ""
			if y > x {
				sign = "+"
			}
			if x != 0 || y != 0 {
				r.cells(say, label, amount(x), amount(y), sign+amount(y-x))
			}
		}
		line("cost from now on", base.Total, change.Total)
		for _, part := range []struct {
			label string
			x, y  []objectives.Share
		}{
			{"  %s", base.Terms, change.Terms}, {"  GPUs %s", base.BySize, change.BySize}, {"  %s", base.ByTenant, change.ByTenant},
		} {
			for _, x := range part.x {
				k := slices.IndexFunc(part.y, func(y objectives.Share) bool { return y.Of == x.Of })
				if len(part.x) < 2 || k < 0 || x.Of == "others" {
					continue
				}
				label := fmt.Sprintf(part.label, x.Of)
				if x.Jobs > 0 {
					label += fmt.Sprintf(" (%s)", phrase.Count(x.Jobs, "job"))
				}
				line(label, x.Cost, part.y[k].Cost)
			}
		}
	}
}

// amount formats a cost.
func amount(cost float64) string {
	if math.Abs(cost) >= 1000 {
		return fmt.Sprintf("%.0f", cost)
	}
	return fmt.Sprintf("%.4g", cost)
}

func (r *Result) totals(say func(string, ...any)) {
	a, b, d := r.sides()
	times := func(label string, x, y, d float64) {
		r.cells(say, label, phrase.Seconds(x), phrase.Seconds(y), signed(d))
	}
	format := func(label, of, difference string, x, y, d any) {
		r.cells(say, label, fmt.Sprintf(of, x), fmt.Sprintf(of, y), plus(difference, d))
	}
	r.cells(say, "", a.name(), b.name(), "difference")
	r.cells(say, "servers", fmt.Sprint(a.Servers), fmt.Sprint(b.Servers), "")
	r.cells(say, "GPUs", fmt.Sprint(a.GPUs), fmt.Sprint(b.GPUs), "")
	times("mean wait from now on", a.MeanWait, b.MeanWait, d.MeanWait)
	times("mean JCT, with age", a.MeanJCT, b.MeanJCT, d.MeanJCT)
	times("until the last finish", a.Makespan, b.Makespan, d.Makespan)
	format("GPU utilisation", "%.1f%%", "%+.1f points", 100*a.Utilisation, 100*b.Utilisation, 100*d.Utilisation)
	format("GPU-hours held", "%.1f", "%+.1f", a.Held, b.Held, d.Held)
	for i, n := range []struct {
		label   string
		x, y, d int
	}{
		{"preemptions", a.Preemptions, b.Preemptions, d.Preemptions}, {"migrations", a.Migrations, b.Migrations, d.Migrations},
		{"resizes", a.Resizes, b.Resizes, d.Resizes}, {"interruptions", a.Interruptions, b.Interruptions, d.Interruptions},
		{"jobs that never finish", a.Unfinished, b.Unfinished, d.Unfinished},
	} {
		if i == 0 || n.x != 0 || n.y != 0 {
			format(n.label, "%d", "%+d", n.x, n.y, n.d)
		}
	}
	for _, s := range []*Side{&r.Base, r.Change} {
		if s != nil && s.Ended != "" {
			say("%s: stopped early, %s", s.name(), s.Ended)
		}
	}
}

// plus formats a difference. If the result shows only zeros, it is "0".
func plus(format string, d any) string {
	if text := fmt.Sprintf(format, d); strings.ContainsAny(text, "123456789") {
		return text
	}
	return "0"
}

// verdict describes the difference in a sentence: "2 servers more save 40.0min of mean waiting".
func (r *Result) verdict() string {
	what, save, cost, others := r.Change.Cluster, "saves", "costs", ""
	switch {
	case r.Base.Policy == r.Change.Policy && r.Change.Cluster == r.Base.Cluster:
		return "nothing is different"
	case r.Base.Policy != r.Change.Policy:
		what = r.Change.Policy
		if r.Change.Cluster != r.Base.Cluster {
			what += " with " + r.Change.Cluster
		}
	case strings.Contains(what, "servers") || strings.Contains(what, " and "):
		save, cost = "save", "cost"
	}
	switch n := r.Difference.Unfinished; {
	case n > 0:
		others = fmt.Sprintf(" to the others, and %s more never finish", phrase.Count(n, "job"))
	case n < 0:
		others = fmt.Sprintf(" to those that finish in both, and %s fewer never finish", phrase.Count(-n, "job"))
	}
	switch seconds := r.Difference.MeanWait; {
	case math.Abs(seconds) < 1e-9:
		return fmt.Sprintf("%s %s no mean waiting%s", what, save, others)
	case seconds < 0:
		return fmt.Sprintf("%s %s %s of mean waiting%s", what, save, phrase.Seconds(-seconds), others)
	default:
		return fmt.Sprintf("%s %s %s of mean waiting%s", what, cost, phrase.Seconds(seconds), others)
	}
}

// same reports whether a job has the same times and end in both plays.
func (e *Effect) same() bool {
	equal := func(a, b *float64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
	return equal(e.Base.Start, e.Change.Start) && equal(e.Base.Finish, e.Change.Finish) && e.Base.Never == e.Change.Never &&
		e.Base.AtOnce == e.Change.AtOnce
}

func (r *Result) effects(shown []Effect, say func(string, ...any)) {
	if r.Change == nil {
		say("job\tnow\tstarts\tfinishes")
	} else {
		say("job\tnow\tstarts\tfinishes\tstarts then\tfinishes then\tdifference")
	}
	for i := range shown {
		e := &shown[i]
		line := append([]string{e.Job, e.state()}, e.Base.cells(e.Ran)...)
		if c := e.Change; c != nil {
			line = append(append(line, c.cells(e.Ran)...), e.difference())
		}
		say("%s", strings.Join(line, "\t"))
	}
}

func (e *Effect) difference() string {
	switch {
	case e.Earlier == nil && e.Base.Finish == nil && e.Change.Finish == nil:
		return "-"
	case e.Earlier == nil && e.Base.Finish == nil:
		return "finishes at last"
	case e.Earlier == nil:
		return "no longer finishes"
	case *e.Earlier == 0:
		return "finishes as before"
	case *e.Earlier > 0:
		return phrase.Seconds(*e.Earlier) + " earlier"
	}
	return phrase.Seconds(-*e.Earlier) + " later"
}

func (f *Fate) cells(ran bool) []string {
	start, finish := "never", "never"
	switch {
	case f.Start == nil:
	case *f.Start == 0 && ran && !f.AtOnce:
		start = "runs on"
	case *f.Start == 0:
		start = "now"
	default:
		start = "in " + phrase.Seconds(*f.Start)
	}
	if f.Finish != nil {
		finish = "in " + phrase.Seconds(*f.Finish)
	}
	return []string{start, finish}
}

// signed formats a duration with its sign.
func signed(seconds float64) string {
	switch {
	case math.Abs(seconds) < 1e-9:
		return "0s"
	case seconds < 0:
		return "-" + phrase.Seconds(-seconds)
	}
	return "+" + phrase.Seconds(seconds)
}
