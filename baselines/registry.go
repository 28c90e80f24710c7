package baselines

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
)

// Baseline names a scheduler and says what it is.
type Baseline struct {
	Name, About string
	New         func() cluster.Scheduler
}

// All returns the baselines in the order in which tables list them.
func All() []Baseline {
	return []Baseline{
		{"fifo", "submission order; a job that does not fit blocks the queue", func() cluster.Scheduler {
			return &list{name: "fifo", order: bySubmit}
		}},
		{"fjf", "submission order; a job that does not fit is skipped", NewSkip},
		{"sjf", "shortest estimated duration first; a job that does not fit blocks the queue", func() cluster.Scheduler {
			return &list{name: "sjf", order: byEstimate}
		}},
		{"sjfskip", "shortest estimated duration first; a job that does not fit is skipped", func() cluster.Scheduler {
			return &list{name: "sjfskip", order: byEstimate, skip: true}
		}},
		{"sjfhold", "sjfskip that holds GPUs for the first job that does not fit against jobs 5 times as long that would delay it",
			func() cluster.Scheduler { return NewHold(5) }},
		{"srtf", "preemptive shortest remaining time first", func() cluster.Scheduler { return &srtf{} }},
		{"srsf", "preemptive shortest remaining service (time x GPUs) first", func() cluster.Scheduler {
			return &preemptive{name: "srsf", order: serviceLeft}
		}},
		{"las", "preemptive two-dimensional least attained service with queues (Tiresias); needs no estimates",
			func() cluster.Scheduler { return &preemptive{name: "las", order: level, alarm: sinks} }},
		{"random", "waiting jobs that fit in random order", func() cluster.Scheduler { return &random{} }},
	}
}

// NewSkip returns fjf.
func NewSkip() cluster.Scheduler { return &list{name: "fjf", order: bySubmit, skip: true} }

// NewHold returns sjfhold with another bound, 1 or more; 0 holds nothing back, which is sjfskip.
func NewHold(times float64) cluster.Scheduler {
	return &list{name: "sjfhold", order: byEstimate, skip: true, hold: times}
}

// New returns a fresh scheduler by name. With "+loan" behind it, it also borrows servers of the inference pool.
func New(name string) (cluster.Scheduler, error) {
	if inner, ok := strings.CutSuffix(name, LoanSuffix); ok {
		s, err := New(inner)
		if err != nil {
			return nil, err
		}
		return Borrow(s), nil
	}
	names := make([]string, 0, 8)
	for _, b := range All() {
		if b.Name == name {
			return b.New(), nil
		}
		names = append(names, b.Name)
	}
	return nil, fmt.Errorf("policy %q: no such baseline, want one of %s, each with or without %s",
		name, strings.Join(names, ", "), LoanSuffix)
}
