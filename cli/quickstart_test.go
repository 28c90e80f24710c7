package cli

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/train"
)

func TestSavedTextShowsEveryValidation(t *testing.T) {
	at := func(update int, relative float64) train.Metrics {
		return train.Metrics{Update: update, Validation: &relative}
	}
	got := savedText([]train.Metrics{{Update: 1}, at(5, 1), {Update: 6}, at(10, .973), at(15, 1.04)})
	want := `What the team saves of its prior's mean JCT on validation windows:

update  saved, %
     0       0.0
     5       0.0
    10       2.7  #####
    15      -4.0
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := savedText([]train.Metrics{{Update: 1}}); got != "" {
		t.Errorf("without a validation: %q", got)
	}
}

// TestRulesAsGoodAsTheTeam checks which policies are named, and that nothing is said where the team is ahead of all.
func TestRulesAsGoodAsTheTeam(t *testing.T) {
	row := func(name string, mean eval.Number) eval.TableRow {
		return eval.TableRow{Policy: name, Cells: []eval.Cell{{Difference: &eval.Difference{Mean: mean}}}}
	}
	rows := []eval.TableRow{row("fifo", 112), row("las", -15), row("srsf", -13), {Policy: "none", Cells: []eval.Cell{{}}}, row("learned", -13)}
	if got := asGoodText(rows, "learned"); !strings.Contains(got, "or better: las, srsf. ") {
		t.Errorf("%q, want las and srsf", got)
	}
	if got := asGoodText(rows[3:], "learned"); got != "" {
		t.Errorf("without a better rule: %q", got)
	}
}

// TestVerdicts checks that only a difference whose interval excludes 0 counts as one.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		lo, mean, hi eval.Number
		want         string
	}{
		{-3, -2, -1, "lower"}, {1, 2, 3, "higher"}, {-3, -1, 1, "tie"}, {-1, 1, 3, "tie"}, {0, 0, 0, "tie"}, {-2, -1, 0, "tie"},
	} {
		if got := verdictOf(eval.Cell{Difference: &eval.Difference{Mean: c.mean, Lo: c.lo, Hi: c.hi}}); got != c.want {
			t.Errorf("%v [%v, %v]: %s, want %s", c.mean, c.lo, c.hi, got, c.want)
		}
	}
	if got := verdictOf(eval.Cell{}); got != "unknown" {
		t.Errorf("without a difference: %s, want unknown", got)
	}
}
