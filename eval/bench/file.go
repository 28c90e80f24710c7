package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// The format of the file of results.
const (
	format  = "clustergym bench"
	version = 2
)

// File is a set of results of the suite. It always has the row of the reference, on every task that another row has. Rows are
// sorted by name, and cells by the order of the suite.
type File struct {
	Rows []Row
}

// Row is the results of one policy.
type Row struct {
	Policy  string  `json:"policy" bench:"policy,need,given"`
	Program Program `json:"program" bench:"program,need"`
	Cells   []Cell  `json:"tasks" bench:"tasks,need,most=tasks"`
}

// Program is what played a row.
type Program struct {
	Version  string `json:"version" bench:"version,need,text"`
	Revision string `json:"revision" bench:"revision,need,text"` // of the source
	Build    string `json:"sha256" bench:"sha256,need,text"`     // of the executable
	Go       string `json:"go" bench:"go,need,text"`
}

// Cell is the results of one policy on one task.
type Cell struct {
	Task string `json:"task" bench:"task,need,task"`
	// of the scenario's settings, all jobs that it reads from its traces, and the objective
	Scenario string `json:"scenario_sha256" bench:"scenario_sha256,need,given"`
	Played   string `json:"played" bench:"played,need,given"` // the policy as eval takes it
	// of weights and files that the policy's name does not contain; "" if there are none
	Weights string `json:"policy_sha256" bench:"policy_sha256,need,text"`
	Told    Told   `json:"told" bench:"told,need"`
	// Cost is what each window costs by the task's objective, to nine digits.
	Cost []float64 `json:"cost" bench:"cost,need,cost,most=windows"`
	// Truncated counts the windows that ended before all their jobs did.
	Truncated int `json:"truncated" bench:"truncated,need,0..most32"`
}

// Told says what a policy was told.
type Told struct {
	// RunTimes is what the task tells of run times, estimates.kind of its scenario: "oracle" (the truth) or "none". Speeds, Models
	// and Groups are its told.speeds, told.models and told.groups.
	RunTimes string `json:"run_times" bench:"run_times,need,text"`
	Speeds   string `json:"speeds" bench:"speeds,need,text"`
	Models   string `json:"models" bench:"models,need,text"`
	Groups   string `json:"groups" bench:"groups,need,text"`
	// Truth lists what the policy was told although the task does not tell it, "run_times" and "speeds". No cluster knows these,
	// so such a policy is not ranked.
	Truth []string `json:"truth" bench:"truth,need,text,most=truths"`
	// Training is whether the policy learned from the training split of the task before it played.
	Training bool `json:"training_split" bench:"training_split,need"`
	// Trained lists the parts of traces on which weights were trained and chosen.
	Trained []string `json:"trained_on" bench:"trained_on,need,text,most=parts"`
}

// row returns the row of a policy, nil if the file has none.
func (f *File) row(policy string) *Row {
	if i := slices.IndexFunc(f.Rows, func(r Row) bool { return r.Policy == policy }); i >= 0 {
		return &f.Rows[i]
	}
	return nil
}

// cell returns the cell of a task, nil if the row has none.
func (r *Row) cell(task string) *Cell {
	if i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Task == task }); i >= 0 {
		return &r.Cells[i]
	}
	return nil
}

// sort puts rows and cells into their order.
func (f *File) sort() {
	order := TaskNames()
	slices.SortFunc(f.Rows, func(a, b Row) int { return cmp.Compare(a.Policy, b.Policy) })
	for i := range f.Rows {
		slices.SortFunc(f.Rows[i].Cells, func(a, b Cell) int {
			return cmp.Compare(slices.Index(order, a.Task), slices.Index(order, b.Task))
		})
	}
}

// check returns an error unless the reference played every task of the other rows, on the same scenario.
func (f *File) check() error {
	reference := f.row(Reference)
	if reference == nil {
		return fmt.Errorf("no row of the reference, policy %q", Reference)
	}
	for i := range f.Rows {
		for _, c := range f.Rows[i].Cells {
			switch same := reference.cell(c.Task); {
			case same == nil:
				return fmt.Errorf("policy %q has the task %s, the reference %q has not", f.Rows[i].Policy, c.Task, Reference)
			case same.Scenario != c.Scenario:
				return fmt.Errorf("policy %q, task %s: scenario_sha256 %.12s, that of the reference is %.12s: they played other jobs",
					f.Rows[i].Policy, c.Task, c.Scenario, same.Scenario)
			}
		}
	}
	return nil
}

// Write writes the file, with one line for each cell. Equal results give equal bytes.
func (f *File) Write(w io.Writer) error {
	f.sort()
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"format":%q,"version":%d,"suite":%q,"rows":[`, format, version, Suite)
	for i := range f.Rows {
		r := &f.Rows[i]
		if err := errors.Join(
			put(&b, i, "\n{\"policy\":", r.Policy), put(&b, 0, ",\"program\":", r.Program),
		); err != nil {
			return err
		}
		b.WriteString(`,"tasks":[`)
		for k := range r.Cells {
			if err := put(&b, k, "\n ", &r.Cells[k]); err != nil {
				return err
			}
		}
		b.WriteString("]}")
	}
	b.WriteString("]}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// put writes the value as the element i of a list, after the given text.
func put(b *bytes.Buffer, i int, before string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if i > 0 {
		b.WriteByte(',')
	}
	b.WriteString(before)
	b.Write(text)
	return nil
}

// Played reports whether the file has results on a task.
func (f *File) Played(t Task) bool {
	reference := f.row(Reference)
	return reference != nil && reference.cell(t.Name()) != nil
}
