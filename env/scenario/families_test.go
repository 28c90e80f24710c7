package scenario

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
)

// pressed are the traces whose load is set by the times between arrivals; for the others it is set by the number of servers.
var pressed = []string{"kalos", "openb"}

// testLoad returns the load of the test windows with another number of servers and another stretch.
func (m member) testLoad(t *testing.T, servers int, stretch float64) float64 {
	t.Helper()
	sets := []string{"cluster.servers=" + strconv.Itoa(servers), "workload.stretch=" + strconv.FormatFloat(stretch, 'g', -1, 64)}
	d := builtinSource(t, m.name(), sets...).Describe()
	i := slices.IndexFunc(d.Splits, func(s SplitDescription) bool { return s.Split == Test })
	return d.Splits[i].Load
}

// TestSizes checks that the fixed sizes are those whose test load is nearest to the load in the name, and that it is within 5 %.
func TestSizes(t *testing.T) {
	for _, s := range sizes {
		m := member{s, "strong", "rigid", false}
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

// round keeps the given number of significant digits.
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
			s := must.Get(Load(name))(t)
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
	if len(seen) != 128 {
		t.Errorf("%d scenarios in families, want 128", len(seen))
	}
}

// TestWarmFamiliesDifferInTheirWindowsAlone checks that a warm scenario differs from its cold counterpart only in its windows,
// has the same load within 5 %, and that its 30 test windows share no job.
func TestWarmFamiliesDifferInTheirWindowsAlone(t *testing.T) {
	for _, f := range Families() {
		for _, name := range f.Names() {
			if strings.HasSuffix(name, "-warm-v1") != f.Warm {
				t.Errorf("%s is of a family with warm %t", name, f.Warm)
			}
			if !f.Warm {
				continue
			}
			cold := must.Get(Load(strings.TrimSuffix(name, "-warm-v1") + "-v1"))(t)
			warm := must.Get(Load(name))(t)
			w := warm.Window
			if w.Warm == 0 || !w.Gather || w.Arrivals < 150 || w.Resample.Train < 200 || w.Resample.Test < 30 {
				t.Errorf("%s has windows %+v", name, w)
			}
			w.Arrivals, w.Stride, w.Warm, w.Gather, w.Resample = cold.Window.Arrivals, cold.Window.Stride, 0, false, Resample{}
			cold.Name, cold.About, warm.Window = warm.Name, warm.About, w
			if !reflect.DeepEqual(cold, warm) {
				t.Errorf("%s differs in more than its windows:\n%+v\n%+v", name, warm, cold)
			}
		}
	}
	for _, trace := range warmTraces {
		for _, s := range sizes {
			if s.trace != trace {
				continue
			}
			m := member{s, "strong", "rigid", true}
			src := builtinSource(t, m.name())
			if note, want := src.Note(Test), "4500 of 4500 jobs are different"; !strings.Contains(note, want) {
				t.Errorf("%s: test windows are %s; want %s", m.name(), note, want)
			}
			if got := m.testLoad(t, s.servers, s.stretch) / float64(s.load) * 100; math.Abs(got-1) > .05 {
				t.Errorf("%s: load %.3f of that in its name", m.name(), got)
			}
		}
	}
}

// TestWarmScenariosThatStandAlone checks that the warm scenarios outside families differ from their cold counterparts in their
// windows and restart overheads, and not in cluster, workload or physics.
func TestWarmScenariosThatStandAlone(t *testing.T) {
	for _, name := range []string{"hetero", "uplinks"} {
		cold := must.Get(Load(name + "-venus-v1"))(t)
		warm := must.Get(Load(name + "-warm-venus-v1"))(t)
		half := 30 * time.Minute
		if warm.PreemptOverhead != half || warm.MigrateOverhead != half || warm.ResizeOverhead != half || warm.Window.Warm == 0 {
			t.Errorf("%s has windows %+v, and a restart takes %v", warm.Name, warm.Window, warm.PreemptOverhead)
		}
		family := must.Get(Load("venus-load110-strong-rigid-warm-v1"))(t)
		if !reflect.DeepEqual(warm.Window, family.Window) {
			t.Errorf("%s has windows %+v, want those of the family, %+v", warm.Name, warm.Window, family.Window)
		}
		if !reflect.DeepEqual(warm.Cluster, cold.Cluster) || !reflect.DeepEqual(warm.Workload, cold.Workload) ||
			warm.Physics != cold.Physics {
			t.Errorf("%s is another cluster, workload or physics than %s", warm.Name, cold.Name)
		}
	}
}

func TestNamesOfNoFamily(t *testing.T) {
	for _, name := range []string{
		"venus-load100-strong-rigid-v1", "venus-load070-mild-rigid-v1", "venus-load070-strong-soft-v1", "mars-load070-strong-rigid-v1",
		"venus-load070-strong-rigid-v2", "venus-load70-strong-rigid-v1", "kalos-load070-strong-rigid-warm-v1",
		"venus-load070-strong-rigid-cold-v1",
	} {
		if _, err := Load(name); err == nil {
			t.Errorf("%s was loaded", name)
		}
	}
}
