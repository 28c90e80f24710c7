package scenario

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// origin is a file that a pool's jobs are from, or the generator.
type origin struct {
	name string        // as the scenario names it
	path string        // "" for the generator
	zero time.Duration // of the pool's clock, after the first job of the stretched file
}

// Period is a part of a trace, in seconds since its first job: [From, To).
type Period struct {
	Trace string  `json:"trace" yaml:"trace"`
	From  float64 `json:"from_s" yaml:"from_s"`
	To    float64 `json:"to_s" yaml:"to_s"`
}

func (p Period) String() string {
	const day = 86400
	return fmt.Sprintf("%s, days %.2f to %.2f", p.Trace, p.From/day, p.To/day)
}

// Overlap returns a part of a trace that two lists of periods share.
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

// Periods returns the parts of the traces that the windows of a split are cut from, the jobs that warm them up included: a
// period for each file. Two scenarios that cut, thin or stretch one trace in different ways can so be told to share jobs.
func (s *Source) Periods(split Split) []Period {
	windows := s.windows[split]
	if len(windows) == 0 {
		return nil
	}
	from := slices.MinFunc(windows, func(a, b span) int { return cmp.Compare(a.warm, b.warm) }).warm
	to := slices.MaxFunc(windows, func(a, b span) int { return cmp.Compare(a.to, b.to) }).to
	p := s.pool(split)
	var all []Period
	for _, o := range p.origins {
		at := func(rank int) float64 { return (p.submit(rank) + o.zero).Seconds() / s.scenario.Workload.Stretch }
		all = append(all, Period{o.name, at(from), at(to)})
	}
	return all
}

// generated names the generator's jobs: those of another number of jobs begin alike.
func (s *Scenario) generated() string {
	w := &s.Workload
	return fmt.Sprintf("%s (load %v on %d GPUs, seed %d)", w.Trace, w.Load, s.Cluster.GPUs(), w.Seed)
}

// Digest identifies all that fixes the episodes: the settings, and the jobs as they were read.
func (s *Source) Digest() (string, error) {
	h := sha256.New()
	if err := s.scenario.Write(h); err != nil {
		return "", err
	}
	e := json.NewEncoder(h)
	pools := []*pool{&s.main}
	if s.test != nil {
		pools = append(pools, s.test)
	}
	for _, p := range pools {
		if err := e.Encode(p.workload.Jobs); err != nil {
			return "", fmt.Errorf("digest of scenario %s: %w", s.scenario.Name, err)
		}
	}
	if err := e.Encode(s.config.Cluster.Quotas); err != nil {
		return "", fmt.Errorf("digest of scenario %s: %w", s.scenario.Name, err)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
