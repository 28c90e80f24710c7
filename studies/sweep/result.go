package sweep

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/internal/table"
	"github.com/clustergym/clustergym/train"
)

// Result is what a sweep found.
type Result struct {
	Dir      string   `json:"dir"`
	Scenario string   `json:"scenario"`      // as in Request
	Set      []string `json:"set,omitempty"` // as in Request
	Halving  int      `json:"halving,omitempty"`
	Rungs    []int    `json:"rungs"` // numbers of updates
	// Ties lists the rungs, from 1, at which a point stopped that was as good as one that went on, which came before it in the grid.
	Ties   []int `json:"ties,omitempty"`
	Points []Row `json:"points"` // the best first
}

// Row is how well a point did.
type Row struct {
	Point    string    `json:"point"`
	Settings []Setting `json:"settings"` // those that vary
	Seeds    int       `json:"seeds"`
	Updates  int       `json:"updates"` // that its runs reached
	Rung     int       `json:"rung"`    // at which it ended, from 1
	// Validation is the lowest validation of a run, averaged over its seeds. Min and Max are the lowest and the highest over seeds.
	// The unit is that of train.Metrics.Validation: cost relative to the prior's.
	Validation float64 `json:"validation"`
	Min        float64 `json:"min"`
	Max        float64 `json:"max"`
	// Curve contains the mean over seeds of each validation.
	Curve   []Validated `json:"curve"`
	Runs    []string    `json:"runs"`     // folders, by seed
	BestRun string      `json:"best_run"` // the folder of the run with the lowest validation
}

// Setting is a setting with its value as the request has it.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Validated is a validation after an update.
type Validated struct {
	Update     int     `json:"update"`
	Validation float64 `json:"validation"`
}

// add adds the validations of a run to the curve, up to the row's updates, and returns the lowest; ok is false if there is none.
func (r *Row) add(metrics []train.Metrics) (lowest float64, ok bool) {
	n := 0
	for i := range metrics {
		m := &metrics[i]
		if m.Update > r.Updates || m.Validation == nil {
			continue
		}
		if n == len(r.Curve) {
			r.Curve = append(r.Curve, Validated{Update: m.Update})
		}
		r.Curve[n].Validation += *m.Validation
		n++
		if !ok || *m.Validation < lowest {
			lowest, ok = *m.Validation, true
		}
	}
	return lowest, ok
}

// columns returns the header and the rows of the table. The function number formats a validation.
func (r *Result) columns(number func(float64) string) (head []string, rows [][]string) {
	head = []string{"point"}
	for _, s := range r.Points[0].Settings {
		head = append(head, strings.TrimPrefix(s.Key, "train."))
	}
	head = append(head, "seeds", "updates", "rung", "validation", "min", "max")
	for i := range r.Points {
		p := &r.Points[i]
		row := []string{p.Point}
		for _, s := range p.Settings {
			row = append(row, s.Value)
		}
		rows = append(rows, append(row, strconv.Itoa(p.Seeds), strconv.Itoa(p.Updates), fmt.Sprintf("%d/%d", p.Rung, len(r.Rungs)),
			number(p.Validation), number(p.Min), number(p.Max)))
	}
	return head, rows
}

// table returns the table for people, with shorter names of points, whose settings have columns of their own.
func (r *Result) table() [][]string {
	head, rows := r.columns(func(x float64) string { return fmt.Sprintf("%.4f", x) })
	for _, row := range rows {
		row[0], _, _ = strings.Cut(row[0], "-")
	}
	return append([][]string{head}, rows...)
}

// Text returns the table as aligned text.
func (r *Result) Text() string {
	var b strings.Builder
	table.Text(&b, 1+len(r.Points[0].Settings), r.table())
	return b.String()
}

// Markdown returns the table as Markdown.
func (r *Result) Markdown() string {
	var b strings.Builder
	table.Markdown(&b, r.table())
	return b.String()
}

// WriteCSV writes the table with all digits, and with the keys of the settings.
func (r *Result) WriteCSV(w io.Writer) error {
	head, rows := r.columns(func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) })
	for i, s := range r.Points[0].Settings {
		head[1+i] = s.Key
	}
	for i, p := range r.Points {
		rows[i][slices.Index(head, "rung")] = strconv.Itoa(p.Rung)
	}
	out := csv.NewWriter(w)
	return out.WriteAll(append([][]string{head}, rows...))
}
