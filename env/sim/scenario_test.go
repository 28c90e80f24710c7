package sim_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

var update = flag.Bool("update", false, "rewrite the timelines in testdata")

// TestScenarios plays the section "scenario" of each testdata/*.txt under every scheduler that has a section with its name, and
// compares the timeline with that section. The section "timeline" belongs to the scheduler that follows the section "script".
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text := must.Get(os.ReadFile(file))(t)
			sections := split(string(text))
			cfg, jobs := parseScenario(t, section(sections, "scenario"))
			for i, s := range sections {
				var sched cluster.Scheduler
				switch s.name {
				case "", "scenario", "script":
					continue
				case "timeline":
					sched = parseScript(t, jobs, section(sections, "script"))
				default:
					if sched, err = baselines.New(s.name); err != nil {
						t.Fatal(err)
					}
				}
				got := timeline(play(t, cfg, jobs, sched, 1))
				if got != strings.TrimSpace(s.text)+"\n" && !*update {
					t.Errorf("%s:\n%swant:\n%s", s.name, got, s.text)
				}
				sections[i].text = got
			}
			if *update {
				must.Do(t, os.WriteFile(file, []byte(join(sections)), 0o644))
			}
		})
	}
}

type named struct{ name, text string }

// split cuts a text at its lines "-- name --". The text before the first such line is a comment.
func split(text string) []named {
	all := []named{{}}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(name, " --") {
			all = append(all, named{name: strings.TrimSuffix(name, " --")})
			continue
		}
		all[len(all)-1].text += line
	}
	return all
}

func join(sections []named) string {
	text := sections[0].text
	for _, s := range sections[1:] {
		text += "-- " + s.name + " --\n" + s.text
	}
	return text
}

func section(all []named, name string) string {
	i := slices.IndexFunc(all, func(s named) bool { return s.name == name })
	return all[i].text
}

// timeline formats a log for reading, without the submissions.
func timeline(l *sim.Log) string {
	var b strings.Builder
	for i := range l.Records {
		r := &l.Records[i]
		switch at := r.At.String(); r.Kind {
		case sim.Submit:
		case sim.Loan, sim.Reclaim, sim.Seize, sim.Fail, sim.Repair:
			fmt.Fprintf(&b, "%s %v server %d", at, r.Kind, r.Server)
			if (r.Kind == sim.Fail || r.Kind == sim.Repair) && r.Index >= 0 {
				fmt.Fprintf(&b, " GPU %d", r.Index)
			}
			b.WriteByte('\n')
		case sim.Need:
			d := &l.Config.Demand[r.Index]
			fmt.Fprintf(&b, "%s need %d offer %d\n", at, d.Need, d.Offer)
		case sim.Measure:
			fmt.Fprintf(&b, "%s measure %s %.5g\n", at, l.Jobs[r.Job].Name, l.Speed(r))
		case sim.End:
			reason := l.Outcome.Truncated
			if l.Outcome.Terminated {
				reason = "terminated"
			}
			fmt.Fprintf(&b, "%s end %s\n", at, reason)
		default:
			fmt.Fprintf(&b, "%s %v %s", at, r.Kind, l.Jobs[r.Job].Name)
			for _, p := range l.Placement(r) {
				fmt.Fprintf(&b, " %d:%d", p.Server, p.Workers)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
