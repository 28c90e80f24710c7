package observe

import (
	"math/bits"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// classes counts the size classes of jobs: one worker, up to half of the largest server's GPUs, up to all, more.
const classes = 4

func class(workers, most int32) int {
	switch {
	case workers == 1:
		return 0
	case workers <= most/2:
		return 1
	case workers <= most:
		return 2
	}
	return 3
}

// mostFill bounds the GPUs of a server that demand tries to fill.
const mostFill = 63

// demand is what jobs ask for. An encoder keeps no memory, so what has come of late is known of the jobs that are still here
// alone: those that came and went within the hour are not counted.
type demand struct {
	waiting [classes]int64 // thousandths of GPUs
	recent  [classes]int64 // likewise, by jobs that wait or run and came within the hour
	jobs    [classes]int32 // waiting
	all     int32          // jobs waiting
	foresee bool           // a running job has an estimate, or none runs
	sizes   [mostFill + 1]int32
	sums    [mostFill + 1]uint64 // by workers: bit k is set if waiting jobs but one of that size add up to k GPUs; 0 unknown
}

func (d *demand) count(s *cluster.View) {
	*d = demand{all: int32(len(s.Pending())), foresee: len(s.Running()) == 0}
	most, since := s.MostGPUs(), s.Now()-later
	for _, id := range s.Pending() {
		spec := s.Spec(id)
		c := class(spec.Workers, most)
		d.waiting[c] += spec.GPUMilli()
		d.jobs[c]++
		d.arrived(spec, c, since)
		if spec.Workers <= mostFill {
			d.sizes[spec.Workers]++
		}
	}
	for _, id := range s.Running() {
		spec := s.Spec(id)
		d.arrived(spec, class(spec.Workers, most), since)
		d.foresee = d.foresee || spec.Estimate > 0
	}
}

func (d *demand) arrived(spec *cluster.JobSpec, c int, since time.Duration) {
	if spec.Submit >= since {
		d.recent[c] += spec.GPUMilli()
	}
}

// waste is how many of so many GPUs of a server the waiting jobs, whole gangs on GPUs of their own, cannot fill once one of
// that many workers has started. It is 0 beyond mostFill GPUs.
func (d *demand) waste(left, workers int32) int32 {
	if left > mostFill {
		return 0
	}
	if workers > mostFill {
		workers = 0
	}
	if d.sums[workers] == 0 {
		d.sums[workers] = d.add(workers)
	}
	fill := d.sums[workers] & (1<<(left+1) - 1)
	return left - int32(63-bits.LeadingZeros64(fill))
}

// add finds the sums of waiting jobs' workers up to mostFill, one job of that many workers apart.
func (d *demand) add(but int32) uint64 {
	sums := uint64(1)
	for size, n := range d.sizes[1:] {
		size++
		if size == int(but) {
			n--
		}
		n = min(n, mostFill/int32(size))
		for step := int32(1); n > 0; step *= 2 { // 1, 2, 4 and so on of them, and the rest
			step = min(step, n)
			sums |= sums << (int32(size) * step)
			n -= step
		}
	}
	return sums
}
