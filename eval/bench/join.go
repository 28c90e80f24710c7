package bench

import (
	"fmt"
	"reflect"
	"slices"
)

// Named is a file of results with a name for errors and labels.
type Named struct {
	Name string
	*File
}

// Join puts the rows of several files into one. The reference must have done the same in all of them on the tasks that they
// have in common: if it has not, their programs or traces differ, and Join returns an error. If all results of one row are in
// another row of the same policy, Join takes the longer row. If two files have different rows of the same policy, the later row
// gets the file's name behind its own.
func Join(files ...Named) (*File, error) {
	out := &File{}
	for _, f := range files {
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		for i := range f.Rows {
			row := f.Rows[i]
			old := out.row(row.Policy)
			switch {
			case old == nil:
				out.Rows = append(out.Rows, row)
			case row.Policy == Reference:
				if task, ok := differ(old, &row); ok {
					return nil, fmt.Errorf("%s: the reference %q did something else on %s than in the files before: "+
						"its program or its trace is another one", f.Name, Reference, task)
				}
				out.Rows[slices.IndexFunc(out.Rows, func(r Row) bool { return r.Policy == Reference })] = union(*old, row)
			case within(&row, old):
			case within(old, &row):
				out.Rows[slices.IndexFunc(out.Rows, func(r Row) bool { return r.Policy == row.Policy })] = row
			default:
				if row.Policy += " (" + f.Name + ")"; out.row(row.Policy) != nil {
					return nil, fmt.Errorf("%s: two rows of policy %q", f.Name, row.Policy)
				}
				out.Rows = append(out.Rows, row)
			}
		}
	}
	out.sort()
	return out, nil
}

// Update puts new rows into a file that the same folder had before. A new row replaces an old one of the same policy, but if it
// is by the same program, the tasks that only the old row has stay. Update drops the old results on tasks on which the
// reference now does something else, or on which the scenario is another one, and returns the names of these rows.
func Update(old, with *File) (out *File, dropped []string) {
	out = &File{}
	reference := union(Row{}, *with.row(Reference))
	if before := old.row(Reference); before != nil {
		reference = union(*before, reference)
	}
	for _, row := range old.Rows {
		replaced := with.row(row.Policy)
		if row.Policy == Reference || replaced != nil && replaced.Program != row.Program {
			continue
		}
		before := len(row.Cells)
		row.Cells = slices.DeleteFunc(slices.Clone(row.Cells), func(c Cell) bool {
			was, now := old.row(Reference).cell(c.Task), reference.cell(c.Task)
			return was == nil || was.Scenario != now.Scenario || !slices.Equal(was.Cost, now.Cost)
		})
		if len(row.Cells) < before {
			dropped = append(dropped, row.Policy)
		}
		if replaced != nil {
			row = union(row, *replaced)
		}
		if len(row.Cells) > 0 {
			out.Rows = append(out.Rows, row)
		}
	}
	out.Rows = append(out.Rows, reference)
	for _, row := range with.Rows {
		if out.row(row.Policy) == nil {
			out.Rows = append(out.Rows, row)
		}
	}
	out.sort()
	return out, dropped
}

// union returns a row with the cells of both rows. Where both have a cell of the same task, it takes that of the second row, and
// so it does with the program.
func union(a, b Row) Row {
	out := b
	out.Cells = slices.Clone(b.Cells)
	for _, c := range a.Cells {
		if b.cell(c.Task) == nil {
			out.Cells = append(out.Cells, c)
		}
	}
	return out
}

// Shared returns the names of those of the tasks that all policies of a file have played.
func Shared(f *File, tasks []Task) (names []string) {
	for _, t := range tasks {
		if !slices.ContainsFunc(f.Rows, func(r Row) bool { return r.cell(t.Name()) == nil }) {
			names = append(names, t.Name())
		}
	}
	return names
}

// within reports whether all results of row a are in row b, too.
func within(a, b *Row) bool {
	for i := range a.Cells {
		if other := b.cell(a.Cells[i].Task); other == nil || !reflect.DeepEqual(*other, a.Cells[i]) {
			return false
		}
	}
	return true
}

// differ returns a task on which two rows have different costs.
func differ(a, b *Row) (task string, ok bool) {
	for _, c := range a.Cells {
		if other := b.cell(c.Task); other != nil && !slices.Equal(c.Cost, other.Cost) {
			return c.Task, true
		}
	}
	return "", false
}
