package scenario

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

func TestDefaultClassesAreOfTheCatalogue(t *testing.T) {
	m := trace.Mix{Classes: DefaultClasses()}
	must.Do(t, m.Validate())
	seen := map[string]bool{}
	for _, c := range m.Classes {
		for _, w := range c.Models {
			if profile.Lookup(w.Model) == nil || seen[w.Model] {
				t.Errorf("model %q is not in the catalogue, or stands twice", w.Model)
			}
			seen[w.Model] = true
			if language := strings.Contains(w.Model, "llama") || strings.HasPrefix(w.Model, "gpt") || w.Model == "bert-large"; language && !w.Parallel {
				t.Errorf("the language model %s is never cut", w.Model)
			}
		}
	}
}

func TestModelsFitTheirGPUs(t *testing.T) {
	s := load(t, "cluster.gpu_mem_gib=32", "cluster.gpu_type=V100", "workload.models=default",
		"workload.mix.classes=[{models: [{model: bert-large, weight: 1}, {model: gpt2-1.5b, weight: 1}]}]",
		"cluster.groups=[{servers: 1, gpus_per_server: 1, gpu_type: T4, gpu_mem_gib: 16}]")
	job := func(model string, workers, stages int32, gpuType string) trace.Job {
		return trace.Job{JobSpec: cluster.JobSpec{
			Workers: workers, Stages: stages, Model: model, GPUType: gpuType, Request: cluster.Amount{GPUMilli: 1000},
		}}
	}
	for _, c := range []struct {
		name  string
		job   trace.Job
		model string
		mem   int32
	}{
		{"a model that fits is whole", job("gpt2-1.5b", 8, 0, ""), "gpt2-1.5b", profile.Lookup("gpt2-1.5b").GPUMemMiB(1)},
		{"stages share it", job("gpt2-1.5b", 8, 2, ""), "gpt2-1.5b", profile.Lookup("gpt2-1.5b").GPUMemMiB(2)},
		{"a larger one is sharded as far as it must be", job("llama-7b", 8, 0, ""), "llama-7b", profile.Lookup("llama-7b").GPUMemMiB(4)},
		{"the largest that two workers hold", job("llama-7b", 2, 0, ""), "gpt2-1.5b", profile.Lookup("gpt2-1.5b").GPUMemMiB(1)},
		{"on the GPUs that it may use", job("gpt2-1.5b", 1, 0, "T4"), "bert-large", profile.Lookup("bert-large").GPUMemMiB(1)},
		{"a model that nobody knows needs nothing", job("mine", 1, 0, ""), "mine", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			jobs := []trace.Job{c.job}
			s.size(jobs)
			if j := jobs[0]; j.Model != c.model || j.Request.GPUMemMiB != c.mem {
				t.Errorf("%s with %d MiB, want %s with %d", j.Model, j.Request.GPUMemMiB, c.model, c.mem)
			}
		})
	}
}
