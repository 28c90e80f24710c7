package train

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/train/recipe"
)

// Labeller computes labels of a run in another process; see Options.Pool. Its methods are not safe for concurrent use.
type Labeller struct {
	labels  *labels
	windows int // number of windows that the run labels
}

// NewLabeller returns a labeller for the job that a run gave to its pool. The parameter given is that of Options.Given. There is
// an error if the scenarios have other jobs here than where the run is, for example because a trace differs.
func NewLabeller(
	ctx context.Context, job []byte, given func(context.Context, *scenario.Source, baselines.Needs) (baselines.Given, error),
) (*Labeller, error) {
	l, err := newLabeller(ctx, job, given)
	if err != nil {
		return nil, fmt.Errorf("open job: %w", err)
	}
	return l, nil
}

func newLabeller(
	ctx context.Context, job []byte, given func(context.Context, *scenario.Source, baselines.Needs) (baselines.Given, error),
) (*Labeller, error) {
	made, tensors, err := parseJob(job)
	if err != nil {
		return nil, err
	}
	r := &run{cfg: made.Train, opt: Options{Scenarios: made.Scenarios, Given: given, Workers: 1}, beginning: made.From}
	if r.goal, err = r.cfg.goal(); err != nil {
		return nil, err
	}
	_, digests, err := r.openSources()
	if err != nil {
		return nil, err
	}
	stages, all, err := r.openStages(digests)
	if err != nil {
		return nil, err
	}
	if err := sameJobs(made.Workloads, r.sources, digests); err != nil {
		return nil, err
	}
	for i, is := range stages {
		if i >= len(made.Stages) || made.Stages[i].Digest != is.Digest {
			return nil, fmt.Errorf("scenario %s of stage %d: other jobs here than where the run is", is.Scenario, i/len(r.sources)+1)
		}
	}
	if err := r.give(ctx); err != nil {
		return nil, err
	}
	labels, err := newLabels(made.Prior, "", r, all, func() (*agents.Policy, error) { return made.beginner(tensors) })
	if err != nil {
		return nil, err
	}
	return &Labeller{labels, r.cfg.Expert * r.cfg.Windows}, nil
}

// parseJob returns the recipe and the tensors of a job.
func parseJob(job []byte) (*Recipe, []checkpoints.Tensor, error) {
	limits := checkpoints.Limits{Bytes: maxJob, Header: maxJob, Tensors: 1 << 10}
	tensors, about, err := checkpoints.ReadTensors(job, limits)
	if err != nil {
		return nil, nil, err
	}
	made := &Recipe{}
	made.Scenarios, err = recipe.Parse("recipe", []byte(about[recipeKey]), made, true, func() (int, error) {
		return len(made.Workloads), made.Train.Validate()
	})
	if err == nil && made.Prior == "" {
		err = errors.New("recipe: no prior")
	}
	return made, tensors, err
}

// sameJobs returns an error for the first scenario whose jobs have another digest than in the recipe.
func sameJobs(want []recipe.Workload, sources []*scenario.Source, digests []string) error {
	for i, w := range want {
		if digests[i] != w.Digest {
			return fmt.Errorf("scenario %s: its jobs have the digest %s here and %s where the run is: is it the same trace?",
				sources[i].Scenario().Name, digests[i], w.Digest)
		}
	}
	return nil
}

// beginner returns the policy that the run began with, from its tensors.
func (r *Recipe) beginner(tensors []checkpoints.Tensor) (*agents.Policy, error) {
	design := r.Train.design(r.From.Policy, r.Prior)
	design.Margin = r.From.Margin
	p, err := design.Make(func(s agents.Shape) (agents.Params, error) { return agents.FromTensors(s, tensors) })
	if err == nil {
		p.Range, err = agents.RangeFrom(p.Shape, tensors)
	}
	if err == nil && p.Digest() != r.From.Digest {
		err = fmt.Errorf("policy %s, want the one that the run began with, %s: %w", p.Digest(), r.From.Digest, checkpoints.ErrForeign)
	}
	return p, err
}

// Label plays a window and returns its label file, which is the same as the run itself would store. It ends with an error when
// ctx ends.
func (l *Labeller) Label(ctx context.Context, window int) ([]byte, error) {
	if window < 0 || window >= l.windows {
		return nil, fmt.Errorf("label window %d: want 0 to %d", window, l.windows-1)
	}
	g, err := l.labels.player(window)
	if err != nil {
		return nil, fmt.Errorf("label window %d: %w", window, err)
	}
	var file bytes.Buffer
	err = playAll(ctx, []*player{g}, 1, func(_ int, out *rollout) error { return l.labels.encode(&file, out.labelled()) })
	if err != nil {
		return nil, fmt.Errorf("label window %d: %w", window, err)
	}
	return file.Bytes(), nil
}

// arithmetic writes numbers that depend on the last bits of the functions that labels use.
func arithmetic(w io.Writer) {
	const n = 48
	var a, b, c [n * n]float32
	var exact [4 * n * n]float64
	for i := range a {
		x := float64(i) / (n * n)
		a[i], b[i] = float32(math.Sin(37*x)), float32(math.Sqrt(x)-0.5)
		copy(exact[4*i:], []float64{math.Exp(-9 * x), math.Log(x + 0.1), math.Pow(x+0.1, 1.7), math.Tanh(3*x - 1)})
	}
	kernel.Gemm(kernel.Mat(c[:], n, n), 0.7, kernel.Mat(a[:], n, n), kernel.Mat(b[:], n, n), 0)
	kernel.LayerNorm(a[:], c[:], b[:n], b[n:2*n])
	kernel.Softmax(c[:n], nil)
	_ = binary.Write(w, binary.LittleEndian, [][n * n]float32{a, c}) // to a hash: no error
	_ = binary.Write(w, binary.LittleEndian, exact[:])
}
