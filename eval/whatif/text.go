package whatif

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/clustergym/clustergym/eval"
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

// cells says a line about each side, and their difference.
func (r *Result) cells(say func(string, ...any), label string, of func(*Side) string, difference func() string) {
	line := []string{label, of(&r.Base)}
	if r.Change != nil {
		line = append(line, of(r.Change), difference())
	}
	say("%s", strings.TrimRight(strings.Join(line, "\t"), "\t "))
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

// costs says for each objective what each side costs: in all, by term, and who pays.
func (r *Result) costs(say func(string, ...any)) {
	for i, o := range r.objectives {
		base := &r.Base.Costs[i]
		change := base
		if r.Change != nil {
			change = &r.Change.Costs[i]
		}
		say("")
		r.cells(say, fmt.Sprintf("%s, %s", o.Name, o.Unit), (*Side).name, func() string { return "difference" })
		line := func(label string, of func(*eval.Cost) float64) {
			a, b := of(base), of(change)
			if a == 0 && b == 0 {
				return
			}
			r.cells(say, label, func(s *Side) string { return amount(of(&s.Costs[i])) }, func() string {
				if b > a {
					return "+" + amount(b-a)
				}
				return amount(b - a)
			})
		}
		line("cost from now on", func(c *eval.Cost) float64 { return c.Total })
		for k := range o.Terms {
			line("  "+o.Terms[k].String(), func(c *eval.Cost) float64 { return c.Terms[k].Cost })
		}
		whoPays(line, "  GPUs %s (%s)", base.BySize, change.BySize, func(c *eval.Cost) []eval.Share { return c.BySize })
		whoPays(line, "  %s (%s)", base.ByTenant, change.ByTenant, func(c *eval.Cost) []eval.Share { return c.ByTenant })
	}
}

// whoPays says what the jobs of each share cost, if they are not all of one.
func whoPays(
	line func(string, func(*eval.Cost) float64), label string, all, other []eval.Share, of func(*eval.Cost) []eval.Share,
) {
	for _, s := range all {
		if len(all) < 2 || !slices.ContainsFunc(other, func(o eval.Share) bool { return o.Of == s.Of && s.Of != "others" }) {
			continue // of many tenants, each side names those that cost most
		}
		line(fmt.Sprintf(label, s.Of, phrase.Count(s.Jobs, "job")), func(c *eval.Cost) (sum float64) {
			for _, own := range of(c) {
				if own.Of == s.Of {
					sum = own.Cost
				}
			}
			return sum
		})
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
	cells := func(label string, of func(*Side) string, difference func(*Totals) string) {
		r.cells(say, label, of, func() string { return difference(r.Difference) })
	}
	none := func(*Totals) string { return "" }
	number := func(label string, of func(*Totals) int, always bool) {
		if !always && of(&r.Base.Totals) == 0 && (r.Change == nil || of(&r.Change.Totals) == 0) {
			return
		}
		cells(label, func(s *Side) string { return fmt.Sprint(of(&s.Totals)) },
			func(d *Totals) string { return plus("%+d", of(d)) })
	}
	times := func(label string, of func(*Totals) float64) {
		cells(label, func(s *Side) string { return phrase.Seconds(of(&s.Totals)) },
			func(d *Totals) string { return signed(of(d)) })
	}
	cells("", (*Side).name, func(*Totals) string { return "difference" })
	cells("servers", func(s *Side) string { return fmt.Sprint(s.Servers) }, none)
	cells("GPUs", func(s *Side) string { return fmt.Sprint(s.GPUs) }, none)
	times("mean wait from now on", func(t *Totals) float64 { return t.MeanWait })
	times("mean JCT, with age", func(t *Totals) float64 { return t.MeanJCT })
	times("until the last finish", func(t *Totals) float64 { return t.Makespan })
	cells("GPU utilisation", func(s *Side) string { return fmt.Sprintf("%.1f%%", 100*s.Utilisation) },
		func(d *Totals) string { return plus("%+.1f points", 100*d.Utilisation) })
	cells("GPU-hours held", func(s *Side) string { return fmt.Sprintf("%.1f", s.Held) },
		func(d *Totals) string { return plus("%+.1f", d.Held) })
	number("preemptions", func(t *Totals) int { return t.Preemptions }, true)
	number("migrations", func(t *Totals) int { return t.Migrations }, false)
	number("resizes", func(t *Totals) int { return t.Resizes }, false)
	number("interruptions", func(t *Totals) int { return t.Interruptions }, false)
	number("jobs that never finish", func(t *Totals) int { return t.Unfinished }, false)
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
