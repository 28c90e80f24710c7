package bench

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// Limits of a file of results, which hold while it is read.
const (
	longestFile = 32 << 20 // bytes
	mostRows    = 1 << 10
	mostParts   = 64   // of traces on which a policy was trained
	longestJCT  = 1e10 // seconds
)

// Read reads a file that Write wrote, or another program in the same format. It returns an error with the line, the value and
// what was expected for anything that the format does not allow, such as unknown fields, tasks that the suite does not have,
// numbers of windows other than the task's, and rows that the reference did not play.
func Read(in io.Reader) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(in, longestFile+1))
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	if len(text) > longestFile {
		return nil, fmt.Errorf("read results: more than %d bytes", longestFile)
	}
	p := parser{strictjson.New(text)}
	f := p.file()
	if err := p.r.Err(); err != nil {
		return nil, fmt.Errorf("read results: line %d: %w", p.r.Line(), err)
	}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	f.sort()
	return f, nil
}

type parser struct{ r *strictjson.Reader }

func (p *parser) file() *File {
	var f File
	names := []string{"format", "version", "suite", "rows"}
	p.r.Object(names, strictjson.Bits(names, names...), func(field int) {
		switch names[field] {
		case "format":
			p.r.OneOf(format)
		case "version":
			p.r.Number(version, version)
		case "suite":
			p.r.OneOf(Suite)
		case "rows":
			p.r.List(mostRows, func(int) {
				row := p.row()
				if f.row(row.Policy) != nil {
					p.r.Bad("policy", row.Policy, "a policy that has no other row")
				}
				f.Rows = append(f.Rows, row)
			})
		}
	})
	p.r.End()
	return &f
}

func (p *parser) row() (row Row) {
	names := []string{"policy", "program", "tasks"}
	p.r.Object(names, strictjson.Bits(names, names...), func(field int) {
		switch names[field] {
		case "policy":
			row.Policy = p.name()
		case "program":
			row.Program = p.program()
		case "tasks":
			p.r.List(len(Tasks()), func(int) {
				c := p.cell()
				if row.cell(c.Task) != nil {
					p.r.Bad("task", c.Task, "a task that the row does not have yet")
				}
				row.Cells = append(row.Cells, c)
			})
		}
	})
	return row
}

func (p *parser) program() (out Program) {
	names := []string{"version", "revision", "sha256", "go"}
	p.r.Object(names, strictjson.Bits(names, names...), func(field int) {
		*[]*string{&out.Version, &out.Revision, &out.Build, &out.Go}[field] = p.text()
	})
	return out
}

func (p *parser) cell() (c Cell) {
	names := []string{"task", "scenario_sha256", "played", "policy_sha256", "told", "mean_jct_s", "p99_jct_s", "truncated"}
	p.r.Object(names, strictjson.Bits(names, names...), func(field int) {
		switch names[field] {
		case "task":
			if i := p.r.OneOf(TaskNames()...); i >= 0 {
				c.Task = Tasks()[i].Scenario
			}
		case "scenario_sha256":
			c.Scenario = p.name()
		case "played":
			c.Played = p.name()
		case "policy_sha256":
			c.Weights = p.text()
		case "told":
			c.Told = p.told()
		case "mean_jct_s":
			c.JCT = p.times()
		case "p99_jct_s":
			c.P99 = p.times()
		case "truncated":
			c.Truncated = int(p.r.Number(0, math.MaxInt32))
		}
	})
	if i := slices.Index(TaskNames(), c.Task); i >= 0 {
		if want := Tasks()[i].Windows; len(c.JCT) != want || len(c.P99) != want || c.Truncated > want {
			p.r.Bad("mean_jct_s", fmt.Sprintf("%d windows, %d in p99_jct_s, %d truncated", len(c.JCT), len(c.P99), c.Truncated),
				fmt.Sprintf("the %d windows of %s", want, c.Task))
		}
	}
	return c
}

func (p *parser) told() (t Told) {
	names := []string{"run_times", "speeds", "models", "groups", "truth", "training_split", "trained_on"}
	p.r.Object(names, strictjson.Bits(names, names...), func(field int) {
		switch names[field] {
		case "run_times":
			t.RunTimes = p.text()
		case "speeds":
			t.Speeds = p.text()
		case "models":
			t.Models = p.text()
		case "groups":
			t.Groups = p.text()
		case "truth":
			t.Truth = p.texts(len(truths))
		case "training_split":
			t.Training = p.r.Flag()
		case "trained_on":
			t.Trained = p.texts(mostParts)
		}
	})
	return t
}

func (p *parser) times() (all []float64) {
	most := 0
	for _, t := range Tasks() {
		most = max(most, t.Windows)
	}
	p.r.List(most, func(int) {
		x := p.r.Float(0, longestJCT)
		if x <= 0 && p.r.Err() == nil {
			p.r.Refuse("a time above 0")
		}
		all = append(all, x)
	})
	return all
}

func (p *parser) texts(most int) []string {
	all := []string{} // so that it is written as it was read
	p.r.List(most, func(int) { all = append(all, p.text()) })
	return all
}

// name reads a text that is not empty.
func (p *parser) name() string {
	s := p.text()
	if s == "" {
		p.r.Refuse("a text that is not empty")
	}
	return s
}

// text reads a text that may be shown on a terminal.
func (p *parser) text() string {
	s, ok := p.r.String(names.Longest)
	if !ok || !names.Clean(s) {
		p.r.Refuse(fmt.Sprintf("a text of at most %d bytes without control characters", names.Longest))
	}
	return s
}
