package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/studies/sweep"
)

// swept is the result of sweep.
type swept struct {
	*sweep.Result

	Table  string `json:"table"`  // file
	Eval   string `json:"eval"`   // command that evaluates the runs of the best point on test windows
	Export string `json:"export"` // command that exports the best run of the best point
}

func newSwept(r *sweep.Result) *swept {
	best := &r.Points[0]
	words := []string{"eval", "--scenario", r.Scenario}
	for _, set := range r.Set {
		words = append(words, "--set", set)
	}
	words = append(words, "--policies", "prior,"+strings.Join(best.Runs, ","), "--baseline", "prior")
	return &swept{
		Result: r, Table: filepath.Join(r.Dir, "results.csv"),
		Eval: commandLine("clustergym", words...), Export: commandLine("clustergym", "export", "--run", best.BestRun),
	}
}

func (s *swept) print(a *cmdline.App, markdown bool) error {
	switch {
	case a.JSON:
		return a.PrintJSON(s)
	case markdown:
		a.Printf("%s", s.Markdown())
		return nil
	}
	a.Printf("%s\n%s", s.Text(), s.says())
	a.Printf("table:    %s\nevaluate: %s\nexport:   %s\n", s.Table, s.Eval, s.Export)
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
