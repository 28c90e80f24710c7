package scenario

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/trace"
)

// Models selects the classes of models for a mix that lists none.
type Models string

// defaultModels selects DefaultClasses.
const defaultModels Models = "default"

// DefaultClasses returns classes that assign the families of the profile catalogue by GPU-hours. The bounds are those by which
// Pollux (OSDI 2021, §5.1) assigned its five models to the jobs of a trace; there, small jobs trained ResNet-18 and a
// recommender, the largest ResNet-50. The rest is an assumption: we add Gavel's models by how much they compute, each once for
// every measured batch size, and language models to the largest class.
func DefaultClasses() []trace.Class {
	return []trace.Class{
		{UpTo: 1, Models: families("resnet18-", "recommendation-")},
		{UpTo: 10, Models: families("resnet50-", "cyclegan", "a3c")},
		{UpTo: 100, Models: families("lm-", "transformer-")},
		{Models: families("bert-large", "gpt2-1.5b", "llama-7b", "llama-13b")},
	}
}

// families returns the families whose names begin with one of the beginnings. Each beginning gets the same total weight, however
// many families match it.
func families(beginnings ...string) []trace.Weighted {
	var all []trace.Weighted
	for _, b := range beginnings {
		var names []string
		for _, name := range profile.Names() {
			if strings.HasPrefix(name, b) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			parallel := profile.Lookup(name).Layers() >= parallelLayers
			all = append(all, trace.Weighted{Model: name, Weight: 60 / float64(len(names)), Parallel: parallel})
		}
	}
	return all
}

// parallelLayers is the minimum number of layers of a model that may be split into stages and tensor-parallel groups; the
// language models have at least that many.
const parallelLayers = 24

// mix returns the mix with its classes, or with DefaultClasses if Models selects them.
func (w *Workload) mix() trace.Mix {
	m := w.Mix
	if w.Models == defaultModels && len(m.Classes) == 0 {
		m.Classes = DefaultClasses()
	}
	return m
}

// Vary replaces the models of jobs by variants whose constants differ from those of the catalogue: see profile.Vary. The zero
// value keeps the models.
type Vary struct {
	Within float64 `yaml:"within"`
}

func (v *Vary) validate() error {
	if !(v.Within >= 0 && v.Within <= 1) {
		return fmt.Errorf("workload.vary.within %v, want 0 (the catalogue's models) to 1", v.Within)
	}
	return nil
}

// varySeed is the seed of the only variants that scenarios have.
const varySeed = 3

func (v *Vary) apply(jobs []trace.Job) {
	for i := range jobs {
		jobs[i].Model = profile.Vary(jobs[i].Model, v.Within, varySeed)
	}
}

// size sets the GPU memory of the jobs whose model is in the catalogue. If a model, split by its stages and tensor-parallel
// groups, is still too large for a GPU, it is sharded over as many of the gang's workers as needed. If even all workers are not
// enough, the job gets the largest model of the classes that fits.
func (s *Scenario) size(jobs []trace.Job) {
	mix := s.Workload.mix()
	for i := range jobs {
		j := &jobs[i]
		if j.Model == "" || j.Request.GPUMemMiB > 0 {
			continue
		}
		most := s.mostMemMiB(&j.JobSpec)
		f := profile.Lookup(j.Model)
		if f == nil {
			continue
		}
		mem := sharded(f, j, most)
		if most > 0 && mem > most {
			if other, less := largest(mix.Classes, j, most); other != "" {
				j.Model, mem = other, less
			}
		}
		j.Request.GPUMemMiB = mem
	}
}

// sharded returns the GPU memory that a worker needs if the gang shards the model as little as possible to fit into most MiB.
func sharded(f *profile.Family, j *trace.Job, most int32) int32 {
	shards := max(j.Stages, 1) * j.Together()
	mem := f.GPUMemMiB(shards)
	for most > 0 && mem > most && shards < j.Least() {
		shards++
		mem = f.GPUMemMiB(shards)
	}
	return mem
}

// largest returns the model that needs the most memory among those that the job can hold, and what a worker then needs.
func largest(classes []trace.Class, j *trace.Job, most int32) (model string, mem int32) {
	whole := int32(0)
	for _, c := range classes {
		for _, w := range c.Models {
			f := profile.Lookup(w.Model)
			if f == nil || f.GPUMemMiB(1) <= whole {
				continue
			}
			if m := sharded(f, j, most); m <= most {
				model, mem, whole = w.Model, m, f.GPUMemMiB(1)
			}
		}
	}
	return model, mem
}

// mostMemMiB returns the memory of the largest GPU on which a job may run, or 0 if the memory of one of these GPUs is not
// simulated.
func (s *Scenario) mostMemMiB(j *cluster.JobSpec) int32 {
	most := 0
	for _, g := range s.Cluster.groups() {
		switch {
		case !j.Allows(g.GPUType):
		case g.GPUMemGiB == 0:
			return 0
		default:
			most = max(most, 1024*g.GPUMemGiB)
		}
	}
	return int32(most)
}
