// Package pins tests that a change of the code does not change what the schedulers decide. Its testdata contains digests ("pins")
// of event logs, of the learned team's observations and bids, and of its bundle. The package contains only tests. docs/house.md
// says when a pin may change.
package pins

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

var (
	update = flag.Bool("update", false, "rewrite testdata; the pins of traces that are not there stay")
	keep   = flag.String("keep", "", "folder to write the text behind every pin to")

	slow = false // true under the race detector, which would take ten times as long
)

// pin is a text that must not change.
type pin struct {
	what, window, policy string // without spaces
	short                bool   // computed with -short too
	// make returns the text and a short result for the reader.
	make func(t *testing.T) (text []byte, note string)
}

func (p *pin) key() string { return p.what + " " + p.window + " " + p.policy }

// group contains the pins of a window, or pins without a window.
type group struct {
	name   string
	shared bool // whether it needs the shared traces
	pins   []pin
}

// TestPins checks that the schedulers decide as when the pins were written. It covers every baseline with its possible suffixes,
// the prior and the released policy, on generated windows and on windows of real traces. It also covers the released policy's
// observations, bids and bundle.
func TestPins(t *testing.T) {
	sameNumbers(t)
	short := testing.Short() || slow
	if *update && short {
		t.Fatal("-update makes all pins: run it without -short and -race")
	}
	if dir, ok := sharedtest.Find(); ok {
		t.Setenv(scenario.SharedVariable, dir)
	}
	all := groups()
	old, made := read(t), pins{}
	t.Cleanup(func() { // after all parallel tests have ended
		switch {
		case t.Failed():
		case *update:
			rewrite(t, all, old, made)
		default:
			stale(t, all, old)
		}
	})
	var mu sync.Mutex
	for _, g := range all {
		t.Run(g.name, func(t *testing.T) {
			if g.shared {
				sharedtest.Dir(t)
			}
			t.Parallel()
			for _, p := range g.pins {
				if short && !p.short {
					continue
				}
				t.Run(p.what+":"+p.policy, func(t *testing.T) {
					t.Parallel()
					text, note := p.make(t)
					got := digested{digest(text), note}
					mu.Lock()
					made[p.key()] = got
					mu.Unlock()
					if *keep != "" {
						write(t, *keep, &p, text)
					}
					if !*update {
						compare(t, &p, old, got, text)
					}
				})
			}
		})
	}
}

// sameNumbers skips the test on machines whose results may differ in the last bits, or fails it if CI=true. These are machines
// other than amd64, for which the compiler fuses products and sums, and machines without FMA, which math.Exp uses.
func sameNumbers(t *testing.T) {
	t.Helper()
	x := -1.0 / 7
	if got, want := math.Float64bits(math.Exp(x)), uint64(0x3febbd76b8a1ab99); runtime.GOARCH != "amd64" || got != want {
		skip := t.Skipf
		if os.Getenv("CI") == "true" {
			skip = t.Fatalf
		}
		skip("the pins are of amd64 with FMA; here is %s, and exp(-1/7) has the bits %x, want %x", runtime.GOARCH, got, want)
	}
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// compare reports a pin that has changed, and how to find the first difference.
func compare(t *testing.T, p *pin, old pins, got digested, text []byte) {
	t.Helper()
	want, ok := old[p.key()]
	switch {
	case !ok:
		t.Errorf("%s of %s on window %s is not pinned: -update adds it", p.what, p.policy, p.window)
	case want.digest != got.digest:
		dir := os.Getenv("CLUSTERGYM_ARTEFACTS")
		if dir == "" {
			dir = must.Get(os.MkdirTemp("", "pins-"))(t)
		}
		path, before := write(t, dir, p, text), filepath.Join(os.TempDir(), "pins-before")
		t.Errorf("%s of %s on window %s differs:\ngot  %s %s\nwant %s %s\n"+
			"To see where they part, write the old text at a commit that passes, and diff:\n"+
			"  go test ./internal/pins -run '%s' -keep %s\n  diff %s %s",
			p.what, p.policy, p.window, got.digest, got.note, want.digest, want.note,
			pattern(t.Name()), before, filepath.Join(before, filepath.Base(path)), path)
	}
}

// pattern returns the argument of -run that runs a test alone.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	return strings.Join(parts, "/")
}

// write writes the text of a pin into a file and returns its path.
func write(t *testing.T, dir string, p *pin, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, strings.NewReplacer(" ", "_", ":", "_", "/", "_").Replace(p.key())+".txt")
	must.Do(t, os.MkdirAll(dir, 0o755))
	must.Do(t, os.WriteFile(path, text, 0o644))
	return path
}
