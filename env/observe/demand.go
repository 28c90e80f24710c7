package observe

import (
	"math/bits"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// classes is the number of size classes of jobs: one worker; up to half of the largest server's GPUs; up to all of them; more.
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

// mostFill is the largest number of GPUs of a server for which waste is computed.
const mostFill = 63

// demand is what jobs request. An encoder keeps no history, so recent counts only jobs that are still in the cluster: it misses
// jobs that came and went within the hour.
type demand struct {
	waiting [classes]int64 // thousandths of GPUs that waiting jobs request, by size class
	recent  [classes]int64 // the same for jobs that came within the last hour, waiting or running
	jobs    [classes]int32 // number of waiting jobs, by size class
	all     int32          // number of waiting jobs
	foresee bool           // some running job has an estimate, or no job runs
	sizes   [mostFill + 1]int32
	sums    [mostFill + 1]uint64 // by n: the sums of waiting jobs' workers, without one job of n workers, as bits; 0: not computed
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
		d.foresee = d.foresee || s.Knows(id)
	}
}

func (d *demand) arrived(spec *cluster.JobSpec, c int, since time.Duration) {
	if spec.Submit >= since {
		d.recent[c] += spec.GPUMilli()
	}
}

// waste returns how many of the number left of free GPUs of a server the waiting jobs cannot fill with whole gangs on GPUs of
// their own, after one job with the given number of workers has started. It is 0 above mostFill GPUs.
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

// add returns the sums, up to mostFill, that the numbers of workers of waiting jobs can have. It leaves out one job with the
// number but of workers.
func (d *demand) add(but int32) uint64 {
	sums := uint64(1)
	for size, n := range d.sizes[1:] {
		size++
		if size == int(but) {
			n--
		}
		n = min(n, mostFill/int32(size))
		for step := int32(1); n > 0; step *= 2 { // add n jobs of this size in groups of 1, 2, 4 and so on, and the rest
			step = min(step, n)
			sums |= sums << (int32(size) * step)
			n -= step
		}
	}
	return sums
}
