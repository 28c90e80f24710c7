package headroom

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// speeds computes upper bounds on the speed of a job, for any allocation by any scheduler. It bounds every part of a physics
// model by itself; the product of these bounds is a bound on the product of the parts:
//
//   - inter-server, sharing, network, interleaved and power never exceed 1, by their definitions.
//   - gpu-type: on one GPU type it is that type's speed. On several types it is mixedSpeed, below 1, times a mean of such speeds.
//   - cpu-mem: CPUMem never falls when cores or memory grow, so the bound is a worker with all of the cluster's largest server.
//   - scaling, diminishing: functions of the number of workers; speeds evaluates every number in the job's range.
//   - jitter: a function of the job and its number of servers; speeds evaluates every possible number.
//   - the share of the ideal model: GPU share held over asked for, at most a whole GPU for every worker; if sharing is among the
//     parts, workers held over asked for.
//
// Saving checkpoints slows all jobs by the same factor.
type speeds struct {
	spec        *cluster.Spec
	save        float64 // factor of at most 1: the time left after saving checkpoints
	sliced      bool    // whether sharing is among the parts
	strength    float64 // of interference by sharing
	gpuType     bool    // whether gpu-type is among the parts; likewise cpuMem and scaling
	cpuMem      bool
	scaling     bool
	diminishing float64       // gain of the part diminishing; 0 if it is not among the parts
	jitter      physics.Model // the part jitter alone; nil if it is not among the parts
	mostGPUs    int32
	types       []string // GPU types of the servers that can be open to training
	cores, mem  float64  // cores and GiB of the largest server
	curves      map[curveKey][]point
}

