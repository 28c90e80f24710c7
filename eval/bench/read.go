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
	mostParts   = 64 // of traces on which a policy was trained
	highestCost = 1e15
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
	var all fileText
	if err := results.Parse(text, nil, &all); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	f := &File{Rows: all.Rows}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	f.sort()
	return f, nil
}

// fileText is the text of a file.
type fileText struct {
	Format  uint8 `bench:"format,need,format"`
	Version int   `bench:"version,need,2..2"`
	Suite   uint8 `bench:"suite,need,suite"`
	Rows    []Row `bench:"rows,need,rows"`
}

// results is the format of files of results.
var results = strictjson.Format{
	Key: "bench",
	Limits: map[string]int64{
		"tasks": int64(len(Tasks())), "windows": int64(mostWindows()), "truths": int64(len(truths)), "parts": mostParts,
		"most32": math.MaxInt32,
	},
	Kinds: map[string]strictjson.Kind{
		"format": strictjson.Words[uint8](format),
		"suite":  strictjson.Words[uint8](Suite),
		"rows":   strictjson.As(readRows),
		"task":   strictjson.As(func(r *strictjson.Reader, to *string) { *to = TaskNames()[r.OneOf(TaskNames()...)] }),
		"cost":   strictjson.As(func(r *strictjson.Reader, to *float64) { *to = r.Float(0, highestCost) }),
		"text": strictjson.Texts(names.Longest, names.Clean, // for a terminal
			fmt.Sprintf("a text of at most %d bytes without control characters", names.Longest)),
		"given": strictjson.Texts(names.Longest, func(s string) bool { return s != "" && names.Clean(s) },
			"a text that is not empty, without control characters"),
	},
}

// mostWindows is the windows of the task that has most.
func mostWindows() (most int) {
	for _, t := range Tasks() {
		most = max(most, t.Windows)
	}
	return most
}

func readRows(r *strictjson.Reader, to *[]Row) {
	r.List(mostRows, func(int) {
		row := Row{}
		r.Struct(&row)
		if slices.ContainsFunc(*to, func(o Row) bool { return o.Policy == row.Policy }) {
			r.Bad("policy", row.Policy, "a policy that has no other row")
		}
		for i := range row.Cells {
			c := &row.Cells[i]
			if row.cell(c.Task) != c {
				r.Bad("tasks", c.Task, "a task that the row does not have yet")
			}
			i := slices.Index(TaskNames(), c.Task)
			if i < 0 {
				continue
			}
			if want := Tasks()[i].Windows; len(c.Cost) != want || c.Truncated > want {
				r.Bad("tasks", fmt.Sprintf("%d windows, %d truncated", len(c.Cost), c.Truncated),
					fmt.Sprintf("the %d windows of %s", want, c.Task))
			}
			for _, texts := range []*[]string{&c.Told.Truth, &c.Told.Trained} { // so that it is written as it was read
				if *texts == nil {
					*texts = []string{}
				}
			}
		}
		*to = append(*to, row)
	})
}
