package experiment

import (
	"fmt"
	"strings"
)

// Runs returns the trainings with all values of worlds and seeds put in, in their order.
func (f *File) Runs() ([]Training, error) {
	var all []Training
	seen := map[string]bool{}
	for _, t := range f.Trainings {
		for _, world := range orNone(t.Worlds) {
			for _, seed := range orNone(t.Seeds) {
				put := strings.NewReplacer(named("world", world, "seed", seed)...).Replace
				one := Training{Run: put(t.Run), Dir: put(t.Dir), From: put(t.From), line: t.line}
				switch {
				case program([]string{one.Run}) == "" || one.Dir == "":
					return nil, fmt.Errorf("%s:%d: training of %q by %q: want a folder, and clustergym or clustergym-studies first",
						f.path, t.line, one.Dir, one.Run)
				case strings.ContainsAny(one.Run+one.Dir+one.From, "{}"):
					return nil, fmt.Errorf("%s:%d: training of %q: want no braces but {world} and {seed}, with worlds and seeds",
						f.path, t.line, one.Dir)
				case one.From != "" && !one.resumes():
					return nil, fmt.Errorf("%s:%d: training of %q: only clustergym train begins from %q", f.path, t.line, one.Dir, one.From)
				case seen[one.Dir]:
					return nil, fmt.Errorf("%s:%d: two trainings write %q", f.path, t.line, one.Dir)
				}
				seen[one.Dir] = true
				all = append(all, one)
			}
		}
	}
	return all, nil
}

func orNone(values []string) []string {
	if len(values) == 0 {
		return []string{""}
	}
	return values
}

// named returns pairs of {name} and value for strings.NewReplacer, of the values that are not empty.
func named(pairs ...string) (out []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, "{"+pairs[i]+"}", pairs[i+1])
		}
	}
	return out
}

// resumes reports whether the training is one of clustergym train, which goes on with --resume where it was stopped.
func (t *Training) resumes() bool { return strings.HasPrefix(t.Run+" ", "clustergym train ") }

// commands returns the commands of a table, each in the lines in which a page shows it.
func (t *Table) commands() [][]string {
	if t.Eval == nil {
		return [][]string{t.Run}
	}
	var all [][]string
	for _, a := range t.Eval.Against {
		scenarios := "clustergym eval --scenario " + strings.Join(t.Eval.Scenarios, ",")
		first := strings.Join(append([]string{scenarios}, t.Eval.Sets...), " --set ")
		if t.Eval.Windows > 0 {
			first += fmt.Sprintf(" --windows %d", t.Eval.Windows)
		}
		last := "--baseline " + a.Baseline
		if a.Metric != "" {
			last += " --metric " + a.Metric
		}
		last += " --seeds 1 --markdown"
		if a.OverSeeds {
			last += " --over-seeds"
		}
		last += " --figures none --out " + t.Eval.Out
		all = append(all, []string{first, "--policies " + strings.Join(t.Eval.Policies, ","), last})
	}
	return all
}
