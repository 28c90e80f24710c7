package cli

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/stats"
)

// latency is the time that a policy's decisions took, on this machine and with this number of parallel episodes.
type latency struct {
	Policy string  `json:"policy"`
	P50    float64 `json:"p50_us"` // median over cases of the case's median
	P99    float64 `json:"p99_us"` // median over cases of the case's 99th percentile
	Max    float64 `json:"max_us"` // over all decisions
}

// latencies returns the latencies of the policies, in their order in the results.
func latencies(results []eval.Result) []latency {
	var all []latency
	for i := range results {
		name := results[i].Policy
		if slices.ContainsFunc(all, func(l latency) bool { return l.Policy == name }) {
			continue
		}
		l := latency{Policy: name}
		var p50, p99 []float64
		for k := range results {
			if t := results[k].Timing; t != nil && results[k].Policy == name {
				p50, p99, l.Max = append(p50, t.P50), append(p99, t.P99), max(l.Max, t.Max)
			}
		}
		if len(p50) > 0 {
			l.P50, l.P99 = stats.Quantile(p50, .5), stats.Quantile(p99, .5)
			all = append(all, l)
		}
	}
	return all
}

func (e *evaluated) print(a *app) error {
	width, colour := a.Terminal()
	for i := range e.Comparisons {
		if i > 0 {
			a.Printf("\n\n")
		}
		if err := e.Comparisons[i].WriteTable(a.Out, eval.Screen{Width: width, Colour: colour}); err != nil {
			return err
		}
	}
	e.sayLatency(a)
	if len(e.Gate) > 0 {
		a.Printf("\n")
		for i := range e.Gate {
			a.Printf("gate: %s\n", &e.Gate[i])
		}
	}
	a.Say("\nreport: %s", e.Report)
	return nil
}

func (e *evaluated) sayLatency(a *app) {
	rows := [][]string{{"a decision, µs", "p50", "p99", "max"}}
	for _, l := range e.Latency {
		row := []string{l.Policy}
		for _, us := range []float64{l.P50, l.P99, l.Max} {
			row = append(row, fmt.Sprintf("%.3g", us))
		}
		rows = append(rows, row)
	}
	a.Say("\nOn this machine, and no part of the results:")
	a.SayRows(rows)
}

// printMarkdown prints one Markdown table of all scenarios, for example for a README.
func (e *evaluated) printMarkdown(a *app, metrics []string, overSeeds bool) error {
	all := e.Comparisons
	if overSeeds {
		all = make([]eval.Comparison, len(e.Comparisons))
		for i := range all {
			all[i] = eval.OverSeeds(&e.Comparisons[i])
		}
	}
	a.Printf("%s", eval.Markdown(all, metrics...))
	return nil
}
