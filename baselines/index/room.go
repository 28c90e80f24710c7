package index

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
)

// room forecasts when GPUs become free if nobody is stopped and nobody else starts.
type room struct {
	ends   []end     // soonest first
	free   []float64 // whole GPUs that are free now, by ServerID; 0 on servers that take no job
	then   []float64 // scratch
	curves []curve   // of the present ends
}

// end is when a job ends, and what it then leaves on a server.
type end struct {
	left   time.Duration
	server cluster.ServerID
	gpus   float64
}

// curve says when how many workers of so many GPUs each have room.
type curve struct {
	worker float64
	now    int
	slots  []slot
}

type slot struct {
	left time.Duration
	n    int
}

// look begins anew with the jobs that run.
func (r *room) look(v *cluster.View) {
	r.ends, r.free, r.curves = r.ends[:0], r.free[:0], r.curves[:0]
	for i := range v.Servers() {
		free := 0.0
		if id := cluster.ServerID(i); v.Open(id) {
			free = float64(v.FreeGPUs(id))
		}
		r.free = append(r.free, free)
	}
	for _, id := range v.Running() {
		d := objectives.Left(v, id)
		for _, p := range v.Placement(id) {
			r.ends = append(r.ends, end{d, p.Server, gpus(p)})
		}
	}
	slices.SortFunc(r.ends, func(a, b end) int { return cmp.Compare(a.left, b.left) })
}

func gpus(p cluster.Piece) float64 {
	return float64(p.Workers) * float64(p.GPUMilli) / cluster.WholeGPU
}

// add notes that a job has been started that look did not see, and that it runs for d.
func (r *room) add(placement cluster.Placement, d time.Duration) {
	r.curves = r.curves[:0]
	for _, p := range placement {
		r.free[p.Server] -= gpus(p)
		at := sort.Search(len(r.ends), func(i int) bool { return r.ends[i].left > d })
		r.ends = slices.Insert(r.ends, at, end{d, p.Server, gpus(p)})
	}
}

// drop takes back the last add of the same job.
func (r *room) drop(placement cluster.Placement, d time.Duration) {
	r.curves = r.curves[:0]
	for _, p := range placement {
		r.free[p.Server] += gpus(p)
		at := slices.Index(r.ends, end{d, p.Server, gpus(p)})
		r.ends = slices.Delete(r.ends, at, at+1)
	}
}

// wait returns after what time workers of so many GPUs each have room for all in all so many GPUs, and most if they never do.
func (r *room) wait(worker, all float64) time.Duration {
	need := int(math.Ceil(all/worker - rounding))
	c := r.curve(worker)
	if c.now >= need {
		return 0
	}
	i := sort.Search(len(c.slots), func(i int) bool { return c.slots[i].n >= need })
	if i == len(c.slots) {
		return most
	}
	return c.slots[i].left
}

const rounding = 1e-9

// curve computes when how many workers have room, or has done so before.
func (r *room) curve(worker float64) *curve {
	for i := range r.curves {
		if r.curves[i].worker == worker {
			return &r.curves[i]
		}
	}
	if len(r.curves) < cap(r.curves) {
		r.curves = r.curves[:len(r.curves)+1]
	} else {
		r.curves = append(r.curves, curve{})
	}
	c := &r.curves[len(r.curves)-1]
	c.worker, c.now, c.slots = worker, 0, c.slots[:0]
	r.then = append(r.then[:0], r.free...)
	for _, f := range r.then {
		c.now += int(f/worker + rounding)
	}
	n := c.now
	for _, e := range r.ends {
		before := int(r.then[e.server]/worker + rounding)
		r.then[e.server] += e.gpus
		if more := int(r.then[e.server]/worker+rounding) - before; more > 0 {
			n += more
			c.slots = append(c.slots, slot{e.left, n})
		}
	}
	return c
}
