package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/scenario"
)

// Suite names the tasks with their windows and seed, and the rules of the ranking. Whoever changes any of these gives the suite
// another version, because results of different suites cannot be compared.
const Suite = "bench-v1"

// seed is the seed of every episode. It determines the noise of readings and errors of profiles, but not the jobs.
const seed = 1

// Task is a built-in scenario, whose name contains a version, and how many of its test windows are played, from the first on.
type Task struct {
	Scenario string
	Windows  int
	// Days names the jobs of the windows. Tasks with the same Days take their windows from the same times of the same trace, so a
	// window that is hard in one of them is often hard in the others.
	Days string
}

// Tasks returns the tasks of the suite, those first that need no trace.
func Tasks() []Task {
	return []Task{
		{"embedded-small-v1", 12, "generated"},
		{"loaning-small-v1", 12, "generated"},
		{"embedded-physics-untold-v1", 12, "generated"},
		{"turns-small-v1", 12, "generated"},
		{"power-turns-small-untold-v1", 12, "generated"},
		{"uplinks-warm-venus-v1", 30, "venus"},
		{"newcomers-venus-untold-v1", 30, "venus"},
		{"nopreempt-venus-untold-v1", 30, "venus"},
		{"hetero-warm-venus-untold-v1", 30, "venus"},
		{"philly-load110-strong-rigid-warm-untold-v1", 30, "philly"},
		{"mixed-load150-weak-moldable-warm-v1", 30, "mixed"},
		{"openb-warm-untold-v1", 30, "openb"},
	}
}

// TaskNames returns the names of the tasks, which are those of their scenarios.
func TaskNames() []string {
	var names []string
	for _, t := range Tasks() {
		names = append(names, t.Scenario)
	}
	return names
}

// FindTasks returns the tasks with the given names, in the order of the suite, or all if there are no names.
func FindTasks(names []string) ([]Task, error) {
	all := Tasks()
	for _, name := range names {
		if !slices.Contains(TaskNames(), name) {
			return nil, fmt.Errorf("task %q: %s has none of that name, want one of %s", name, Suite, strings.Join(TaskNames(), ", "))
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(t Task) bool { return !slices.Contains(names, t.Scenario) }), nil
}

// Facts describe a task to a reader.
type Facts struct {
	Task    string `json:"task"`
	About   string `json:"about"`
	Windows int    `json:"windows"`
	Files   string `json:"files,omitempty"` // that it needs from outside the program, as the scenario names them; "" if none
	Told    bool   `json:"told"`            // schedulers are told run times and speeds
	Restart string `json:"restart"`         // how long a restart takes, or "forbidden"
	Physics string `json:"physics"`
}

// Facts returns what the task's scenario says. It reads no trace.
func (t *Task) Facts() (Facts, error) {
	s, err := scenario.Load(t.Scenario)
	if err != nil {
		return Facts{}, err
	}
	tells := tells(s)
	f := Facts{Task: t.Scenario, About: s.About, Windows: t.Windows, Told: tells.all(), Physics: s.Physics}
	if f.Restart = strings.TrimSuffix(s.PreemptOverhead.String(), "0s"); s.Preempt != "" {
		f.Restart = string(s.Preempt)
	}
	if s.Workload.Trace != scenario.Embedded {
		f.Files = s.Workload.Trace
	}
	return f, nil
}
