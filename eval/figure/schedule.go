package figure

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// schedule is the layout of a log: time in seconds to the right, GPUs as rows downwards.
type schedule struct {
	name, about string
	first       []float64 // number of rows above each server, and at last the number of all rows
	boxes       []box
	areas       []groundArea
	end         float64 // of the log
	demand      eval.Timeline
}

// box is what a job holds, from one time to another, on adjacent rows. top and bottom may be fractions of a row.
type box struct {
	from, to    float64
	top, bottom float64
	colour      int
}

func (s *schedule) rows() float64 { return s.first[len(s.first)-1] }

func newSchedule(log *sim.Log) *schedule {
	s := &schedule{name: plain(log.Scheduler), about: about(log)}
	if s.name == "" {
		s.name = "schedule"
	}
	s.first = make([]float64, len(log.Config.Cluster.Servers)+1)
	for i := range log.Config.Cluster.Servers {
		s.first[i+1] = s.first[i] + float64(log.Config.Cluster.Servers[i].GPUs)
	}
	s.layBoxes(log)
	s.layGrounds(log)
	return s
}

func about(log *sim.Log) string {
	m := eval.Measure(log)
	s := fmt.Sprintf("mean JCT %s, makespan %s, utilisation %.0f%%",
		shortTime(m.MeanJCT), shortTime(m.Makespan), 100*m.Utilisation)
	if m.Truncated != "" {
		s += ", cut off: " + plain(m.Truncated)
	}
	return s
}

// part is a share of one GPU during a stay.
type part struct {
	eval.Stay
	row    float64
	milli  int32
	colour int
}

// layBoxes lays out what jobs held. It joins adjacent GPUs into one box, and also consecutive stays on the same GPUs.
func (s *schedule) layBoxes(log *sim.Log) {
	var held []eval.Box
	var shares []part
	for id, stays := range eval.Stays(log) {
		own := len(s.boxes) // the first box of the previous stay
		colour := colour(log.Jobs[id].Name)
		for _, stay := range stays {
			held = eval.Boxes(held[:0], log, stay.Record)
			from := len(s.boxes)
			for _, b := range held {
				top := s.first[b.Server] + float64(b.GPU)
				if b.GPUMilli < cluster.WholeGPU {
					for i := range b.Count {
						shares = append(shares, part{stay, top + float64(i), b.GPUMilli, colour})
					}
					continue
				}
				s.boxes = append(s.boxes, box{stay.From.Seconds(), stay.To.Seconds(), top, top + float64(b.Count), colour})
			}
			s.boxes = append(s.boxes[:from], joinRows(s.boxes[from:])...)
			if !s.extend(own, from) {
				own = from
			}
		}
	}
	s.layShares(shares)
}

// joinRows joins boxes of one stay on adjacent rows, even across servers.
func joinRows(boxes []box) []box {
	slices.SortFunc(boxes, func(a, b box) int { return cmp.Compare(a.top, b.top) })
	joined := boxes[:0]
	for _, b := range boxes {
		if n := len(joined); n > 0 && joined[n-1].bottom == b.top {
			joined[n-1].bottom = b.bottom
			continue
		}
		joined = append(joined, b)
	}
	return joined
}

// extend checks whether the boxes from index from on continue the boxes [own, from) on the same rows without a gap. If so, it
// extends these to the new end, drops the others and returns true.
func (s *schedule) extend(own, from int) bool {
	before, now := s.boxes[own:from], s.boxes[from:]
	same := len(now) > 0 && slices.EqualFunc(before, now, func(a, b box) bool {
		return a.to == b.from && a.top == b.top && a.bottom == b.bottom
	})
	if same {
		for i := range before {
			before[i].to = now[i].to
		}
		s.boxes = s.boxes[:from]
	}
	return same
}

// layShares stacks the shares of each GPU. A share takes the lowest thousandths that are free when it starts, in several pieces
// if necessary.
func (s *schedule) layShares(shares []part) {
	slices.SortStableFunc(shares, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.From, b.From))
	})
	type piece struct {
		lo, hi int32
		until  time.Duration
	}
	var taken []piece // of the current GPU, ascending
	for i, p := range shares {
		if i > 0 && shares[i-1].row != p.row {
			taken = taken[:0]
		}
		taken = slices.DeleteFunc(taken, func(t piece) bool { return t.until <= p.From })
		at, want := int32(0), p.milli
		for k := 0; k <= len(taken) && want > 0; k++ {
			end := int32(cluster.WholeGPU)
			if k < len(taken) {
				end = taken[k].lo
			}
			if size := min(want, end-at); size > 0 {
				s.boxes = append(s.boxes, box{
					p.From.Seconds(), p.To.Seconds(),
					p.row + float64(at)/cluster.WholeGPU, p.row + float64(at+size)/cluster.WholeGPU, p.colour,
				})
				taken = slices.Insert(taken, k, piece{at, at + size, p.To})
				want -= size
				k++
			}
			if k < len(taken) {
				at = taken[k].hi
			}
		}
	}
}

// colour returns the index of a job's colour. It depends on the name only, so a job has the same colour in every schedule.
func colour(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32() % uint32(len(jobColours())))
}

// ground is the background of a server where no job is drawn.
type ground int

const (
	serving ground = iota // the server serves the inference pool
	onLoan
	down
	grounds
)

type groundArea struct {
	ground
	from, to    float64
	top, bottom float64
}

// layGrounds lays out when servers served inference, were on loan or were down.
func (s *schedule) layGrounds(log *sim.Log) {
	servers := log.Config.Cluster.Servers
	end := time.Duration(0)
	if n := len(log.Records); n > 0 {
		end = log.Records[n-1].At
	}
	s.end = end.Seconds()
	add := func(g ground, id cluster.ServerID, gpu int32, from, to time.Duration) {
		top, bottom := s.first[id], s.first[id+1]
		if gpu >= 0 {
			top += float64(gpu)
			bottom = top + 1
		}
		if to > from {
			s.areas = append(s.areas, groundArea{g, from.Seconds(), to.Seconds(), top, bottom})
		}
	}
	back := make([]time.Duration, len(servers)) // by server: since when it has not been on loan
	for _, spell := range eval.Spells(log) {
		if !spell.Lent {
			add(down, spell.Server, spell.GPU, spell.From, spell.To)
			continue
		}
		add(serving, spell.Server, -1, back[spell.Server], spell.From)
		add(onLoan, spell.Server, -1, spell.From, spell.To)
		back[spell.Server] = spell.To
	}
	for i := range servers {
		if servers[i].Pool == cluster.Inference {
			add(serving, cluster.ServerID(i), -1, back[i], end)
		}
	}
}
