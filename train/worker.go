package train

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/train/recipe"
)

// Worker computes units of training runs in another process; see Options.Pool. Its methods are not safe for concurrent use.
type Worker struct {
	// Given is that of Options.Given.
	Given func(context.Context, *scenario.Source, baselines.Needs) (baselines.Given, error)
	// Table is that of Config.Table.
	Table baselines.Table

	most    int    // largest number of bytes of a compressed rollout; 0 means maxSent
	recipe  string // of the run of the last job; "" before the first
	made    *Recipe
	run     *run
	digests [][]string // of the scenarios' jobs, by stage
}

// Compute computes a unit of a job. It ends with an error when ctx ends.
type Compute func(ctx context.Context, unit int) ([]byte, error)

// Open prepares for the job that a run gave to its pool. It opens the scenarios unless the job before was one of the same run.
// There is an error if the scenarios have other jobs here than where the run is, for example because a trace differs.
func (w *Worker) Open(ctx context.Context, job []byte) (Compute, error) {
	compute, err := w.open(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("open job: %w", err)
	}
	return compute, nil
}

func (w *Worker) open(ctx context.Context, text []byte) (Compute, error) {
	j, err := parseJob(text, w.Table)
	if err != nil {
		return nil, err
	}
	if w.recipe != j.recipe {
		w.recipe = ""
		if err := w.openRun(ctx, j.made); err != nil {
			return nil, err
		}
		w.recipe = j.recipe
	}
	if j.update > 0 {
		return w.openRollouts(j)
	}
	l, err := newLabels(w.made.Prior, "", w.run, w.digests, func() (*agents.Policy, error) { return w.made.beginner(j.tensors) })
	if err != nil {
		return nil, err
	}
	return l.compute, nil
}

// openRun opens the scenarios of a recipe.
func (w *Worker) openRun(ctx context.Context, made *Recipe) error {
	r := &run{cfg: made.Train, opt: Options{Scenarios: made.Scenarios, Given: w.Given, Workers: 1}, beginning: made.From}
	var err error
	if r.goal, err = r.cfg.goal(); err != nil {
		return err
	}
	_, digests, err := r.openSources()
	if err != nil {
		return err
	}
	stages, all, err := r.openStages(digests)
	if err != nil {
		return err
	}
	if err := sameJobs(made.Workloads, r.sources, digests); err != nil {
		return err
	}
	for i, is := range stages {
		if i >= len(made.Stages) || made.Stages[i].Digest != is.Digest {
			return fmt.Errorf("scenario %s of stage %d: other jobs here than where the run is", is.Scenario, i/len(r.sources)+1)
		}
	}
	if err := r.give(ctx); err != nil {
		return err
	}
	w.made, w.run, w.digests = made, r, all
	return nil
}

// job is what a worker must know to compute units of a run: labels, or the rollouts of an update.
type job struct {
	recipe  string
	made    *Recipe
	tensors []checkpoints.Tensor
	update  int    // 0 for labels
	policy  string // digest of the policy that plays the update's rollouts
}

// parseJob reads the text of a job, whose baselines are in a table.
func parseJob(text []byte, t baselines.Table) (*job, error) {
	limits := checkpoints.Limits{Bytes: maxJob, Header: maxJob, Tensors: 1 << 10}
	tensors, about, err := checkpoints.ReadTensors(text, limits)
	if err != nil {
		return nil, err
	}
	j := &job{recipe: about[recipeKey], made: &Recipe{Train: Config{Table: t}}, tensors: tensors, policy: about[policyKey]}
	j.made.Scenarios, err = recipe.Parse("recipe", []byte(j.recipe), j.made, true, func() (int, error) {
		return len(j.made.Workloads), j.made.Train.Validate()
	})
	if err == nil && j.made.Prior == "" {
		err = errors.New("recipe: no prior")
	}
	if err != nil {
		return nil, err
	}
	if update, ok := about[updateKey]; ok {
		first, last := j.made.Train.Expert+1, j.made.Train.Updates
		if j.update, err = strconv.Atoi(update); err != nil || j.update < first || j.update > last {
			return nil, fmt.Errorf("update %.20q: want %d to %d", update, first, last)
		}
	}
	return j, nil
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
	return policyFrom(design, tensors, r.From.Digest, "the one that the run began with")
}

// policyFrom returns the policy of a design with the weights and the range in a job. There is an error unless it has the digest
// that the job names; want says in the error which policy that is.
func policyFrom(d agents.Design, tensors []checkpoints.Tensor, digest, want string) (*agents.Policy, error) {
	p, err := d.Make(func(s agents.Shape) (agents.Params, error) { return agents.FromTensors(s, tensors) })
	if err == nil {
		p.Range, err = agents.RangeFrom(p.Shape, tensors)
	}
	if err == nil && p.Digest() != digest {
		err = fmt.Errorf("policy %s, want %s, %.64q: %w", p.Digest(), want, digest, checkpoints.ErrForeign)
	}
	return p, err
}

// compute plays a window and returns its label file, which is the same as the run itself would store.
func (l *labels) compute(ctx context.Context, window int) ([]byte, error) {
	if n := l.cfg.Expert * l.cfg.Windows; window < 0 || window >= n {
		return nil, fmt.Errorf("label window %d: want 0 to %d", window, n-1)
	}
	g, err := l.player(window)
	if err != nil {
		return nil, fmt.Errorf("label window %d: %w", window, err)
	}
	var file bytes.Buffer
	err = playAll(ctx, []*player{g}, 1, func(_ int, out *rollout) error { return l.encode(&file, out.labelled()) })
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
