package cluster

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/clustergym/clustergym/internal/must"
)

// acting are names that affect a terminal: they clear it or reverse the text around them.
var acting = []string{"\x1b[2J", "a\x07", "\u009b2J", "\u202egpj.exe", "\u2066x", "\u200f", "\u061c"}

// TestNamesThatActOnATerminal checks that every field of a snapshot rejects a name that affects a terminal, and that the error
// shows the name escaped.
func TestNamesThatActOnATerminal(t *testing.T) {
	for _, name := range acting {
		quoted := must.Get(json.Marshal(name))(t)
		for field, from := range map[string]string{"servers[1].name": `"name": "b"`, "jobs[1].id": `"id": "y"`} {
			key, _, _ := strings.Cut(from, ":")
			text := strings.Replace(small, from, key+": "+string(quoted), 1)
			_, err := ReadSnapshot(strings.NewReader(text))
			if err == nil || !strings.Contains(err.Error(), field+": \"") ||
				strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s %q: error %q", field, name, err)
			}
		}
		for _, field := range []string{"user", "tenant", "model", "group", "gpu_type"} {
			text := strings.Replace(small, `"id": "y"`, `"id": "y", "`+field+`": `+string(quoted), 1)
			if _, err := ReadSnapshot(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), field+": ") {
				t.Errorf("%s %q: error %v", field, name, err)
			}
		}
	}
}
