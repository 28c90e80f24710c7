package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// origin is a file from which jobs of a pool come, or the generator.
type origin struct {
	name string        // as in the scenario
	path string        // "" for the generator
	zero time.Duration // time 0 of the pool's clock, counted from the first job of the stretched file
}

// Period is the part [From, To) of a trace, in seconds since its first job.
type Period struct {
	Trace string  `json:"trace" yaml:"trace"`
	From  float64 `json:"from_s" yaml:"from_s"`
	To    float64 `json:"to_s" yaml:"to_s"`
}

func (p Period) String() string {
	const day = 86400
	return fmt.Sprintf("%s, days %.2f to %.2f", p.Trace, p.From/day, p.To/day)
}

// Overlap returns a period that occurs in both lists, at least in part; ok is false if there is none.
func Overlap(a, b []Period) (Period, bool) {
	for _, x := range a {
		for _, y := range b {
			if both := (Period{x.Trace, max(x.From, y.From), min(x.To, y.To)}); x.Trace == y.Trace && both.From < both.To {
				return both, true
			}
		}
	}
	return Period{}, false
}

// Periods returns the parts of the traces from which the windows of a split come, including the jobs that warm them up: one
// period for each file. With workload.bursts a period may begin or end a burst late. With Overlap it detects whether two
// scenarios share jobs, even if they window, thin or stretch a trace differently.
func (s *Source) Periods(split Split) []Period {
	windows := s.windows[split]
	if len(windows) == 0 {
		return nil
	}
	from := slices.MinFunc(windows, func(a, b span) int { return cmp.Compare(a.warm, b.warm) }).warm
	to := slices.MaxFunc(windows, func(a, b span) int { return cmp.Compare(a.to, b.to) }).to
	p := &s.pool
	var all []Period
	for _, o := range p.origins {
		at := func(rank int) float64 { return (p.submit(rank) + o.zero).Seconds() / s.scenario.Workload.Stretch }
		all = append(all, Period{o.name, at(from), at(to)})
	}
	return all
}

// generated returns a name for the generator's jobs. It does not contain the number of jobs, because a longer workload begins
// with the jobs of a shorter one.
func (s *Scenario) generated() string {
	w := &s.Workload
	return fmt.Sprintf("%s (load %v on %d GPUs, seed %d)", w.Trace, w.Load, s.Cluster.GPUs(), w.Seed)
}
