package pins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

const file = "testdata/pins.txt"

// digested is the content of the file for a pin.
type digested struct{ digest, note string }

// pins are the pins in the file, by key.
type pins map[string]digested

// read reads the file of pins.
func read(t *testing.T) pins {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	all := pins{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if len(words) < 4 {
			t.Fatalf("%s:%d: %q, want what, window, policy and digest", file, n, line)
		}
		key := strings.Join(words[:3], " ")
		if _, twice := all[key]; twice {
			t.Fatalf("%s:%d: %s is pinned twice", file, n, key)
		}
		all[key] = digested{words[3], strings.Join(words[4:], " ")}
	}
	return all
}

// stale reports pins in the file that no test computes any more.
func stale(t *testing.T, all []group, old pins) {
	t.Helper()
	makes := map[string]bool{}
	for _, g := range all {
		for i := range g.pins {
			makes[g.pins[i].key()] = true
		}
	}
	for key := range old {
		if !makes[key] {
			t.Errorf("%s pins %s, which nothing makes: -update drops it", file, key)
		}
	}
}

// rewrite writes the file in the order of the groups. It keeps pins that were not computed now, because a trace is missing or
// -run excluded them.
func rewrite(t *testing.T, all []group, old, made pins) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# What, window, policy, the first 16 digits of the text's SHA-256, and for orientation what came of it.\n" +
		"# Written by go test ./internal/pins -update. docs/house.md says when a pin may change.\n")
	for _, g := range all {
		b.WriteByte('\n')
		for i := range g.pins {
			p := &g.pins[i]
			now, ok := made[p.key()]
			if !ok {
				if now, ok = old[p.key()]; !ok {
					continue
				}
			}
			fmt.Fprintf(&b, "%-8s %-10s %-38s %s  %s\n", p.what, p.window, p.policy, now.digest, now.note)
		}
	}
	must.Do(t, os.WriteFile(file, []byte(b.String()), 0o644))
}
