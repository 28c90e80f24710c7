package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/internal/phrase"
)

// Weighed is a choice of a learned policy in a schedule that the page shows.
type Weighed struct {
	Policy string
	At     time.Duration
	Choice explain.Choice
}

// weighedView is a choice as the page shows it.
type weighedView struct {
	Policy, At string
	Candidates []candidateView
	Masked     int // candidates that nobody may name
}

type candidateView struct {
	Number, Bid, Payoff, Margin, Total, Servers, Does, Edges string
	Taken, Prior                                             bool
}

func (w *Weighed) view() weighedView {
	v := weighedView{Policy: w.Policy, At: w.At.Round(time.Second).String()}
	for i := range w.Choice.Candidates {
		c := &w.Choice.Candidates[i]
		if c.Masked {
			v.Masked++
			continue
		}
		number := func(x float64) string { return minus(fmt.Sprintf("%.3f", x)) }
		var edges []string
		for _, e := range c.Edges {
			pair := e.From + " with " + e.To
			if e.From == e.To {
				pair = e.From + " alone"
			}
			edges = append(edges, pair+" "+minus(fmt.Sprintf("%+.4f", e.Payoff)))
		}
		v.Candidates = append(v.Candidates, candidateView{
			Number: fmt.Sprint(c.Number), Bid: number(c.Bid), Payoff: number(c.Payoff), Margin: number(c.Margin), Total: number(c.Total),
			Servers: phrase.Few(c.Servers), Does: c.Does, Edges: strings.Join(edges, "; "), Taken: c.Taken, Prior: c.Prior,
		})
	}
	return v
}
