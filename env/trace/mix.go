package trace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
)

// Mix sets properties of jobs that a trace lacks: the model that a job trains, whether it is elastic, the GPU types on which it
// runs, how a large model is split, and the recurring job to which it belongs. It draws a model from the class of the job's
// GPU-hours, as Pollux (Qiao et al., OSDI 2021) assigned models to the jobs of a trace. The zero value changes nothing.
// docs/traces.md gives the full rules.
type Mix struct {
	// Classes assigns models by GPU-hours (GPUs asked for x Work). The bounds ascend, and the last one is 0, for all larger jobs.
	// Without classes Mix leaves models as they are.
	Classes []Class `yaml:"classes"`

	// Elastic is the fraction of gangs that become elastic, for example 0.5 for a half-moldable workload. An elastic gang of w
	// workers may run with ceil(Least*w) to 2*w. The same fraction of the jobs of one whole GPU may grow to two.
	// Jobs that share a GPU, and gangs with stages or tensor parallelism, stay rigid.
	Elastic float64 `yaml:"elastic"`
	Least   float64 `yaml:"least"` // above 0 to 1

	Fungible float64 `yaml:"fungible"` // fraction of jobs that may run on any GPU type; the others get GPUType = Home
	Mixed    float64 `yaml:"mixed"`    // fraction of the fungible jobs that may use several types at once
	Home     string  `yaml:"home"`     // GPU types as in a JobSpec; "" allows every type

	// Parallel is the fraction of gangs that get Stages and Tensor, among those whose model is marked Parallel.
	Parallel float64 `yaml:"parallel"`

	Recurring float64 `yaml:"recurring"` // fraction of jobs that are runs of a recurring job: Group is user, size and class

	CPUMilli int32 `yaml:"cpu_milli"` // CPU request per whole GPU if the trace has none; proportional for GPU shares
	MemMiB   int32 `yaml:"mem_mib"`   // the same for memory
}

// Class contains the models of the jobs up to a number of GPU-hours. Without models, Mix leaves the models of these jobs as they
// are.
type Class struct {
	UpTo   float64    `yaml:"up_to"` // GPU-hours, inclusive; 0 for all larger jobs
	Models []Weighted `yaml:"models"`
}

// Weighted is a model and its weight relative to the other models of its class.
type Weighted struct {
	Model     string  `yaml:"model"`
	Weight    float64 `yaml:"weight"`
	GPUMemMiB int32   `yaml:"gpu_mem_mib"` // GPU memory that a worker needs, 0 if not known
	Parallel  bool    `yaml:"parallel"`    // may be split into stages and tensor-parallel groups
}

// The limits of the stages and tensor parallelism that Mix gives to a parallel gang.
const (
	mostTensor = 8  // workers of a tensor-parallel group, which must be on one server
	mostStages = 16 // stages of a pipeline
)

// Validate returns an error that lists everything that is wrong.
func (m *Mix) Validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("mix."+format, args...))
		}
	}
	share := func(field string, v float64) { want(v >= 0 && v <= 1, "%s %v, want a share from 0 to 1", field, v) }
	share("elastic", m.Elastic)
	if m.Elastic != 0 {
		want(m.Least > 0 && m.Least <= 1, "least %v, want above 0 and at most 1 where elastic is not 0", m.Least)
	}
	share("fungible", m.Fungible)
	share("mixed", m.Mixed)
	want(names.OK(m.Home) && isTypes(m.Home), "home %q, want GPU types separated by '|', none empty or twice", m.Home)
	share("parallel", m.Parallel)
	share("recurring", m.Recurring)
	want(m.CPUMilli >= 0 && m.CPUMilli <= maxMilli, "cpu_milli %d, want 0 to %d", m.CPUMilli, maxMilli)
	want(m.MemMiB >= 0 && m.MemMiB <= maxMilli, "mem_mib %d, want 0 to %d", m.MemMiB, maxMilli)
	last := 0.0
	for i, c := range m.Classes {
		field := fmt.Sprintf("classes[%d]", i)
		if i == len(m.Classes)-1 {
			want(c.UpTo == 0, "%s.up_to %v, want 0 for the last, which holds the rest", field, c.UpTo)
		} else {
			want(c.UpTo > last && !math.IsInf(c.UpTo, 0), "%s.up_to %v, want a number above %v", field, c.UpTo, last)
			last = c.UpTo
		}
		for k, w := range c.Models {
			field := fmt.Sprintf("%s.models[%d]", field, k)
			want(w.Model != "" && names.OK(w.Model), "%s.model %q, want at most 256 bytes of printable UTF-8", field, shorten(w.Model))
			again := slices.IndexFunc(c.Models, func(o Weighted) bool { return o.Model == w.Model })
			want(again == k, "%s.model %q, want each model once in a class", field, shorten(w.Model))
			want(w.Weight > 0 && w.Weight <= 1e9, "%s.weight %v, want above 0 and at most 1e9", field, w.Weight)
			want(w.GPUMemMiB >= 0 && w.GPUMemMiB <= maxMilli, "%s.gpu_mem_mib %d, want 0 to %d", field, w.GPUMemMiB, maxMilli)
		}
	}
	return errors.Join(errs...)
}

