package trace

import (
	"fmt"
	"slices"
	"time"
)

// WindowSpec selects consecutive arrivals of a workload. The zero value selects all of them.
type WindowSpec struct {
	// From and To select the jobs with From <= Submit < To on the workload's clock; To 0 means no end.
	From, To time.Duration
	// Start is the index of the window's first job, in order of arrival among the jobs that From and To select. Count is the
	// number of jobs in the window, 0 for all that remain.
	Start, Count int

	MaxDuration time.Duration // reduce longer Work to this, 0 = no limit
	MaxGPUs     int32         // reduce larger gangs to this many workers as Oversize does, 0 = no limit
}

// validate returns an error about the first field that is not usable.
func (s WindowSpec) validate() error {
	switch {
	case s.From < 0:
		return fmt.Errorf("window: from %v, want 0 or later", s.From)
	case s.To != 0 && s.To <= s.From:
		return fmt.Errorf("window: to %v, want later than %v", s.To, s.From)
	case s.Start < 0:
		return fmt.Errorf("window: start %d, want 0 or more", s.Start)
	case s.Count < 0:
		return fmt.Errorf("window: count %d, want 0 or more", s.Count)
	case s.MaxDuration < 0:
		return fmt.Errorf("window: max duration %v, want 0 or more", s.MaxDuration)
	case s.MaxGPUs < 0:
		return fmt.Errorf("window: max GPUs %d, want 0 or more", s.MaxGPUs)
	}
	return nil
}

// Window returns the consecutive arrivals that spec selects, in id order, with submit times shifted so that the first is 0. The
// result shares no slice with w. Its Report counts the reduced jobs, and its Report.Jobs is the size of the window. Window
// returns an error if the window is empty or extends past the last job.
func Window(w Workload, spec WindowSpec) (Workload, error) {
	if err := spec.validate(); err != nil {
		return Workload{}, err
	}
	order := w.Arrivals()
	order = slices.DeleteFunc(order, func(i int32) bool {
		t := w.Jobs[i].Submit
		return t < spec.From || spec.To != 0 && t >= spec.To
	})
	count := spec.Count
	if count == 0 {
		count = max(0, len(order)-spec.Start)
	}
	if count == 0 || count > len(order)-spec.Start {
		return Workload{}, fmt.Errorf("window of %d jobs from arrival %d: %s has %d in its time", spec.Count, spec.Start,
			w.Name, len(order))
	}
	picked := slices.Clone(order[spec.Start : spec.Start+count])
	slices.Sort(picked) // back to id order
	cut := Workload{Name: w.Name, Jobs: make([]Job, count), Report: w.Report}
	for i, k := range picked {
		j := w.Jobs[k]
		if spec.MaxDuration > 0 && j.Work > spec.MaxDuration {
			j.Work = spec.MaxDuration
			cut.Report.ClampedWork++
		}
		if spec.MaxGPUs > 0 && j.Workers > spec.MaxGPUs {
			clamp(&j, spec.MaxGPUs)
			cut.Report.ClampedWorkers++
		}
		cut.Jobs[i] = j
	}
	rebase(cut.Jobs)
	cut.Report.Jobs = count
	return cut, nil
}
