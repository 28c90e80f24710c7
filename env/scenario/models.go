package scenario

import (
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/trace"
)

// Models says where the classes of a mix come from that lists none.
type Models string

// defaultModels takes DefaultClasses.
const defaultModels Models = "default"

// DefaultClasses deals the families of the profile catalogue by GPU-hours. The bounds are those by which Pollux (OSDI 2021,
// §5.1) dealt its five models to the jobs of a trace; its small jobs trained ResNet-18 and a recommender, its largest
// ResNet-50. What stands in a class beyond that is an assumption: models of Gavel's by how heavy they are, each model once for
// every batch size that was measured, and language models among the largest.
func DefaultClasses() []trace.Class {
	return []trace.Class{
		{UpTo: 1, Models: families("resnet18-", "recommendation-")},
		{UpTo: 10, Models: families("resnet50-", "cyclegan", "a3c")},
		{UpTo: 100, Models: families("lm-", "transformer-")},
		{Models: families("bert-large", "gpt2-1.5b", "llama-7b", "llama-13b")},
	}
}

// families lists the families whose names begin so: each beginning weighs the same, however many there are of it.
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

// parallelLayers is the least depth of a model that is cut into stages and tensor-parallel groups: the language models have it.
const parallelLayers = 24

// mix is the mix with its classes.
func (w *Workload) mix() trace.Mix {
	m := w.Mix
	if w.Models == defaultModels && len(m.Classes) == 0 {
		m.Classes = DefaultClasses()
	}
	return m
}

// size gives the jobs that train a model of the catalogue the GPU memory that it needs. A gang shards what its stages and
// tensor-parallel groups leave too large for a GPU over as many of its workers as that takes. Where even all of them are not
// enough, the job trains the largest model of the classes that they can hold.
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

// sharded is what a worker needs on its GPU if the gang shards as much as it must.
func sharded(f *profile.Family, j *trace.Job, most int32) int32 {
	shards := max(j.Stages, 1) * j.Together()
	mem := f.GPUMemMiB(shards)
	for most > 0 && mem > most && shards < j.Least() {
		shards++
		mem = f.GPUMemMiB(shards)
	}
	return mem
}

// largest finds the model that needs most of all that the job can hold.
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

// mostMemMiB is the memory of the largest GPU that will do for a job, 0 if one is not modelled.
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
