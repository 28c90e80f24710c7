package table_test

import (
	"strings"
	"testing"

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

func TestThousands(t *testing.T) {
	for digits, want := range map[string]string{"": "", "7": "7", "999": "999", "1000": "1,000", "-1000": "-1,000", "-100": "-100",
		"1234567": "1,234,567"} {
		if got := table.Thousands(digits); got != want {
			t.Errorf("%s: %s, want %s", digits, got, want)
		}
	}
}
