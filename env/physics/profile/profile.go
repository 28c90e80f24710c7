// Package profile contains the measured and assumed numbers behind package physics. For each family of models it gives the speed
// on a GPU type, the slowdown of two jobs that share a GPU, the need for CPU cores and memory, the scaling over replicas and
// servers, and the network traffic. It does not depend on clusters or jobs.
//
// The file coefficients.txt contains what others measured; studies/fit computes it from the published profiles. The tables of
// this package contain what we assume, each value with its reason. studies/physics-fit.md lists which is which and reports the
// residuals. All methods of a Family are pure, deterministic, safe for concurrent use, and do not allocate.
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
	names    []string
	byName   directory
	variants variants
}

// load builds the catalogue once. It panics on errors, because its input is part of the program.
var load = sync.OnceValue(func() *catalogue {
	coefficients, err := parseCoefficients(strings.NewReader(committed))
	if err != nil {
		panic(fmt.Sprintf("profile: read coefficients.txt: %v", err))
	}
	families, err := build(coefficients)
	if err != nil {
		panic(fmt.Sprintf("profile: build the catalogue: %v", err))
	}
	c := &catalogue{variants: variants{byName: map[string]*Family{}}}
	for i := range families {
		c.names = append(c.names, families[i].name)
		c.byName.add(&families[i])
	}
	return c
})

// Lookup returns the family with the given name, which may be one that Vary returns, or nil if there is none. Every call returns
// the same pointer, except for more than 1,024 variants.
func Lookup(name string) *Family {
	c := load()
	if f := c.byName.find(name); f != nil || !strings.Contains(name, "~") {
		return f
	}
	return c.variants.lookup(name)
}

// Names returns the names of all families in the catalogue's order: Gavel's 26 job types, then the large language models. The
// caller owns the slice.
func Names() []string { return slices.Clone(load().names) }

// Family is a kind of training job: a model, together with its batch size if Gavel measured several. Get a Family from Lookup;
// the zero value is not usable.
type Family struct {
	name       string
	domain     string
	speed      [measured]float64 // relative to the V100
	other      float64           // factor of the speeds on GPU types that are not published per job type
	s, p       [measured][2]float64
	surface    surface
	memo       memo    // of CPUMem; nil for a variant beyond those that are kept
	scaled     memo    // of Throughput; nil likewise
	gpuMem     float64 // MiB of a whole replica
	fixedMem   float64 // MiB that every shard needs in full
	compute    float64 // seconds
	param      float64 // bytes
	activation float64 // bytes
	layers     int32
	scaling    Scaling
	step       float64 // seconds of one step of one replica in Pollux's model
}

// Domain returns what the model is for: "vision", "language", "recommendation" or "control". No family has such a name.
func (f *Family) Domain() string { return f.domain }

// build combines the tables of assumptions with the fitted coefficients.
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
			name: a.name, domain: a.domain,
			s: job.S, p: job.P, surface: sur.compile(), memo: newMemo(1 << 12), scaled: newMemo(1 << 8),
			param: a.paramBytes(), activation: a.activation,
			layers: a.layers, scaling: scaling, other: 1,
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

// GPUMemMiB returns the memory in MiB that one worker needs on its GPU if a replica is split into the given number of shards
// (pipeline stages times tensor parallelism; below 1 counts as 1).
//
// For its job types, Gavel publishes which pairs fit together on a GPU, but no sizes. The values here are estimates that agree
// with most of those pairs (studies/physics-fit.md gives the numbers), and a shard of such a job needs as much as the replica.
// A language model needs 16 bytes per parameter (mixed-precision Adam: ZeRO, Rajbhandari et al., SC 2020, §3.1), divided evenly
// over the shards, plus a constant for the CUDA context and buffers. Its activations do not count, as if they were recomputed.
func (f *Family) GPUMemMiB(shards int32) int32 {
	return int32(math.Ceil(f.fixedMem + (f.gpuMem-f.fixedMem)/float64(max(shards, 1))))
}

// ComputeSeconds returns how many seconds the forward and backward pass of one iteration of one whole replica takes on one V100.
// For Gavel's job types it is the inverse of the measured rate; for language models it follows from 6 FLOP per parameter and
// token at 39 TFLOP/s (Megatron-LM, arXiv 1909.08053, §1).
func (f *Family) ComputeSeconds() float64 { return f.compute }

// ParamBytes returns the bytes of gradients that each replica of a job exchanges with the others in one iteration: the published
// number of parameters times 4, for language models times 2.
func (f *Family) ParamBytes() float64 { return f.param }

// ActivationBytes returns the bytes that one replica sends across one boundary between pipeline stages, in one direction, in one
// iteration. The value is an assumption: the samples of an iteration times the size of the activations in the middle of the
// model.
func (f *Family) ActivationBytes() float64 { return f.activation }

// Layers returns the number of layers of the model, which is also the maximum number of pipeline stages.
func (f *Family) Layers() int32 { return f.layers }
