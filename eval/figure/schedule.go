package figure

import (
	"fmt"
	"hash/fnv"
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

// layBoxes lays out what jobs held. It joins neighbouring servers that a job holds as a whole.
func (s *schedule) layBoxes(log *sim.Log) {
	for id, stays := range eval.Stays(log) {
		colour := colour(log.Jobs[id].Name)
		for _, stay := range stays {
			from := len(s.boxes)
			for _, p := range stay.Pieces {
				row := s.first[p.Server] + float64(p.GPU)
				top, bottom := row+float64(p.Top)/cluster.WholeGPU, row+float64(p.Top+p.Count*p.GPUMilli)/cluster.WholeGPU
				if n := len(s.boxes); n > from && s.boxes[n-1].bottom == top {
					s.boxes[n-1].bottom = bottom
					continue
				}
				s.boxes = append(s.boxes, box{stay.From.Seconds(), stay.To.Seconds(), top, bottom, colour})
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
