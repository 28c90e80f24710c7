package fit

import (
	"math"
	"strings"
	"testing"
)

func TestGavelKeys(t *testing.T) {
	for _, c := range []struct {
		key  string
		want gavelKey
		says string // part of the error; "" for none
	}{
		{"('ResNet-50 (batch size 64)', 1)", gavelKey{"resnet50-64", 1}, ""},
		{"('LM (batch size 5)', 8)", gavelKey{"lm-5", 8}, ""},
		{"('A3C', 1)", gavelKey{"a3c", 1}, ""},
		{"A3C", gavelKey{}, "want \"('MODEL"},
		{"('A3C', 0)", gavelKey{}, `"0" workers`},
		{"('A3C', x)", gavelKey{}, `"x" workers`},
		{"('LM (batch size 0)', 1)", gavelKey{}, `batch size "0)"`},
		{"('LM (batch size 05)', 1)", gavelKey{}, `batch size "05)"`},
		{"('LM (batch size 5', 1)", gavelKey{}, `batch size "5"`},
		{"('', 1)", gavelKey{}, `model ""`},
		{"('two words', 1)", gavelKey{}, `model "two words"`},
	} {
		got, err := parseGavelKey(c.key)
		if got != c.want || (err == nil) != (c.says == "") || (err != nil && !strings.Contains(err.Error(), c.says)) {
			t.Errorf("parseGavelKey(%q) = %v, %v; want %v and an error with %q", c.key, got, err, c.want, c.says)
		}
	}
}

const smallGavel = `{"v100": {
	"('LM (batch size 5)', 1)": {"null": 10, "('A3C', 1)": [5, 3], "('LM (batch size 5)', 1)": [0.0, 0.0]},
	"('A3C', 1)": {"null": 4, "('LM (batch size 5)', 1)": [3, 5]},
	"('A3C', 2)": {"null": 0}}}`

// TestReadGavel checks that jobs keep the catalogue's order, speeds are relative, pairs that do not fit are 0, pairs that were
// not measured are NaN, and gangs are left out.
func TestReadGavel(t *testing.T) {
	g, err := readGavel(strings.NewReader(smallGavel), "v100")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(g.Jobs, " ") != "lm-5 a3c" || g.Rate[0] != 10 || g.Rate[1] != 4 {
		t.Errorf("jobs %v at %v, want lm-5 at 10 and a3c at 4", g.Jobs, g.Rate)
	}
	if g.Speed[0][0] != 0 || g.Speed[0][1] != 0.5 || g.Speed[1][0] != 0.75 || !math.IsNaN(g.Speed[1][1]) {
		t.Errorf("speeds %v, want [[0 0.5] [0.75 NaN]]", g.Speed)
	}
	if pairs := g.fitting(); len(pairs) != 2 || pairs[0] != (pair{0, 1, 0.5}) || pairs[1] != (pair{1, 0, 0.75}) {
		t.Errorf("fitting pairs %v, want (0, 1) at 0.5 and (1, 0) at 0.75", pairs)
	}
}

func TestReadGavelRefuses(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "want {GPU type"},
		{"[]", "want {GPU type"},
		{`{"k80": {}}`, `no GPU type "v100", have ["k80"]`},
		{`{"v100": {}}`, "no job with one worker"},
		{`{"v100": {"LM": {}}}`, `key "LM"`},
		{`{"v100": {"('A3C', 1)": {}}}`, `job a3c: alone ""`},
		{`{"v100": {"('A3C', 1)": {"null": 0}}}`, `job a3c: alone "0"`},
		{`{"v100": {"('A3C', 1)": {"null": -1}}}`, `job a3c: alone "-1"`},
		{`{"v100": {"('A3C', 1)": {"null": 1, "('A3C', 1)": [1]}}}`, `rates "[1]", want 2`},
		{`{"v100": {"('A3C', 1)": {"null": 1, "('A3C', 1)": null}}}`, `rates "null", want 2`},
		{`{"v100": {"('A3C', 1)": {"null": 1, "('A3C', 1)": [1, -2]}}}`, `rates "[1, -2]"`},
		{`{"v100": {"('A3C', 1)": {"null": 1, "('LM', 1)": [1, 2]}}}`, `partner "('LM', 1)"`},
		{`{"v100": {"('A3C', 1)": {"null": 1, "('A3C', 2)": [1, 2]}}}`, `partner "('A3C', 2)"`},
		{`{"v100": {"('A3C', 1)": {"null": 1}, "('a3c', 1)": {"null": 1}}}`, "twice"},
	} {
		if _, err := readGavel(strings.NewReader(c.text), "v100"); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one with %q", c.text, err, c.says)
		}
	}
}

// FuzzReadGavel checks that no file makes the reader panic, and that what it accepts is complete and within bounds.
func FuzzReadGavel(f *testing.F) {
	f.Add(smallGavel)
	f.Add(`{"v100": {"('A3C', 1)": {"null": 1e400}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := readGavel(strings.NewReader(text), "v100")
		if err != nil {
			return
		}
		if len(g.Rate) != len(g.Jobs) || len(g.Speed) != len(g.Jobs) {
			t.Fatalf("%d jobs, %d rates, %d rows", len(g.Jobs), len(g.Rate), len(g.Speed))
		}
		for i, row := range g.Speed {
			if !(g.Rate[i] > 0) || len(row) != len(g.Jobs) {
				t.Fatalf("job %s: rate %g, %d partners of %d", g.Jobs[i], g.Rate[i], len(row), len(g.Jobs))
			}
			for _, speed := range row {
				if speed < 0 {
					t.Fatalf("job %s: speed %g", g.Jobs[i], speed)
				}
			}
		}
	})
}

func FuzzGavelKey(f *testing.F) {
	f.Add("('ResNet-50 (batch size 64)', 1)")
	f.Add("('A3C', 1)")
	f.Fuzz(func(t *testing.T, key string) {
		k, err := parseGavelKey(key)
		if err == nil && (k.job == "" || k.workers < 1 || strings.ContainsAny(k.job, " \n#")) {
			t.Fatalf("key %q gives %+v", key, k)
		}
	})
}
