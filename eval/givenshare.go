package eval

import "github.com/clustergym/clustergym/env/sim"

// given compares what jobs get when they start with what they asked for: sums of ratios over starts, those after a preemption
// included. A job that asked for none of a resource does not count for it.
type given struct{ gpus, cpu, mem ratios }

// ratios is a sum of ratios and their number.
type ratios struct {
	sum float64
	n   int
}

func (r *ratios) add(got, asked int64) {
	if asked > 0 {
		r.sum += float64(got) / float64(asked)
		r.n++
	}
}

// mean returns the mean ratio, 0 over none.
func (r ratios) mean() float64 {
	if r.n == 0 {
		return 0
	}
	return r.sum / float64(r.n)
}

// start adds the placement of a start record.
func (g *given) start(log *sim.Log, r *sim.Record) {
	var got struct{ gpu, cpu, mem int64 }
	for _, p := range log.Placement(r) {
		got.gpu += int64(p.Workers) * int64(p.GPUMilli)
		got.cpu += int64(p.Workers) * int64(p.CPUMilli)
		got.mem += int64(p.Workers) * int64(p.MemMiB)
	}
	spec := &log.Jobs[r.Job].JobSpec
	asked := func(each int32) int64 { return int64(spec.Workers) * int64(each) }
	g.gpus.add(got.gpu, asked(spec.Request.GPUMilli))
	g.cpu.add(got.cpu, asked(spec.Request.CPUMilli))
	g.mem.add(got.mem, asked(spec.Request.MemMiB))
}
