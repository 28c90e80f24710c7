package eval

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Stay is a period during which a job holds the same GPUs. Its length may be 0. All drawings of a schedule are made of stays.
type Stay struct {
	From, To time.Duration
	Record   *sim.Record // the start, resize or migration that began it
	End      sim.Kind    // how it ended: Finish, Preempt, Interrupt, Resize or Migrate; End if the log ended first
	Pieces   []Piece     // what the job holds, in the order of the placement; rests of divided shares come last
}

// Piece is a range of neighbouring GPUs on one server that a job holds: Count GPUs from index GPU on, GPUMilli thousandths of
// each. A piece of less than a whole GPU has one GPU, and is drawn below the first Top thousandths of that. It overlaps no other
// piece.
type Piece struct {
	Server     cluster.ServerID
	GPU, Count int32
	GPUMilli   int32
	Top        int32
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
			all[r.Job] = append(all[r.Job], Stay{From: r.At, Record: r, Pieces: pieces(log, r)})
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
	stackShares(all)
	return all
}

// pieces returns the GPUs that a record gives its job: whole GPUs in as few pieces as possible, each share by itself.
func pieces(log *sim.Log, r *sim.Record) (all []Piece) {
	gpus := log.GPUs(r)
	for _, p := range log.Placement(r) {
		held := gpus[:p.Workers]
		if gpus = gpus[p.Workers:]; !slices.IsSorted(held) { // the cluster fills the fullest GPUs with shares first
			held = slices.Sorted(slices.Values(held))
		}
		for i := 0; i < len(held); {
			k := i + 1
			for p.GPUMilli == cluster.WholeGPU && k < len(held) && held[k] == held[k-1]+1 {
				k++
			}
			all = append(all, Piece{Server: p.Server, GPU: held[i], Count: int32(k - i), GPUMilli: p.GPUMilli})
			i = k
		}
	}
	return all
}

// stackShares stacks the shares of each GPU. A share takes the lowest thousandths that are free when it starts, in several pieces
// if necessary.
func stackShares(all [][]Stay) {
	type share struct {
		*Stay
		piece int // index into Pieces
	}
	var shares []share
	for _, stays := range all {
		for i := range stays {
			for k := range stays[i].Pieces {
				if stays[i].Pieces[k].GPUMilli < cluster.WholeGPU && stays[i].To > stays[i].From {
					shares = append(shares, share{&stays[i], k})
				}
			}
		}
	}
	slices.SortStableFunc(shares, func(x, y share) int {
		a, b := &x.Pieces[x.piece], &y.Pieces[y.piece]
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.GPU, b.GPU), cmp.Compare(x.From, y.From))
	})
	type span struct {
		lo, hi int32
		until  time.Duration
	}
	var taken []span // of the current GPU, ascending
	var last Piece
	for _, s := range shares {
		p := s.Pieces[s.piece]
		if p.Server != last.Server || p.GPU != last.GPU {
			taken = taken[:0]
		}
		last = p
		taken = slices.DeleteFunc(taken, func(t span) bool { return t.until <= s.From })
		at, want := int32(0), p.GPUMilli
		for k := 0; k <= len(taken) && want > 0; k++ {
			end := int32(cluster.WholeGPU)
			if k < len(taken) {
				end = taken[k].lo
			}
			if size := min(want, end-at); size > 0 {
				p.Top, p.GPUMilli = at, size
				if want == last.GPUMilli {
					s.Pieces[s.piece] = p
				} else {
					s.Pieces = append(s.Pieces, p)
				}
				taken = slices.Insert(taken, k, span{at, at + size, s.To})
				want -= size
				k++
			}
			if k < len(taken) {
				at = taken[k].hi
			}
		}
	}
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
