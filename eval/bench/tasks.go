package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/scenario"
)

// Suite names the tasks with their windows and seed, and the rules of the ranking. Whoever changes any of these gives the suite
// another version, because results of different suites cannot be compared.
const Suite = "bench-v2"

// seed is the seed of every episode. It determines the noise of readings and errors of profiles, but not the jobs.
const seed = 1

// Task is a built-in scenario, whose name contains a version, an objective of the library, and how many of the scenario's test
// windows are played, from the first on. The scenario also decides what policies are told.
type Task struct {
	Objective string
	Scenario  string
	Sets      []string // settings of the scenario: key=value
	Windows   int
	// Days names the jobs of the windows. Tasks with the same Days take their windows from the same times of the same trace, so a
	// window that is hard in one of them is often hard in the others.
	Days string
}

// Name returns the name of the task.
func (t *Task) Name() string { return t.Objective + "@" + t.Scenario }

// Tasks returns the tasks of the suite, those first that need no trace. docs/bench.md has what was measured to choose them.
func Tasks() []Task {
	more := []string{"workload.jobs=20000"} // so that there are 40 test windows
	return []Task{
		{"small-first", "embedded-small-v1", more, 40, "generated"},
		{"keep-work", "turns-small-v1", nil, 12, "turns"},
		{"keep-work", "turns-small-untold-v1", nil, 12, "turns"},
		{"small-first", "turns-small-untold-v1", nil, 12, "turns"},
		{"gangs", "venus-load110-strong-rigid-warm-v1", nil, 20, "venus"},
		{"fair", "venus-load110-strong-rigid-warm-v1", nil, 20, "venus"},
		{"fair", "nopreempt-venus-v1", nil, 20, "venus"},
		{"small-first", "philly-load110-strong-rigid-warm-v1", nil, 20, "philly"},
	}
}

// TaskNames returns the names of the tasks.
func TaskNames() []string {
	var names []string
	for _, t := range Tasks() {
		names = append(names, t.Name())
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
	return slices.DeleteFunc(all, func(t Task) bool { return !slices.Contains(names, t.Name()) }), nil
}

// Facts describe a task to a reader.
type Facts struct {
	Task      string `json:"task"`
	About     string `json:"about"`
	Objective string `json:"objective"`
	Scenario  string `json:"scenario"` // with its settings
	Windows   int    `json:"windows"`
	Files     string `json:"files,omitempty"` // that it needs from outside the program, as the scenario names them; "" if none
	Told      bool   `json:"told"`            // schedulers are told run times and speeds
	Restart   string `json:"restart"`         // how long a restart takes, or "forbidden"
	Physics   string `json:"physics"`
}

// Facts returns what the task's scenario says. It reads no trace.
func (t *Task) Facts() (Facts, error) {
	s, err := scenario.Load(t.Scenario, t.Sets...)
	if err != nil {
		return Facts{}, err
	}
	tells := tells(s)
	f := Facts{
		Task: t.Name(), About: s.About, Objective: t.Objective, Scenario: strings.Join(append([]string{t.Scenario}, t.Sets...), " "),
		Windows: t.Windows, Told: tells.all(),
	}
	if f.Restart = strings.TrimSuffix(s.PreemptOverhead.String(), "0s"); s.Preempt != "" {
		f.Restart = string(s.Preempt)
	}
	if s.Workload.Trace != scenario.Embedded {
		f.Files = s.Workload.Trace
	}
	return f, nil
}
