package rivals

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// windows are the windows of testdata/pins.txt: a scenario with settings, and which of its test windows is played.
var windows = map[string]struct {
	scenario string
	sets     []string
	index    int
	tenants  bool // the jobs are of three tenants, two of which have quotas
}{
	"small":   {"embedded-small-v1", busy, 0, false},
	"physics": {"embedded-physics-v1", busy, 0, false},
	"loaning": {"loaning-small-v1", busy, 0, false},
	"hard":    {"../../internal/pins/testdata/hard.yaml", nil, 0, true},
	"venus":   {"venus-contended-v1", short, 0, false},
	"philly":  {"philly-contended-v1", short, 0, false},
	"openb":   {"openb-load150-weak-moldable-v1", []string{"window.arrivals=200"}, 0, false},
	"load150": {"venus-load150-weak-moldable-warm-v1", nil, 3, false},
	"mixed":   {"mixed-load110-weak-moldable-v1", short, 2, false},
	"hetero":  {"hetero-warm-venus-v1", nil, 3, false},
	"uplinks": {"uplinks-warm-venus-v1", nil, 4, false},
	"lent":    {"loaning-venus-v1", nil, 1, false},
	"quotas":  {"quotas-philly-v1", nil, 1, false},
}

var (
	busy  = []string{"window.arrivals=200", "window.warm=100", "workload.load=3"}
	short = []string{"window.arrivals=300"}
)

// TestPins checks that Gavel, Pollux and rollout decide as when they were part of clustergym, job by job. With -short it plays
// the windows without a trace only, and those policies that take no minute.
func TestPins(t *testing.T) {
	if bits := math.Float64bits(math.Exp(-1.0 / 7)); runtime.GOARCH != "amd64" || bits != 0x3febbd76b8a1ab99 {
		t.Skipf("the pins are of amd64 with FMA; here is %s, and exp(-1/7) has the bits %x", runtime.GOARCH, bits)
	}
	if dir, ok := sharedtest.Find(); ok {
		t.Setenv(scenario.SharedVariable, dir)
	}
	text, err := os.ReadFile("testdata/pins.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		t.Run(words[0]+":"+words[1], func(t *testing.T) {
			w, known := windows[words[0]]
			switch {
			case !known:
				t.Fatalf("window %q", words[0])
			case strings.HasSuffix(w.scenario, "-small-v1") || words[0] == "physics" || words[0] == "hard":
				if testing.Short() && words[1] != "gavel" {
					t.Skip("it takes long")
				}
			case testing.Short():
				t.Skip("it takes long")
			default:
				sharedtest.Dir(t)
			}
			t.Parallel()
			e, err := scenariotest.Open(t, w.scenario, w.sets...).Episode(scenario.Test, w.index, 1)
			if err != nil {
				t.Fatal(err)
			}
			if w.tenants {
				e.Config.Cluster.Quotas = []cluster.Quota{{Tenant: "ann", GPUs: 20}, {Tenant: "bob", GPUs: 36}}
				for i := range e.Jobs {
					e.Jobs[i].Tenant = []string{"ann", "bob", "eve"}[i%3]
				}
			}
			p, err := Table().New(words[1])
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			if err := simtest.Play(t, &e.Episode, p, 1).Write(&log); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%x", sha256.Sum256(log.Bytes()))[:16]; got != words[2] {
				t.Errorf("log %s, want %s", got, strings.Join(words[2:], " "))
			}
		})
	}
}
