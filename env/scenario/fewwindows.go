package scenario

import (
	"fmt"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/trace"
)

// enough returns the number of windows of a split below which results say little: intervals are over test windows, validation
// chooses among weights, and a team learns from training windows.
func enough(split Split) int {
	if split == Validation {
		return 4
	}
	return 10
}

// Few returns a sentence that says that a split has few windows, how many jobs the trace has and how many it would need, and
// what else would help. It returns "" if the split has enough windows or none.
func (s *Source) Few(split Split) string {
	w, p := &s.scenario.Window, &s.pool
	from, to := p.bounds(w.fractions(split))
	n, apart := s.Count(split), s.Count(split)
	if w.Resample.windows(split) > 0 {
		apart = min(n, (to-from-w.Warm)/w.Arrivals) // windows that share no job
	}
	if n == 0 || apart >= enough(split) {
		return ""
	}
	have := fmt.Sprintf("The %s split of %s has %d windows", split, s.scenario.Name, n)
	if n == 1 {
		have = fmt.Sprintf("The %s split of %s has 1 window", split, s.scenario.Name)
	}
	if apart < n {
		have += fmt.Sprintf(", drawn from arrivals for %d", apart)
	}
	return fmt.Sprintf("%s, so %s. %s", have, map[Split]string{
		Test: "intervals over them say little", Validation: "the choice of weights is mostly luck",
		Train: "there is little to learn from",
	}[split], w.more(p, split))
}

// more says what it takes for enough windows.
func (w *Windows) more(p *pool, split Split) string {
	f, most := w.fractions(split), float64(enough(split))
	share := f[1] - f[0]
	if w.Duration > 0 {
		span := p.submit(len(p.arrivals)) - p.submit(0)
		need := time.Duration(math.Ceil(most*w.Duration.Hours()/share-1e-6)) * time.Hour
		return fmt.Sprintf("For %d windows of %v %s must last %v, and lasts %v: or set window.duration to less.", enough(split),
			w.Duration, p.workload.Name, need, span.Round(time.Hour))
	}
	stride := w.Arrivals + w.Warm
	if w.Stride > 0 && split != Test && w.Resample.windows(split) == 0 {
		stride = w.Stride
	}
	jobs := (most-1)*float64(stride) + float64(w.Arrivals+w.Warm)
	if w.Resample.windows(split) > 0 {
		jobs = most*float64(w.Arrivals) + float64(w.Warm)
	}
	text := fmt.Sprintf("For %d windows of %d jobs %s needs %d jobs, and has %d", enough(split), w.Arrivals, p.workload.Name,
		int(math.Ceil(jobs/share-1e-6)), len(p.arrivals))
	if smaller := int(share*float64(len(p.arrivals))/most+1e-6) - w.Warm; smaller >= 20 && smaller < w.Arrivals {
		return fmt.Sprintf("%s: or set window.arrivals to %d.", text, smaller)
	}
	return text + "."
}

// ReadNotes says in sentences which rows of the traces were left out, and what was taken for granted in reading them. Rows that
// ask for no GPU or were never scheduled are left out of them for the public traces that scenarios of this project use.
func (s *Source) ReadNotes() []string {
	var lines []string
	r := s.pool.workload.Report
	switch r.Format {
	case "", trace.PhillyPass, trace.PhillyAll, trace.Helios, trace.Kalos, trace.OpenB:
		r = r.Unusual()
	}
	for _, line := range r.Lines() {
		lines = append(lines, s.pool.workload.Name+": "+line)
	}
	return lines
}
