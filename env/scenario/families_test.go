package scenario

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pressed are the traces whose load follows from the times between arrivals; that of the others follows from the servers.
var pressed = []string{"kalos", "openb"}

// testLoad is the load of the test windows at another size.
func (m member) testLoad(t *testing.T, servers int, stretch float64) float64 {
	t.Helper()
	sets := []string{"cluster.servers=" + strconv.Itoa(servers), "workload.stretch=" + strconv.FormatFloat(stretch, 'g', -1, 64)}
	d := builtinSource(t, m.name(), sets...).Describe()
	i := slices.IndexFunc(d.Splits, func(s SplitDescription) bool { return s.Split == Test })
	return d.Splits[i].Load
}

// The frozen sizes are those that bring the test windows nearest to the load that the name says, and it is within 5 %.
func TestSizes(t *testing.T) {
	for _, s := range sizes {
		m := member{s, "strong", "rigid"}
		t.Run(m.name(), func(t *testing.T) {
			want := float64(s.load) / 100
			got := m.testLoad(t, s.servers, s.stretch)
			servers, stretch := s.servers, s.stretch
			if slices.Contains(pressed, s.trace) {
				stretch = round(s.stretch*got/want, 3)
			} else {
				for _, n := range []int{s.servers - 1, s.servers + 1} {
					if math.Abs(m.testLoad(t, n, s.stretch)-want) < math.Abs(got-want) {
						servers = int(math.Round(float64(s.servers) * got / want))
					}
				}
			}
			t.Logf("load %.3f on %d servers, stretch %v", got, s.servers, s.stretch)
			if math.Abs(got/want-1) > .05 {
				t.Errorf("load %.3f, want within 5 %% of %.2f", got, want)
			}
			if servers != s.servers || math.Abs(stretch/s.stretch-1) > .005 {
				t.Errorf("want {%q, %d, %d, %v}", s.trace, s.load, servers, stretch)
			}
		})
	}
}

// round keeps so many significant digits.
func round(x float64, digits int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		panic(err)
	}
	return r
}

func TestFamiliesAreTheWholeGrid(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Families() {
		names := f.Names()
		if len(names) != len(Loads)*len(Interferences)*len(Gangs) {
			t.Errorf("%s has %d scenarios, want %d", f.Trace, len(names), len(Loads)*len(Interferences)*len(Gangs))
		}
		for _, name := range names {
			if seen[name] || !strings.HasPrefix(name, f.Trace+"-load") {
				t.Errorf("%s: name %q", f.Trace, name)
			}
			seen[name] = true
			s, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			weak, moldable := strings.Contains(name, "-weak-"), strings.Contains(name, "-moldable-")
			if s.Name != name || strings.Contains(s.Physics, "sharing(0.3)") != weak || (s.Workload.Mix.Elastic == .5) != moldable {
				t.Errorf("%s: name %s, physics %s, elastic %v", name, s.Name, s.Physics, s.Workload.Mix.Elastic)
			}
			for _, part := range []string{"gpu-type", "cpu-mem", "sharing(", "scaling", "network("} {
				if !strings.Contains(s.Physics, part) {
					t.Errorf("%s: physics %q lacks %s", name, s.Physics, part)
				}
			}
		}
	}
	if len(seen) != 80 {
		t.Errorf("%d scenarios in families, want 80", len(seen))
	}
}

func TestNamesOfNoFamily(t *testing.T) {
	for _, name := range []string{
		"venus-load100-strong-rigid-v1", "venus-load070-mild-rigid-v1", "venus-load070-strong-soft-v1", "mars-load070-strong-rigid-v1",
		"venus-load070-strong-rigid-v2", "venus-load70-strong-rigid-v1",
	} {
		if _, err := Load(name); err == nil {
			t.Errorf("%s was loaded", name)
		}
	}
}
