package console

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// panel is one schedule, divided into rows and columns.
type panel struct {
	log     *sim.Log
	rows    []row
	row     []int32 // by GPU of the cluster: its row
	first   []int   // by server: index into row of its GPU 0
	columns int
	width   float64 // of a column, in nanoseconds
	cells   []cell  // row by row
	line    eval.Timeline
}

// row is a group of GPUs drawn as one row.
type row struct {
	label string
	gpus  int
}

// cell is what jobs hold in a row during a column, in GPU-nanoseconds, and the job that holds most of it.
type cell struct {
	held, best float64
	job        cluster.JobID
}

// newPanel assigns GPUs to at most room rows: one row for each GPU if that is enough; otherwise one for each server; otherwise
// one for as few servers as possible.
func newPanel(log *sim.Log, room int) *panel {
	p := &panel{log: log}
	servers := log.Config.Cluster.Servers
	each, together := log.Config.Cluster.GPUs() <= room, (len(servers)+room-1)/room
	for i := range servers {
		v := &servers[i]
		p.first = append(p.first, len(p.row))
		name := v.Name
		if name == "" {
			name = fmt.Sprintf("server %d", i)
		}
		if !each && i%together == 0 {
			if n := min(together, len(servers)-i); n > 1 {
				name = fmt.Sprintf("%s +%d", name, n-1)
			}
			p.rows = append(p.rows, row{label: name})
		}
		for g := range v.GPUs {
			if each {
				label := fmt.Sprint(g)
				if g == 0 {
					label = name + " 0"
				}
				p.rows = append(p.rows, row{label: label})
			}
			p.rows[len(p.rows)-1].gpus++
			p.row = append(p.row, int32(len(p.rows)-1))
		}
	}
	return p
}

// fill computes the cells from what every job holds.
func (p *panel) fill(until time.Duration, columns int) {
	p.columns, p.cells = columns, make([]cell, len(p.rows)*columns)
	width := float64(until) / float64(columns)
	p.width = width
	own := make([]float64, len(p.cells)) // of the current job
	var touched []int
	for id, stays := range eval.Stays(p.log) {
		for _, s := range stays {
			first := min(int(float64(s.From)/width), columns-1)
			last := min(int(float64(s.To)/width), columns-1)
			for x := first; x <= last; x++ {
				length := min(float64(s.To), float64(x+1)*width) - max(float64(s.From), float64(x)*width)
				if length <= 0 {
					continue
				}
				for _, b := range s.Pieces {
					for g := range int(b.Count) {
						i := int(p.row[p.first[b.Server]+int(b.GPU)+g])*columns + x
						if own[i] == 0 {
							touched = append(touched, i)
						}
						own[i] += length * float64(b.GPUMilli) / cluster.WholeGPU
					}
				}
			}
		}
		for _, i := range touched {
			c := &p.cells[i]
			if c.held += own[i]; own[i] > c.best {
				c.best, c.job = own[i], cluster.JobID(id)
			}
			own[i] = 0
		}
		touched = touched[:0]
	}
}

// capacity returns the most that jobs can hold in a cell.
func (p *panel) capacity(i int) float64 { return float64(p.rows[i/p.columns].gpus) * p.width }

// full reports whether one job holds at least half of a cell's capacity and at least half of what is held there, up to rounding.
func (p *panel) full(i int) bool {
	c := &p.cells[i]
	return c.held > 0 && c.best >= max(c.held, p.capacity(i))/2*(1-1e-9)
}
