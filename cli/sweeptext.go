package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/clustergym/clustergym/eval/figure"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/train/sweep"
)

// swept is the result of sweep.
type swept struct {
	*sweep.Result

	Table  string `json:"table"` // file
	Figure string `json:"figure"`
	Eval   string `json:"eval"`   // command that evaluates the runs of the best point on test windows
	Export string `json:"export"` // command that exports the best run of the best point
	what   string // its validations compare
}

func newSwept(r *sweep.Result) *swept {
	best := &r.Points[0]
	words := []string{"eval", "--scenario", r.Scenario}
	for _, set := range r.Set {
		words = append(words, "--set", set)
	}
	words = append(words, "--policies", "prior,"+strings.Join(best.Runs, ","), "--baseline", "prior")
	return &swept{
		Result: r, Table: filepath.Join(r.Dir, "results.csv"), Figure: filepath.Join(r.Dir, "sweep.svg"),
		Eval: next(words...), Export: next("export", "--run", best.BestRun),
	}
}

// write writes the table and the figure.
func (s *swept) write(a *app) error {
	if err := a.Write(s.Table, s.WriteCSV); err != nil {
		return err
	}
	f, err := s.figure()
	if err != nil {
		return err
	}
	return a.Write(s.Figure, func(w io.Writer) error { return f.Write(w, "svg") })
}

// figure draws the validations of all points. Those that ended at the last rung are named, the best first, as far as colours
// suffice.
func (s *swept) figure() (*figure.Figure, error) {
	var named, faint []figure.Line
	stopped := 0
	for i := range s.Points {
		p := &s.Points[i]
		line := figure.Line{Name: p.Point, X: []float64{0}, Y: []float64{1}} // untrained, a point equals the prior
		for _, v := range p.Curve {
			line.X, line.Y = append(line.X, float64(v.Update)), append(line.Y, v.Validation)
		}
		ended := p.Rung == len(s.Rungs)
		if !ended {
			stopped++
		}
		if ended && len(named) < figure.MostNamed {
			named = append(named, line)
		} else {
			faint = append(faint, line)
		}
	}
	others := "others"
	if stopped == len(faint) {
		others = "stopped at a rung"
	}
	return figure.Search(s.what, named, faint, others)
}

func (s *swept) print(a *app, markdown bool) error {
	switch {
	case a.JSON:
		return a.PrintJSON(s)
	case markdown:
		a.Printf("%s", s.Markdown())
		return nil
	}
	a.Printf("%s\n%s", s.Text(), s.says())
	a.Printf("table:    %s\nfigure:   %s\nevaluate: %s\nexport:   %s\n", s.Table, s.Figure, s.Eval, s.Export)
	for _, text := range s.doubts() {
		a.Printf("%s\n", text)
	}
	return nil
}

// doubts returns why the first point of the table may not be better than the others.
func (s *swept) doubts() (list []string) {
	lowest := s.Points[0].Validation
	if lowest >= 1 {
		list = append(list, "No point is better than the prior on validation windows, so the best run may be its untrained policy.")
	}
	equal := 0
	for i := range s.Points {
		if s.Points[i].Validation == lowest {
			equal++
		}
	}
	if equal > 1 {
		list = append(list, fmt.Sprintf("%d points have the lowest validation: the order of the grid decides between them.", equal))
	}
	for _, rung := range s.Ties {
		list = append(list, fmt.Sprintf("At rung %d a point stopped that was as good as one that went on.", rung))
	}
	return list
}

// says explains the table.
func (s *swept) says() string {
	return fmt.Sprintf("validation: cost relative to the prior's on validation windows, the lowest of a run, mean over seeds;\n"+
		"below 1 is better. The best of %s is optimistic, because it was chosen by these windows:\n"+
		"evaluate it on test windows.\n\n", phrase.Count(len(s.Points), "point"))
}