// Apply sets, in place, the properties that each job lacks. It keeps those that a job has, so applying a valid mix twice has the
// same effect as applying it once. Each draw depends only on the seed, the property and the job's Name. Therefore other jobs do
// not influence it, and changing one fraction does not change the draws for another. Two draws depend on the Group instead of the
// Name if the job has one: the model, and the split of a parallel gang.
func (m *Mix) Apply(jobs []Job, seed uint64) {
	groups := map[groupKey]string{}
	for i := range jobs {
		j := &jobs[i]
		draw := func(what string) float64 { return uniform(seed, "mix "+what, j.Name) }
		class := m.class(j)
		if j.Group == "" && draw("recurring") < m.Recurring {
			j.Group = groupOf(groups, j, class)
			j.Dealt = j.Group != ""
		}
		run := "job " + j.Name // the draws of the model and the split depend on this
		if j.Group != "" {
			run = "group " + j.Group
		}
		model := m.deal(j, class, uniform(seed, "mix model", run))
		if model.Parallel && open(j) && draw("parallel") < m.Parallel {
			cut(j, uniform(seed, "mix cut", run))
		}
		if open(j) && draw("elastic") < m.Elastic {
			m.loosen(j)
		}
		if j.GPUType == "" {
			if draw("fungible") >= m.Fungible {
				j.GPUType = m.Home
			}
			j.Mixed = j.Mixed || j.GPUType == "" && draw("mixed") < m.Mixed
		}
		if j.Request.CPUMilli == 0 {
			j.Request.CPUMilli = ofGPU(j, m.CPUMilli)
		}
		if j.Request.MemMiB == 0 {
			j.Request.MemMiB = ofGPU(j, m.MemMiB)
		}
	}
}

// class returns the index of the class to which a job belongs by its GPU-hours.
func (m *Mix) class(j *Job) int {
	hours := gpus(j) * j.Work.Hours()
	for i, c := range m.Classes {
		if c.UpTo == 0 || hours <= c.UpTo {
			return i
		}
	}
	return 0
}

// deal sets the job's model, chosen by the random number u, and the GPU memory that the model needs. It returns the mix's entry
// of the model. If the job already has a model, that is the entry of the job's own class, or else of the first class that lists
// the model.
func (m *Mix) deal(j *Job, class int, u float64) Weighted {
	if len(m.Classes) == 0 {
		return Weighted{}
	}
	var dealt Weighted
	models := m.Classes[class].Models
	if j.Model == "" {
		dealt = pick(models, u)
		j.Model = dealt.Model
	} else {
		for _, c := range append([]Class{m.Classes[class]}, m.Classes...) {
			if k := slices.IndexFunc(c.Models, func(w Weighted) bool { return w.Model == j.Model }); k >= 0 {
				dealt = c.Models[k]
				break
			}
		}
	}
	if j.Request.GPUMemMiB == 0 {
		j.Request.GPUMemMiB = dealt.GPUMemMiB
	}
	return dealt
}

// pick chooses a model with probability proportional to its weight, by a random number u in [0, 1). Without models it returns the
// zero value.
func pick(models []Weighted, u float64) Weighted {
	if len(models) == 0 {
		return Weighted{}
	}
	total := 0.0
	for _, w := range models {
		total += w.Weight
	}
	u *= total
	for _, w := range models[:len(models)-1] {
		if u < w.Weight {
			return w
		}
		u -= w.Weight
	}
	return models[len(models)-1]
}

// cut sets a gang's Stages and Tensor. It chooses, with equal probability, among all pairs of powers of two whose product is
// above 1 and divides the number of workers. A gang with an odd number of workers is not split.
func cut(j *Job, u float64) {
	var pairs [][2]int32
	for stages := int32(1); stages <= mostStages; stages *= 2 {
		for tensor := int32(1); tensor <= mostTensor; tensor *= 2 {
			if stages*tensor > 1 && j.Workers%(stages*tensor) == 0 {
				pairs = append(pairs, [2]int32{stages, tensor})
			}
		}
	}
	if len(pairs) > 0 {
		p := pairs[int(u*float64(len(pairs)))]
		j.Stages, j.Tensor = p[0], p[1]
	}
}

// loosen makes a rigid job elastic. It counts a product as a whole number if the two differ only by rounding.
func (m *Mix) loosen(j *Job) {
	const rounding = 1e-9
	w := float64(j.Workers)
	j.MinWorkers = max(1, int32(math.Ceil(m.Least*w-rounding)))
	j.MaxWorkers = int32(min(2*w, maxWorkers))
	if j.MinWorkers == j.MaxWorkers {
		j.MinWorkers, j.MaxWorkers = 0, 0
	}
}

// open reports whether a job uses whole GPUs and has neither an elastic range nor stages and tensor parallelism yet.
func open(j *Job) bool {
	return j.Request.GPUMilli == cluster.WholeGPU && j.MinWorkers == 0 && j.MaxWorkers == 0 && j.Stages == 0 && j.Tensor == 0
}

// ofGPU returns a job's proportional share of an amount per whole GPU.
func ofGPU(j *Job, perGPU int32) int32 {
	return int32(int64(perGPU) * int64(j.Request.GPUMilli) / cluster.WholeGPU)
}

// groupKey identifies a recurring job.
type groupKey struct {
	owner   string
	workers int32
	class   int
}

// groupOf returns the name of the recurring job to which a job belongs. Jobs of the same user with the same number of workers and
// the same class belong together, as in "ada/8/2". The tenant replaces an unknown user. If both are unknown the result is "",
// because nothing indicates whose runs recur. The map known keeps one copy of each name.
func groupOf(known map[groupKey]string, j *Job, class int) string {
	owner := j.User
	if owner == "" {
		owner = j.Tenant
	}
	if owner == "" {
		return ""
	}
	k := groupKey{owner, j.Workers, class}
	name, ok := known[k]
	if !ok {
		const most = 200 // of 256 bytes
		name = fmt.Sprintf("%s/%d/%d", strings.ToValidUTF8(owner[:min(len(owner), most)], ""), j.Workers, class)
		known[k] = name
	}
	return name
}
