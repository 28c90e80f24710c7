package headroom

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/eval"
)

// TestWrongAnswersAreRefused checks that answers that are not what a search finds are refused.
func TestWrongAnswersAreRefused(t *testing.T) {
	of := eval.Case{Scenario: "small", Split: "test", Window: "test-0", Seed: 3}
	right, err := json.Marshal(&answer{of, &searched{Found: Found{Base: "fifo", Sum: 5, Wider: &Wider{Times: 2}}}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := parseAnswer(right, of); err != nil || s.Found.Wider.Times != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, test := range []struct{ old, now, want string }{
		{"{", "", "invalid"},
		{"fifo", strings.Repeat("x", maxFound), "bytes"},
		{`"fifo"`, `"fifo","other":1`, "form"},
		{`"seed":3`, `"seed":4`, "about small test-0, seed 4, want small test-0, seed 3"},
		{"test-0", "test-1", "about small test-1"},
		{`"case":{`, `"kase":{`, "form"},
		{`:5`, `:-5`, "negative"},
		{`:5`, `:1e999`, "cannot unmarshal"},
	} {
		text := strings.Replace(string(right), test.old, test.now, 1)
		if _, err := parseAnswer([]byte(text), of); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40s: error %v, want one with %q", test.now, err, test.want)
		}
	}
}

// FuzzSearched checks that no answer panics, and that one that is accepted is in the form in which it is sent.
func FuzzSearched(f *testing.F) {
	of := eval.Case{Scenario: "small", Window: "test-0", Seed: 3}
	text, err := json.Marshal(&answer{of, &searched{Found: Found{Base: "fifo", Wider: &Wider{Times: 2}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseAnswer(data, of)
		if err != nil {
			return
		}
		if again, err := json.Marshal(&answer{of, s}); err != nil || string(again) != string(data) {
			t.Errorf("%s becomes %s, %v", data, again, err)
		}
	})
}
