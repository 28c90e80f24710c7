package sim_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// acting are names with control characters that clear a terminal or reverse the text around them.
var acting = []string{"\x1b[2J", "a\x07", "\u009b2J", "\u202egpj.exe", "\u2066x", "\u200f", "\u061c"}

// TestNamesThatActOnATerminal checks that ReadLog and Write refuse texts with control characters, and that the error shows them
// escaped.
func TestNamesThatActOnATerminal(t *testing.T) {
	for _, name := range acting {
		quoted := must.Get(json.Marshal(name))(t)
		for field, from := range map[string]string{
			"name": `"name":"y"`, "scheduler": `"scheduler":"fifo"`, "truncated": `"truncated":"horizon 50s"`,
		} {
			key, _, _ := strings.Cut(from, ":")
			text := strings.Replace(short, from, key+":"+string(quoted), 1)
			if text == short {
				t.Fatalf("%s is not in the example", from)
			}
			_, err := sim.ReadLog(strings.NewReader(text))
			if err == nil || !strings.Contains(err.Error(), field+": ") ||
				strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s %q: error %q", field, name, err)
			}
		}
		cfg := sim.Config{Cluster: cluster.Uniform(1, 1)}
		cfg.Cluster.Servers[0].Name = name
		if err := play(t, cfg, nil, drawFIFO(t), 0).Write(new(bytes.Buffer)); err == nil {
			t.Errorf("server %q was written", name)
		}
	}
}