// newSpeeds splits a model into its parts by its name. It returns an error for a part that it has no bound for.
func newSpeeds(cfg *sim.Config) (*speeds, error) {
	v := &speeds{spec: &cfg.Cluster, save: 1, curves: map[curveKey][]point{}}
	if r := &cfg.Restart; r.Save > 0 {
		v.save = float64(r.Interval) / float64(r.Interval+r.Save)
	}
	for i := range cfg.Cluster.Servers {
		s := &cfg.Cluster.Servers[i]
		v.mostGPUs = max(v.mostGPUs, s.GPUs)
		v.cores = max(v.cores, float64(min(s.CPUMilli, math.MaxInt32))/1000)
		v.mem = max(v.mem, float64(min(s.MemMiB, math.MaxInt32))/1024)
	}
	v.types = cfg.Cluster.Types()
	if cfg.Physics == nil || cfg.Physics.Name() == "ideal" {
		return v, nil
	}
	name := cfg.Physics.Name()
	if _, err := physics.Parse(name); err != nil {
		return nil, fmt.Errorf("bound speeds: no bound is known for physics %q", name)
	}
	for text := range strings.SplitSeq(name, "*") {
		if err := v.add(strings.TrimSpace(text)); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// add records one part of the model.
func (v *speeds) add(text string) (err error) {
	kind, rest, _ := strings.Cut(text, "(")
	number := func() float64 {
		var x float64
		if x, err = strconv.ParseFloat(strings.TrimSuffix(rest, ")"), 64); err != nil {
			err = fmt.Errorf("bound speeds: part %q: %w", text, err)
		}
		return x
	}
	switch kind {
	case "inter-server", "network", "interleaved", "power":
	case "gpu-type":
		v.gpuType = true
	case "cpu-mem":
		v.cpuMem = true
	case "sharing":
		v.sliced, v.strength = true, number()
	case "scaling":
		v.scaling = true
	case "diminishing":
		v.diminishing = number()
	case "jitter":
		v.jitter, err = physics.Parse(text)
	default:
		err = fmt.Errorf("bound speeds: no bound is known for part %q of the physics", text)
	}
	return err
}

// byType returns the upper bound of the factor gpu-type on GPUs of one type.
func (v *speeds) byType(f *profile.Family, gpuType string) float64 {
	if !v.gpuType || f == nil {
		return 1
	}
	speed, _ := f.GPUSpeed(gpuType)
	return speed
}

// byWorkers returns the speed of n well placed workers that hold the requested amount each, relative to the requested number of
// workers. It covers the parts that depend on the number of workers, and the share of the ideal model. It leaves out all other
// parts, and the gain from a larger GPU share than requested.
func (v *speeds) byWorkers(spec *cluster.JobSpec, f *profile.Family, n int32) float64 {
	speed := float64(n) / float64(spec.Workers)
	if n == spec.Workers {
		return speed
	}
	if v.scaling && f != nil {
		each := func(n int32) float64 { return f.Throughput((n+v.mostGPUs-1)/v.mostGPUs, n) / float64(n) }
		speed *= each(n) / each(spec.Workers)
	}
	if g := v.diminishing; g > 0 {
		each := func(n int32) float64 { return (float64(spec.Least()) + g*float64(n-spec.Least())) / float64(n) }
		speed *= each(n) / each(spec.Workers)
	}
	return speed
}

// fullShare returns the factor by which whole GPUs speed up a job over the share that it asked for.
func (v *speeds) fullShare(spec *cluster.JobSpec) float64 {
	if v.sliced {
		return 1
	}
	return float64(cluster.WholeGPU) / float64(spec.Request.GPUMilli)
}

// luck returns the highest factor of jitter over all numbers of servers that the job can run on.
func (v *speeds) luck(spec *cluster.JobSpec) (float64, error) {
	if v.jitter == nil {
		return 1, nil
	}
	most := min(int(spec.Most()/spec.Together()), len(v.spec.Servers))
	best := 0.0
	for n := 1; n <= most; n++ {
		s, err := cluster.NewState(cluster.Uniform(n, 1), 1)
		if err != nil {
			return 0, fmt.Errorf("bound speeds: %w", err)
		}
		s.Submit(0, &cluster.JobSpec{Name: spec.Name, Workers: int32(n), Request: cluster.Amount{GPUMilli: cluster.WholeGPU}})
		p := make(cluster.Placement, n)
		for i := range p {
			p[i] = cluster.Piece{Server: cluster.ServerID(i), Workers: 1, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}
		}
		if err := s.Begin(nil).Place(0, p); err != nil {
			return 0, fmt.Errorf("bound speeds: %w", err)
		}
		best = max(best, v.jitter.Speed(&s.View, 0))
	}
	return best, nil
}

// point is a step of a curve. From this number of cores to that of the next point, the factor cpu-mem of a worker is at most
// speed, with any amount of memory.
type point struct{ from, speed float64 }

type curveKey struct {
	model    string
	cpu, mem int32
}

const (
	curveSteps = 96
	leastCores = 0.05
)

// curve returns the steps of a job in order: points[i].speed bounds the factor cpu-mem of a worker with at least points[i].from
// and at most points[i+1].from cores, because CPUMem never falls. A job whose speed does not depend on CPU has one point.
func (v *speeds) curve(spec *cluster.JobSpec, f *profile.Family) []point {
	want := spec.Request
	if !v.cpuMem || f == nil || want.CPUMilli == 0 || want.MemMiB == 0 {
		return []point{{0, 1}}
	}
	key := curveKey{spec.Model, want.CPUMilli, want.MemMiB}
	if c, ok := v.curves[key]; ok {
		return c
	}
	cores, mem := float64(want.CPUMilli)/1000, float64(want.MemMiB)/1024
	fair := f.CPUMem(cores, mem)
	most := max(v.cores, cores)
	at := func(i int) float64 { return leastCores * math.Pow(most/leastCores, float64(i)/curveSteps) }
	points := make([]point, curveSteps+1)
	for i := range points {
		from := 0.0
		if i > 0 {
			from = at(i - 1)
		}
		// Use slightly more cores than the next step, so that rounding cannot make the last step smaller than the server.
		points[i] = point{from, f.CPUMem(at(i)*(1+1e-9), max(v.mem, mem)) / fair}
	}
	v.curves[key] = points
	return points
}

// least returns a lower bound on the time of a job in seconds: no allocation gives it a higher speed at any time.
func (v *speeds) least(j *trace.Job, luck float64) float64 {
	spec := &j.JobSpec
	f := profile.Lookup(spec.Model)
	types, workers := 0.0, 0.0
	for _, t := range v.types {
		if spec.Allows(t) {
			types = max(types, v.byType(f, t))
		}
	}
	for n := spec.Least(); n <= spec.Most(); n++ {
		workers = max(workers, v.byWorkers(spec, f, n))
	}
	curve := v.curve(spec, f)
	return j.Work.Seconds() / (types * workers * curve[len(curve)-1].speed * v.fullShare(spec) * luck * v.save)
}
