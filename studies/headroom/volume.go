package headroom

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// item is a job as the bounds see it. Nothing in the simulation can go below its values.
type item struct {
	submit float64 // seconds
	least  float64 // lower bound on the seconds from submission to finish
	volume float64 // lower bound on the seconds that it takes of a machine that stands for the whole cluster
}

// blend weighs the cluster's resources against each other. The machine of the volume bounds is a weighted sum of GPUs, with one
// weight for each type, and CPU cores; the two parts add up to 1. For any weights, the jobs that run at one time hold no more
// than the machine. So every blend gives valid bounds, and newBounds uses the best.
type blend struct {
	gpus  float64            // the part of the GPUs; the rest is the part of the cores
	types map[string]float64 // weight of a GPU by type, above 0
}

// machine is a blend with the cluster's amounts.
type machine struct {
	blend
	total float64 // the largest weighted number of GPUs open at one time
	cores float64
}

// blends returns the blends to try.
func (v *speeds) blends(cfg *sim.Config, jobs []trace.Job) []machine {
	even, fast := map[string]float64{}, map[string]float64{}
	for _, t := range v.types {
		even[t], fast[t] = 1, 0
		for i := range jobs {
			fast[t] += v.byType(profile.Lookup(jobs[i].Model), t)
		}
	}
	parts := []float64{1}
	cores := 0.0
	for i := range v.spec.Servers {
		cores += float64(v.spec.Servers[i].CPUMilli) / 1000
	}
	if v.cpuMem && cores < cluster.Unlimited/1000 {
		parts = []float64{1, 0.85, 0.7, 0.5, 0.3}
	}
	var all []machine
	for _, types := range []map[string]float64{even, fast} {
		for _, part := range parts {
			all = append(all, machine{blend{part, types}, v.open(cfg, types), cores})
		}
		if len(v.types) == 1 || !v.gpuType {
			break
		}
	}
	return all
}

// open returns the largest weighted number of GPUs that can be open to training at one time: those of the training servers, plus
// those of the largest servers of the inference pool, as many as it ever offers at once. It ignores failures. A scheduler keeps
// servers of earlier offers for a grace period, but never more than the highest offer.
func (v *speeds) open(cfg *sim.Config, weights map[string]float64) float64 {
	total := 0.0
	var lent []float64
	for i := range v.spec.Servers {
		s := &v.spec.Servers[i]
		w := weights[s.GPUType] * float64(s.GPUs)
		if s.Pool == cluster.Training {
			total += w
		} else {
			lent = append(lent, w)
		}
	}
	offer := len(lent)
	if len(cfg.Demand) > 0 && cfg.Demand[0].At == 0 {
		offer = 0
		for _, d := range cfg.Demand {
			offer = max(offer, int(d.Offer))
		}
	}
	return total + sumOfLargest(lent, offer)
}

// volume returns a lower bound on what a job takes of the machine, in seconds of the whole machine. It is the minimum, over all
// GPU types, numbers of workers and amounts of CPU, of what the job holds per unit of its work. A job that changes between
// allocations, or holds several types at once, takes a mean of such values.
//
// If sharing is among the parts, a worker counts as its part of a GPU (see type sharing). Otherwise it counts as the GPU share
// that it holds; its speed is proportional to the share, so the share cancels out.
func (v *speeds) volume(m *machine, c *sharing, j *trace.Job, luck float64) float64 {
	spec := &j.JobSpec
	f := profile.Lookup(spec.Model)
	curve := v.curve(spec, f)
	best := math.Inf(1)
	for _, t := range v.types {
		if !spec.Allows(t) {
			continue
		}
		gpu := float64(spec.Request.GPUMilli) / cluster.WholeGPU
		if v.sliced {
			gpu = 1 / c.of(spec.Model, t)
		}
		gpu *= m.types[t] * m.gpus / m.total
		for n := spec.Least(); n <= spec.Most(); n++ {
			// If a share is a cap, a worker with a whole GPU ends sooner and so holds its cores for a shorter time.
			workers := float64(n)
			speed := v.byType(f, t) * v.byWorkers(spec, f, n) * luck * v.save
			for _, p := range curve {
				held := workers * gpu
				if m.gpus < 1 {
					held += workers * p.from * (1 - m.gpus) / m.cores / v.fullShare(spec)
				}
				best = min(best, held/(speed*p.speed))
			}
		}
	}
	return best * j.Work.Seconds()
}

// items returns the jobs as items for the given machine.
func (v *speeds) items(m *machine, c *sharing, jobs []trace.Job, lucks []float64) []item {
	all := make([]item, len(jobs))
	for i := range jobs {
		all[i] = item{
			submit: jobs[i].Submit.Seconds(), least: v.least(&jobs[i], lucks[i]), volume: v.volume(m, c, &jobs[i], lucks[i]),
		}
	}
	return all
}
