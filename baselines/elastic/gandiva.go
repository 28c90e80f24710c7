package elastic

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// GandivaConfig are the options of Gandiva.
type GandivaConfig struct {
	// Shrink takes flexible workers back from running jobs, as many as waiting jobs need to start with their base. Reconstructed:
	// Gandiva (OSDI 2018) shrinks jobs that have grown when other jobs come; Lyra (EuroSys 2023), §7.1, mentions only scaling out.
	Shrink bool
	// Skip passes over a waiting job that does not fit; false lets it block the jobs behind it. Own choice: blocking, as in fifo,
	// because in Lyra's table 5 jobs wait about as long under Gandiva as under its FIFO baseline.
	Skip bool
	// Even gives free workers to jobs one at a time in turn; false fills up one job after the other. Own choice.
	Even bool
}

// DefaultGandiva returns the default options of Gandiva.
func DefaultGandiva() GandivaConfig { return GandivaConfig{Shrink: true} }

// gandiva is Gandiva-style (Xiao et al., OSDI 2018, as Lyra, EuroSys 2023, §7.1, compares with it). Jobs start with their base
// in the order of submission. Only when no job waits do elastic jobs take the free GPUs, in the same order. It needs no
// estimates.
type gandiva struct{ GandivaConfig }

// NewGandiva returns the policy Gandiva.
func NewGandiva(c GandivaConfig) Policy { return &gandiva{c} }

func (*gandiva) Name() string { return "gandiva" }
func (*gandiva) Reset(uint64) {}

func (g *gandiva) Allocate(s *cluster.View, jobs []Job) {
	left := newBudget(s, jobs)
	left.keep(jobs)
	if !g.Shrink {
		left.regain(jobs)
	}
	waits := g.admit(left, jobs)
	left.regain(jobs)
	switch {
	case waits:
	case g.Even:
		left.even(jobs)
	default:
		for i := range jobs {
			if j := &jobs[i]; j.Want > 0 {
				left.must(j, min(j.Most-j.Want, left.fits(j)))
			}
		}
	}
}

// admit starts waiting jobs in order, stops at the first that does not fit unless Skip is set, and reports whether a job is left
// waiting. Two kinds of jobs never block those behind them: jobs larger than the whole cluster, and jobs that only their
// tenant's quota keeps from starting.
func (g *gandiva) admit(left *budget, jobs []Job) (waits bool) {
	total := left.state.Total().GPUMilli
	for i := range jobs {
		j := &jobs[i]
		if j.Now > 0 || left.give(j, j.Base) {
			continue
		}
		waits = true
		need := int64(j.Base) * j.GPUMilli
		if !g.Skip && left.gpuMilli < need && need <= total {
			break
		}
	}
	return waits
}

// regain gives running jobs back the workers that they run with, as far as the budget has them.
func (b *budget) regain(jobs []Job) {
	for i := range jobs {
		if j := &jobs[i]; j.Now > j.Want {
			b.must(j, min(j.Now-j.Want, b.fits(j)))
		}
	}
}

// even gives single workers in turn to the jobs that run or start.
func (b *budget) even(jobs []Job) {
	var open []*Job
	for i := range jobs {
		if jobs[i].Want > 0 {
			open = append(open, &jobs[i])
		}
	}
	for len(open) > 0 {
		open = slices.DeleteFunc(open, func(j *Job) bool { return j.Want == j.Most || !b.give(j, 1) })
	}
}
