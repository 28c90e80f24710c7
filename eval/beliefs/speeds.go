package beliefs

import (
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Configuration is what a job holds: see cluster.Configuration.
type Configuration struct {
	Workers  int32  `json:"workers"`
	GPUMilli int32  `json:"gpu_milli"` // per worker, as the next two
	CPUMilli int32  `json:"cpu_milli"`
	MemMiB   int32  `json:"mem_mib"`
	Servers  int32  `json:"servers"`
	Racks    int32  `json:"racks"` // of these servers, 0 if none belongs to a rack
	GPUType  string `json:"gpu_type"`
	Shared   bool   `json:"shared"`
}

// Speed is what is believed of the speed of a job in a configuration, relative to the job as requested, alone on V100.
type Speed struct {
	What          string        `json:"what"`
	Configuration Configuration `json:"configuration"`
	Speed         float64       `json:"speed"`
	Low           float64       `json:"low"` // between Low and High with a probability of 80 %
	High          float64       `json:"high"`
}

// sure is how many standard deviations an interval of 80 % reaches to either side of a normal mean.
const sure = 1.2816

// speed asks what is believed.
func (b *Beliefs) speed(spec *cluster.JobSpec, what string, c *cluster.Configuration) Speed {
	mean, sd := b.speeds.Of(&b.state.View, spec, c)
	return Speed{what, plain(c), math.Exp(mean), math.Exp(mean - sure*sd), math.Exp(mean + sure*sd)}
}

func plain(c *cluster.Configuration) Configuration {
	return Configuration{c.Workers, c.GPUMilli, c.CPUMilli, c.MemMiB, c.Servers, c.Racks, c.GPUType, c.Shared}
}

// Readings returns the number of readings learned from.
func (b *Beliefs) Readings() int64 { return b.speeds.Learned() }

// Measured reports whether the log's scenario measures throughputs at all. Of what was saved this is not known, and true.
func (b *Beliefs) Measured() bool { return b.saved != nil || b.log.Config.Readings.Interval > 0 }

// Typical returns a job of which only the request is known: the median one of a user's submitted jobs, or of all jobs if the user
// is "". Its gang is the median of those with several workers, 2 if there are none, so that it can shrink and grow. If
// only what was saved is known, each worker has four cores.
func (b *Beliefs) Typical(user string) cluster.JobSpec {
	spec := cluster.JobSpec{User: user, Workers: 2, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}}
	var cpu, mem, workers []int32
	for _, id := range b.submitted(user) {
		s := b.state.Spec(id)
		cpu, mem = append(cpu, s.Request.CPUMilli), append(mem, s.Request.MemMiB)
		if s.Workers > 1 {
			workers = append(workers, s.Workers)
		}
	}
	spec.Request.CPUMilli, spec.Request.MemMiB = median(cpu), median(mem)
	if len(workers) > 0 {
		spec.Workers = median(workers)
	}
	if b.saved != nil {
		spec.Request = example
	}
	spec.MinWorkers, spec.MaxWorkers = max(spec.Workers/2, 1), 2*spec.Workers
	return spec
}

// median returns the lower median, 0 of no values.
func median(values []int32) int32 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// Speeds returns what is believed of the speed of a job as requested, and with one thing changed at a time, if it may: half and
// twice the CPU of each worker, half and twice the workers, each GPU type of the cluster, a shared GPU, twice the servers. Twice
// the servers stand there a second time, in two racks, unless the cluster has no two.
func (b *Beliefs) Speeds(spec *cluster.JobSpec) (list []Speed) {
	as := b.requested(spec, spec.Workers)
	add := func(c cluster.Configuration, what string, args ...any) {
		list = append(list, b.speed(spec, fmt.Sprintf(what, args...), &c))
	}
	add(as, "as requested")
	if cpu := spec.Request.CPUMilli; cpu > 1 {
		less, more := as, as
		less.CPUMilli, more.CPUMilli = cpu/2, 2*cpu
		add(less, "half the CPU (%s)", Cores(less.CPUMilli))
		add(more, "twice the CPU (%s)", Cores(more.CPUMilli))
	}
	if n := spec.Workers / 2; n >= spec.Least() && n > 0 {
		add(b.requested(spec, n), "half the workers (%d)", n)
	}
	if n := 2 * spec.Workers; n <= spec.Most() {
		add(b.requested(spec, n), "twice the workers (%d)", n)
	}
	for _, name := range b.state.Types() {
		if c := as; name != "" && spec.Allows(name) {
			c.GPUType = name
			add(c, "on %s", name)
		}
	}
	shared := as
	shared.Shared, shared.GPUMilli = true, min(as.GPUMilli, cluster.WholeGPU/2)
	add(shared, "on a shared GPU")
	if c := as; 2*c.Servers <= c.Workers {
		c.Servers *= 2
		add(c, "over %d servers, not %d", c.Servers, as.Servers)
		if c.Racks = 2; b.saved != nil || b.racks() > 1 {
			add(c, "over %d servers in 2 racks", c.Servers)
		}
	}
	return list
}

// racks returns the number of racks of the cluster.
func (b *Beliefs) racks() int {
	all := map[int32]bool{}
	for i := range b.state.Servers() {
		if rack := b.state.Server(cluster.ServerID(i)).Rack; rack > 0 {
			all[rack] = true
		}
	}
	return len(all)
}

// requested returns the configuration of a job with so many workers as requested, on as few servers as possible.
func (b *Beliefs) requested(spec *cluster.JobSpec, workers int32) cluster.Configuration {
	most := max(b.state.MostGPUs(), 1)
	return cluster.Configuration{Workers: workers, Amount: spec.Request, Servers: (workers + most - 1) / most}
}

// Cores formats thousandths of cores.
func Cores(milli int32) string {
	if milli == 1000 {
		return "1 core"
	}
	return fmt.Sprintf("%g cores", float64(milli)/1000)
}

// geometric returns the number at the given part of the way from lo to hi, in logarithms. Both must be above 0.
func geometric(lo, hi, part float64) float64 { return lo * math.Pow(hi/lo, part) }
