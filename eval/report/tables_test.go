package report

import (
	"slices"
	"testing"
)

func TestNamesBreakBeforeOptions(t *testing.T) {
	for name, want := range map[string][]string{
		"srtf": {"srtf"}, "fifo+loan": {"fifo", "+loan"}, "": {""}, ":": {":"}, "::": {":", ":"},
		"a-srpt:tau=1:backfill=true+menu": {"a-srpt", ":tau=1", ":backfill=true", "+menu"},
	} {
		if got := breakable(name); !slices.Equal(got, want) {
			t.Errorf("%q breaks into %q, want %q", name, got, want)
		}
	}
}

// TestTablesFoldWhatIsNotMain checks that a table contains every column of the comparison, and that it folds the columns that are
// not main ones.
func TestTablesFoldWhatIsNotMain(t *testing.T) {
	s := section(t, "x", 2, 100, 2, "fifo", "srtf")
	c := &s.Comparison
	means := c.Means()
	got := newTable(c, means, []string{"srtf", "fifo"})
	more := 0
	for _, h := range means.Columns {
		if !h.Main {
			more++
		}
	}
	if len(got.Head) != 1+len(means.Columns) || got.Folded != more || more == 0 {
		t.Errorf("%d columns, %d of them folded; want %d, %d", len(got.Head), got.Folded, 1+len(means.Columns), more)
	}
	differences := c.Differences()
	got = newTable(c, differences, []string{"srtf", "fifo"})
	if x := got.Rows[0].Cells[0]; x.Mean != minus(differences.Rows[0].Cells[0].Text) || got.Folded != 0 {
		t.Errorf("the first difference is %+v, want %+v", x, differences.Rows[0].Cells[0])
	}
	got = newTable(c, means, []string{"srtf", "fifo"})
	if r := got.Rows[0]; !r.Baseline || r.Look != "p1 d1" || got.Rows[1].Look != "p0 d0" {
		t.Errorf("rows %+v", got.Rows)
	}
}
