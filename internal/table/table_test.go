package table_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clustergym/clustergym/internal/table"
)

func TestLayouts(t *testing.T) {
	rows := [][]string{{"policy", "what", "JCT"}, {"a|b", "x", "1,000"}, {"größer", "", ""}}
	var b strings.Builder
	table.Text(&b, 2, rows)
	if want := "policy  what    JCT\na|b     x     1,000\ngrößer\n"; b.String() != want {
		t.Errorf("text\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	table.Markdown(&b, rows)
	if want := "| policy | what | JCT |\n|---|---|---|\n| a\\|b | x | 1,000 |\n| größer |  |  |\n"; b.String() != want {
		t.Errorf("Markdown\n%s\nwant\n%s", b.String(), want)
	}
}

// TestParts checks that parts fit the width, that each begins with the left columns, and that they have all columns in order.
func TestParts(t *testing.T) {
	rows := [][]string{{"policy", "mean JCT", "p99", "a long heading"}, {"fifo", "\x1b[31m+145.6 *\x1b[0m", "1", "2"}}
	for _, c := range []struct {
		width int
		want  []string // the headings of each part
	}{
		{0, []string{"policy|mean JCT|p99|a long heading"}},
		{37, []string{"policy|mean JCT|p99|a long heading"}},
		{36, []string{"policy|mean JCT|p99", "policy|a long heading"}},
		{22, []string{"policy|mean JCT|p99", "policy|a long heading"}},
		{20, []string{"policy|mean JCT", "policy|p99", "policy|a long heading"}},
		{1, []string{"policy|mean JCT", "policy|p99", "policy|a long heading"}},
	} {
		var got []string
		for _, part := range table.Parts(1, c.width, rows) {
			got = append(got, strings.Join(part[0], "|"))
			var b strings.Builder
			table.Text(&b, 1, part)
			for line := range strings.Lines(b.String()) {
				n := utf8.RuneCountInString(strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(strings.TrimSuffix(line, "\n")))
				if c.width > 21 && n > c.width {
					t.Errorf("width %d: a line of %d: %q", c.width, n, line)
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("width %d: %q, want %q", c.width, got, c.want)
		}
	}
}

// TestFold checks that folded rows fit the width and keep all words in order, and that rows without room stay as they are.
func TestFold(t *testing.T) {
	rows := [][]string{{"wait", "bert", "needs 16 GPUs; 12 fit, at most 8 on one server"}, {"start", "big-job", ""}}
	want := [][]string{
		{"wait", "bert", "needs 16 GPUs; 12 fit, at"}, {"", "", "most 8 on one server"}, {"start", "big-job", ""},
	}
	if got := table.Fold(rows, 43); !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	for _, width := range []int{0, 30, 200} {
		if got := table.Fold(rows, width); !reflect.DeepEqual(got, rows) {
			t.Errorf("width %d: %q", width, got)
		}
	}
	if got := table.Fold([][]string{{"a"}, {"b", "c"}}, 30); len(got) != 2 {
		t.Errorf("rows of different lengths: %q", got)
	}
}

func TestThousands(t *testing.T) {
	for digits, want := range map[string]string{"": "", "7": "7", "999": "999", "1000": "1,000", "-1000": "-1,000", "-100": "-100",
		"1234567": "1,234,567"} {
		if got := table.Thousands(digits); got != want {
			t.Errorf("%s: %s, want %s", digits, got, want)
		}
	}
}
