package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Family is a set of built-in scenarios of one trace that differ only in load, interference and elasticity. Their names are
// TRACE-loadNNN-INTERFERENCE-GANGS-v1: the load over the test windows in percent; strong or weak interference on shared GPUs; and
// rigid gangs, or moldable ones, half of which are elastic. A warm family differs only in its windows: many short ones that begin
// on a busy cluster. Its names end in -warm-v1.
type Family struct {
	Trace string
	About string
	Warm  bool
}

// Loads, Interferences and Gangs are the values in which the scenarios of a family differ.
var (
	Loads         = []int{70, 90, 110, 150} // percent
	Interferences = []string{"strong", "weak"}
	Gangs         = []string{"rigid", "moldable"}
)

// size gives a trace its load: the number of servers, and the factor by which the times between arrivals are multiplied.
type size struct {
	trace   string
	load    int // percent
	servers int
	stretch float64
}

// sizes contains a size for each trace and load. The load is taken over all test windows: the GPU-time that their jobs ask for,
// divided by the GPU-time that passes in their spans. For a dense trace, the number of servers is the one whose load is nearest
// to the name. The gangs of Kalos are as large as any cluster that it could fill, and openb is a sample that fills only a few
// servers. These two keep their cluster, and their times between arrivals are shortened. TestSizes computes the table again. The
// table is fixed, because a scenario must not change when a trace reader or a rule does.
var sizes = []size{
	{"venus", 70, 59, 1},
	{"venus", 90, 46, 1},
	{"venus", 110, 38, 1},
	{"venus", 150, 28, 1},
	{"philly", 70, 22, 1},
	{"philly", 90, 17, 1},
	{"philly", 110, 14, 1},
	{"philly", 150, 10, 1},
	{"kalos", 70, 64, 0.385},
	{"kalos", 90, 64, 0.299},
	{"kalos", 110, 64, 0.245},
	{"kalos", 150, 64, 0.18},
	{"openb", 70, 4, 0.32},
	{"openb", 90, 4, 0.249},
	{"openb", 110, 4, 0.204},
	{"openb", 150, 4, 0.15},
	{"mixed", 70, 42, 1},
	{"mixed", 90, 33, 1},
	{"mixed", 110, 27, 1},
	{"mixed", 150, 20, 1},
}

// warmTraces are the traces with enough arrivals for a warm family.
var warmTraces = []string{"venus", "philly", "mixed"}

// warmWindows are the window settings of warm families. The test period of venus is just long enough for this many test windows
// that share no job.
var warmWindows = []string{
	"window.arrivals=150", "window.warm=500", "window.stride=0",
	"window.gather=true", "window.resample.train=400", "window.resample.validation=20", "window.resample.test=30",
}

// Families returns the families in the order of the table sizes, and the warm families after them.
func Families() []Family {
	var all []Family
	for _, s := range sizes {
		if n := len(all); n > 0 && all[n-1].Trace == s.trace {
			continue
		}
		base, err := loadBuiltin("family/"+s.trace+".yaml", nil)
		if err != nil {
			panic("scenario: embedded family: " + err.Error())
		}
		all = append(all, Family{Trace: s.trace, About: base.About})
	}
	for _, f := range all {
		if slices.Contains(warmTraces, f.Trace) {
			all = append(all, Family{f.Trace, f.About + ", from a busy cluster", true})
		}
	}
	return all
}

// Names returns the names of the family's scenarios, ordered by load, then interference, then gangs.
func (f Family) Names() []string {
	var names []string
	for _, s := range sizes {
		if s.trace != f.Trace {
			continue
		}
		for _, interference := range Interferences {
			for _, gangs := range Gangs {
				names = append(names, member{s, interference, gangs, f.Warm}.name())
			}
		}
	}
	return names
}

// member is one scenario of a family.
type member struct {
	size
	interference, gangs string
	warm                bool
}

func (m member) name() string {
	warm := ""
	if m.warm {
		warm = "-warm"
	}
	return fmt.Sprintf("%s-load%03d-%s-%s%s-v1", m.trace, m.load, m.interference, m.gangs, warm)
}

var memberPattern = regexp.MustCompile(`^([a-z0-9]+)-load([0-9]{3})-([a-z]+)-([a-z]+)(-warm)?-v1$`)

// parseMember parses the name of a family's scenario. ok is false if there is no such scenario.
func parseMember(name string) (m member, ok bool) {
	parts := memberPattern.FindStringSubmatch(name)
	if parts == nil {
		return m, false
	}
	load, err := strconv.Atoi(parts[2])
	if err != nil {
		return m, false
	}
	i := slices.IndexFunc(sizes, func(s size) bool { return s.trace == parts[1] && s.load == load })
	if i < 0 || !slices.Contains(Interferences, parts[3]) || !slices.Contains(Gangs, parts[4]) {
		return m, false
	}
	m = member{sizes[i], parts[3], parts[4], parts[5] != ""}
	return m, !m.warm || slices.Contains(warmTraces, m.trace)
}

// read reads the family's file and applies the settings that the member's name implies, then sets.
func (m member) read(sets []string) (*Scenario, error) {
	file := "family/" + m.trace + ".yaml"
	base, err := loadBuiltin(file, nil)
	if err != nil {
		return nil, err
	}
	own := []string{
		"name=" + m.name(),
		fmt.Sprintf("about=%s; load %.1f, %s interference, %s gangs", base.About, float64(m.load)/100, m.interference, m.gangs),
		"cluster.servers=" + strconv.Itoa(m.servers),
		"workload.stretch=" + strconv.FormatFloat(m.stretch, 'g', -1, 64),
	}
	if m.interference == "weak" {
		own = append(own, "physics="+strings.Replace(base.Physics, "sharing(1)", "sharing(0.3)", 1))
	}
	if m.gangs == "moldable" {
		own = append(own, "workload.mix.elastic=0.5")
	}
	if m.warm {
		own[1] += ", from a busy cluster"
		own = append(own, warmWindows...)
	}
	return loadBuiltin(file, append(own, sets...))
}
