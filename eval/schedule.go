package eval

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Stay is a period during which a job holds the same GPUs. Its length may be 0.
type Stay struct {
	From, To time.Duration
	Record   *sim.Record // the start, resize or migration that began it
	End      sim.Kind    // how it ended: Finish, Preempt, Interrupt, Resize or Migrate; End if the log ended first
}

// Stays returns the stays of every job of a log, by JobID, in order of time. Warm jobs are included.
func Stays(log *sim.Log) [][]Stay {
	all := make([][]Stay, len(log.Jobs))
	open := make([]bool, len(log.Jobs))
	stop := func(id cluster.JobID, at time.Duration, why sim.Kind) {
		if open[id] {
			last := &all[id][len(all[id])-1]
			last.To, last.End, open[id] = at, why, false
		}
	}
	for i := range log.Records {
		r := &log.Records[i]
		switch r.Kind {
		case sim.Start, sim.Resize, sim.Migrate:
			stop(r.Job, r.At, r.Kind)
			all[r.Job] = append(all[r.Job], Stay{From: r.At, Record: r})
			open[r.Job] = true
		case sim.Preempt, sim.Interrupt, sim.Finish:
			stop(r.Job, r.At, r.Kind)
		}
	}
	if n := len(log.Records); n > 0 {
		for id := range open {
			stop(cluster.JobID(id), log.Records[n-1].At, sim.End)
		}
	}
	return all
}

// Box is a range of neighbouring GPUs on one server that a job holds: Count GPUs starting at index GPU, GPUMilli thousandths of
// each.
type Box struct {
	Server     cluster.ServerID
	GPU, Count int32
	GPUMilli   int32
}

// Boxes appends to dst the GPUs that a record gives its job, in as few boxes as possible. The boxes are in the order of the
// placement's pieces, and within a piece by GPU. r must be a start, resize or migration.
func Boxes(dst []Box, log *sim.Log, r *sim.Record) []Box {
	gpus := log.GPUs(r)
	for _, p := range log.Placement(r) {
		held := gpus[:p.Workers]
		if gpus = gpus[p.Workers:]; !slices.IsSorted(held) { // the cluster fills the fullest GPUs with shares first
			held = slices.Sorted(slices.Values(held))
		}
		for i := 0; i < len(held); {
			k := i + 1
			for k < len(held) && held[k] == held[k-1]+1 {
				k++
			}
			dst = append(dst, Box{p.Server, held[i], int32(k - i), p.GPUMilli})
			i = k
		}
	}
	return dst
}

// Spell is a period during which a server was on loan, or a server or one of its GPUs was out of service.
type Spell struct {
	From, To time.Duration // To is the end of the log if the spell did not end before
	Server   cluster.ServerID
	GPU      int32 // -1 for the whole server
	Lent     bool  // on loan; otherwise out of service
}

// Spells lists the spells of a log in the order in which they began.
func Spells(log *sim.Log) []Spell {
	type unit struct {
		server cluster.ServerID
		gpu    int32
		lent   bool
	}
	var all []Spell
	open := map[unit]int{}
	end := time.Duration(0)
	if n := len(log.Records); n > 0 {
		end = log.Records[n-1].At
	}
	for i := range log.Records {
		r := &log.Records[i]
		switch r.Kind {
		case sim.Loan, sim.Fail:
			u := unit{r.Server, r.Index, r.Kind == sim.Loan}
			if u.lent {
				u.gpu = -1
			}
			open[u] = len(all)
			all = append(all, Spell{r.At, end, u.server, u.gpu, u.lent})
		case sim.Reclaim, sim.Seize:
			if k, ok := open[unit{r.Server, -1, true}]; ok {
				all[k].To = r.At
			}
		case sim.Repair:
			if k, ok := open[unit{r.Server, r.Index, false}]; ok {
				all[k].To = r.At
			}
		}
	}
	return all
}
