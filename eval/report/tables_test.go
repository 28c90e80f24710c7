package report

import (
	"slices"
	"testing"

	"github.com/clustergym/clustergym/eval"
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

func TestCellsOfTextTables(t *testing.T) {
	for text, want := range map[string]cell{
		"-12.3 [-14.1, +10.4] *": {Mean: "−12.3", Range: "[−14.1, +10.4]", Bold: true},
		"+0.4 [-1.0, +1.8]  ":    {Mean: "+0.4", Range: "[−1.0, +1.8]"},
		"-  ":                    {Mean: "–"},
		"1,234":                  {Mean: "1,234"},
		"3/4":                    {Mean: "3/4"},
	} {
		if got := parseCell(text); got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
	for _, q := range eval.Quantities() {
		text := q.Label + " " + q.Unit + " " + q.Arrow()
		if q.Unit == "" {
			text = q.Label + " " + q.Arrow()
		}
		if got := parseHead(text); got.Label != q.Label || got.Unit != q.Unit || got.Arrow != q.Arrow() || got.About != q.About {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// Every column of the full table is there, and those that are not main ones wait to be asked for.
func TestTablesFoldWhatIsNotMain(t *testing.T) {
	s := section(t, "x", 2, 100, 2, "fifo", "srtf")
	c := &s.Comparison
	got := meansTable(c, []string{"srtf", "fifo"})
	all, main := c.Means(true), c.Means(false)
	if len(got.Head) != len(all[0]) || got.Folded != len(all[0])-len(main[0]) || got.Folded == 0 {
		t.Errorf("%d columns, %d of them folded; want %d, %d", len(got.Head), got.Folded, len(all[0]), len(all[0])-len(main[0]))
	}
	if r := got.Rows[0]; !r.Baseline || r.Look != "p1 d1" || got.Rows[1].Look != "p0 d0" {
		t.Errorf("rows %+v", got.Rows)
	}
}
