package sim

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// arrivals returns the jobs' submit times and indices by submit time, then index; nil if the jobs are in that order. It keeps the
// times beside the indices because jobs that are not in order are far apart in memory.
func arrivals(jobs []trace.Job) []entry {
	sorted, most := true, uint64(0)
	for i := range jobs {
		sorted = sorted && (i == 0 || jobs[i-1].Submit <= jobs[i].Submit)
		most = max(most, uint64(jobs[i].Submit))
	}
	if sorted {
		return nil
	}
	all := make([]entry, len(jobs))
	for i := range jobs {
		all[i] = entry{jobs[i].Submit, cluster.JobID(i)}
	}
	return sortEntries(all, most)
}

// sortEntries sorts entries by time, none of which is negative or above most, and keeps the order of entries of the same time. It
// is a radix sort, which compares nothing: for each digit of the times, from the last one, it puts the entries in the order of
// that digit. It returns either the same slice or another of the same length.
func sortEntries(from []entry, most uint64) []entry {
	const bits = 11
	const mask = 1<<bits - 1
	to := make([]entry, len(from))
	for shift := 0; most>>shift > 0; shift += bits {
		var place [1 << bits]int // by digit: how many entries have it, then where the next of them goes
		for i := range from {
			place[uint64(from[i].at)>>shift&mask]++
		}
		sum := 0
		for d, n := range place {
			place[d] = sum
			sum += n
		}
		for _, e := range from {
			d := uint64(e.at) >> shift & mask
			to[place[d]] = e
			place[d]++
		}
		from, to = to, from
	}
	return from
}

// coming returns the submit time and the index of the next job to be submitted.
func (s *Sim) coming() entry {
	if s.arrival == nil {
		return entry{s.jobs[s.next].Submit, cluster.JobID(s.next)}
	}
	return s.arrival[s.next]
}
