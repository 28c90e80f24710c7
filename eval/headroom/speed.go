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

// speeds bounds from above how fast a job can ever run, whatever a scheduler gives it. Every part of a model is bounded on its
// own, and a product of bounds bounds the product:
//
//   - inter-server, sharing and network never exceed 1, by their definitions.
//   - gpu-type: on one type it is that type's speed. On several it is mixedSpeed, below 1, times a mean of such speeds.
//   - cpu-mem: CPUMem never falls in cores or memory, so no worker is faster than one with all of the cluster's largest server.
//   - scaling, diminishing: functions of the number of workers; every number between the job's bounds is looked at.
//   - jitter: a function of the job and of how many servers it is on; every number that it could be on is asked for.
//   - the share of the ideal model: GPU share held over asked for, at most all of a GPU for every worker; with sharing among
//     the parts, workers held over asked for.
//
// The checkpoints that every job saves slow all of them alike.
type speeds struct {
	spec        *cluster.Spec
	save        float64 // at most 1: what saving checkpoints leaves
	sliced      bool    // sharing is among the parts
	strength    float64 // of sharing
	gpuType     bool    // is among the parts, and so on
	cpuMem      bool
	scaling     bool
	diminishing float64       // its gain, 0 if it is not among them
	jitter      physics.Model // alone, nil if it is not among them
	mostGPUs    int32
	types       []string // of the GPUs of servers that may ever be open
	cores, mem  float64  // cores and GiB of the largest server
	curves      map[curveKey][]point
}

// newSpeeds takes a model apart by its name. A model that physics.Parse would not read back is one of which nothing is known.
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

// add takes one part into account.
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
	case "inter-server", "network":
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

// byType is the highest factor of gpu-type on GPUs of that type alone.
func (v *speeds) byType(f *profile.Family, gpuType string) float64 {
	if !v.gpuType || f == nil {
		return 1
	}
	speed, _ := f.GPUSpeed(gpuType)
	return speed
}

// byWorkers is the speed of n well placed workers that hold what was asked for, relative to as many as were asked for: the
// parts that look at their number, and the share of the ideal model. What a GPU share beyond the one asked for brings is left
// out, as is all else.
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

// fullShare is how much faster a job is with whole GPUs than with the share that it asked for.
func (v *speeds) fullShare(spec *cluster.JobSpec) float64 {
	if v.sliced {
		return 1
	}
	return float64(cluster.WholeGPU) / float64(spec.Request.GPUMilli)
}

// luck is the highest factor of jitter on any number of servers that the job could be on.
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

// point is a step of a curve: with less than so many cores a worker's factor of cpu-mem is at most speed, with any memory.
type point struct{ from, speed float64 }

type curveKey struct {
	model    string
	cpu, mem int32
}

const (
	curveSteps = 96
	leastCores = 0.05
)

// curve returns the steps of a job in order: points[i].speed bounds the factor of a worker that holds from points[i].from
// cores up to points[i+1].from, for CPUMem never falls. A job that does not mind CPU has one point.
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
		// A hair more than the next step's cores: rounding may not make the last one smaller than the server.
		points[i] = point{from, f.CPUMem(at(i)*(1+1e-9), max(v.mem, mem)) / fair}
	}
	v.curves[key] = points
	return points
}

// least is a bound from below on the time of a job: no allocation at any time brings it more work per time.
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
