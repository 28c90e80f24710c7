// Package profile is the numeric heart of the physics: families of models, and for each how fast it is on a GPU type, how it
// and a partner slow each other down on one GPU, what CPU cores and memory it needs, how it scales over replicas and servers,
// and what it sends over the network. It knows nothing of clusters or jobs.
//
// What was measured elsewhere stands in coefficients.txt, which studies/fit writes from the published profiles; what is
// assumed stands in tables of this package, each value beside its reason. docs/physics-fit.md tells the two apart and gives
// the residuals. All methods of a Family are pure, deterministic, safe for concurrent use, and allocate nothing.
package profile

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

//go:embed coefficients.txt
var committed string

type catalogue struct {
	names  []string
	byName map[string]*Family
}

// load builds the catalogue once. What it reads is part of the program, so an error is a programmer's.
var load = sync.OnceValue(func() *catalogue {
	coefficients, err := parseCoefficients(strings.NewReader(committed))
	if err != nil {
		panic(fmt.Sprintf("profile: read coefficients.txt: %v", err))
	}
	families, err := build(coefficients)
	if err != nil {
		panic(fmt.Sprintf("profile: build the catalogue: %v", err))
	}
	c := &catalogue{byName: make(map[string]*Family, len(families))}
	for i := range families {
		c.names = append(c.names, families[i].name)
		c.byName[families[i].name] = &families[i]
	}
	return c
})

// Lookup returns the family of that name, nil if there is none. Every call returns the same pointer.
func Lookup(name string) *Family { return load().byName[name] }

// Names returns the names of all families in the catalogue's order: Gavel's 26 job types, then the large language models.
// The slice is the caller's.
func Names() []string { return slices.Clone(load().names) }

// Family is a kind of training job: a model, with its batch size where Gavel measured several. Make none: look them up.
type Family struct {
	name       string
	speed      [measured]float64 // relative to the V100
	s, p       [measured][2]float64
	surface    surface
	memo       *memo
	gpuMem     float64 // MiB of a whole replica
	fixedMem   float64 // MiB of that which each shard keeps whole
	compute    float64 // seconds
	param      float64 // bytes
	activation float64 // bytes
	layers     int32
	scaling    Scaling
	step       float64 // seconds of one step of one replica, as Pollux measured
}

// Name returns the name under which Lookup finds the family.
func (f *Family) Name() string { return f.name }

// build joins the tables of assumptions with the fitted coefficients.
func build(c *Coefficients) ([]Family, error) {
	families := make([]Family, 0, len(assumptions))
	for _, a := range assumptions {
		job, ok := c.Jobs[a.measuredAs()]
		if !ok {
			return nil, fmt.Errorf("family %s: no coefficients for job type %q", a.name, a.measuredAs())
		}
		if err := job.complete(); err != nil {
			return nil, fmt.Errorf("family %s: %w", a.name, err)
		}
		sur, ok := c.Surfaces[a.synergy]
		if !ok {
			return nil, fmt.Errorf("family %s: no coefficients for Synergy's model %q", a.name, a.synergy)
		}
		scaling, ok := c.Scalings[a.pollux]
		if !ok {
			return nil, fmt.Errorf("family %s: no coefficients for Pollux's application %q", a.name, a.pollux)
		}
		f := Family{
			name: a.name, s: job.S, p: job.P, surface: sur.compile(), memo: &memo{}, param: a.paramBytes(), activation: a.activation,
			layers: a.layers, scaling: scaling,
		}
		for g := range f.speed {
			f.speed[g] = job.Rate[g] / job.Rate[V100]
		}
		if a.like == "" {
			f.compute, f.gpuMem, f.fixedMem = 1/job.Rate[V100], job.GPUMemMiB, job.GPUMemMiB
		} else {
			f.compute = 6 * a.params * a.tokens / languageFLOPS
			f.gpuMem = contextMiB + languageStateBytes*a.params/(1<<20)
			f.fixedMem = contextMiB
		}
		f.step = scaling.StepSeconds(1, 1, min(max(a.batch, scaling.MinBatch), scaling.MaxBatch))
		families = append(families, f)
	}
	return families, nil
}

// GPUMemMiB returns the memory in MiB that one worker needs on its GPU, if a replica is cut into that many shards (pipeline
// stages times tensor parallelism; below 1 counts as 1).
//
// Gavel publishes which pairs fit together, not sizes: those of its job types are estimates in agreement with most of those
// pairs (docs/physics-fit.md counts them), and a shard of such a job needs as much as the whole. A language model needs 16
// bytes a parameter (mixed-precision Adam: ZeRO, Rajbhandari et al., SC 2020, §3.1), shared evenly by the shards, and a
// constant for the CUDA context and buffers; its activations are left out, as if recomputed.
func (f *Family) GPUMemMiB(shards int32) int32 {
	return int32(math.Ceil(f.fixedMem + (f.gpuMem-f.fixedMem)/float64(max(shards, 1))))
}

// ComputeSeconds returns the seconds that forward and backward of one iteration of one whole replica take on one V100: for
// Gavel's job types the inverse of the measured rate, for language models 6 FLOP per parameter and token at 39 TFLOP/s
// (Megatron-LM, arXiv 1909.08053, §1).
func (f *Family) ComputeSeconds() float64 { return f.compute }

// ParamBytes returns the bytes of gradients that the replicas of a job exchange in one iteration: the public parameter count
// times 4, for language models times 2.
func (f *Family) ParamBytes() float64 { return f.param }

// ActivationBytes returns the bytes that one replica sends over one pipeline cut in one direction in one iteration. It is
// an assumption: the samples of an iteration times the width of the model in its middle.
func (f *Family) ActivationBytes() float64 { return f.activation }

// Layers returns how many layers the model has, so the most stages that its pipeline can have.
func (f *Family) Layers() int32 { return f.layers }
