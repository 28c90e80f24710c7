package headroom

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestWrongAnswersAreRefused checks that answers that are not what a search finds are refused.
func TestWrongAnswersAreRefused(t *testing.T) {
	right, err := json.Marshal(&searched{Found: Found{Base: "fifo", Sum: 5, Wider: &Wider{Times: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := parseSearched(right); err != nil || s.Found.Wider.Times != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, test := range []struct{ old, now, want string }{
		{"{", "", "invalid"},
		{"fifo", strings.Repeat("x", maxFound), "bytes"},
		{`"fifo"`, `"fifo","other":1`, "form"},
		{`:5`, `:-5`, "negative"},
		{`:5`, `:1e999`, "cannot unmarshal"},
	} {
		text := strings.Replace(string(right), test.old, test.now, 1)
		if _, err := parseSearched([]byte(text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40s: error %v, want one with %q", test.now, err, test.want)
		}
	}
}

// FuzzSearched checks that no answer panics, and that one that is accepted is in the form in which it is sent.
func FuzzSearched(f *testing.F) {
	text, err := json.Marshal(&searched{Found: Found{Base: "fifo", Wider: &Wider{Times: 2}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseSearched(data)
		if err != nil {
			return
		}
		if again, err := json.Marshal(s); err != nil || string(again) != string(data) {
			t.Errorf("%s becomes %s, %v", data, again, err)
		}
	})
}
