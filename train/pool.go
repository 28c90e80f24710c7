package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/train/recipe"
)

const (
	// maxAnswer is the largest number of bytes of an answer.
	maxAnswer = 8 << 20
	// maxJob is the largest number of bytes of a job.
	maxJob = 6 << 20
	// giveAhead is the number of windows that are given out before the learner needs them. Labels do not depend on what was learned,
	// so other processes can work on later updates while the learner works on this one.
	giveAhead = 1000
)

// elsewhere has the lacking windows labelled by a pool, and returns when their files are stored. It also gives out windows from
// number next on, which later updates need.
func (l *labels) elsewhere(ctx context.Context, r *run, lacking []int, next int) error {
	pool := r.opt.Pool
	if l.ahead == 0 {
		job, err := l.describe(r.files)
		if err == nil {
			err = pool.Start(job, l.take)
		}
		if err != nil {
			return err
		}
	}
	pool.Give(lacking...)
	l.ahead = max(l.ahead, next)
	for end := min(l.cfg.Expert*l.cfg.Windows, next+giveAhead); l.ahead < end; l.ahead++ {
		if _, err := os.Stat(l.path(l.ahead)); err != nil {
			pool.Give(l.ahead)
		}
	}
	return pool.Wait(ctx, lacking...)
}

// take checks the labels of a window that another process computed, and stores them. It implements the function of
// units.Pool.Start.
func (l *labels) take(window int, file []byte) (refused, failed error) {
	if err := l.check(file); err != nil {
		return err, nil
	}
	return nil, store(l.path(window), func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	})
}

// check returns an error unless the file is what write writes for some choices with finite numbers.
func (l *labels) check(file []byte) error {
	tensors, _, err := checkpoints.ReadTensors(file, checkpoints.Limits{Bytes: maxAnswer, Header: 1 << 16, Tensors: 32})
	if err != nil {
		return err
	}
	for _, t := range tensors {
		if i := notFinite(t.Data); i >= 0 {
			return fmt.Errorf("tensor %q: element %d is not a finite number", t.Name, i)
		}
	}
	samples, err := unrow(&l.scout.Shape, tensors)
	if err != nil {
		return err
	}
	for i := range samples {
		if own := samples[i].Saved[0]; own != 0 {
			return fmt.Errorf("choice %d: the prior's own candidate saves %v, want 0", i, own)
		}
	}
	var again bytes.Buffer
	if err := l.encode(&again, samples); err != nil {
		return err
	}
	if !bytes.Equal(again.Bytes(), file) {
		return errors.New("the file is not in the form in which labels are stored")
	}
	return nil
}

// notFinite returns the index of the first number that is infinite or NaN, or -1.
func notFinite(data any) int {
	bad := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
	switch all := data.(type) {
	case []float32:
		return slices.IndexFunc(all, func(x float32) bool { return bad(float64(x)) })
	case []float64:
		return slices.IndexFunc(all, bad)
	}
	return -1
}

// The entries of a job's metadata.
const (
	recipeKey = "recipe"
	updateKey = "update" // for rollouts only
	policyKey = "policy" // for rollouts only: the digest of the policy that plays
)

// describe returns the job of the run's labels: the recipe, and, if a policy plays windows, its tensors.
func (l *labels) describe(f *runFiles) ([]byte, error) { return f.job(l.team, map[string]string{}) }

// job returns the text of a job: the recipe, the tensors of a policy unless it is nil, and what about says.
func (r *runFiles) job(p *agents.Policy, about map[string]string) ([]byte, error) {
	text, err := recipe.Text(r.recipe, r.scenarios)
	if err != nil {
		return nil, err
	}
	about[recipeKey] = string(text)
	var tensors []checkpoints.Tensor
	if p != nil {
		tensors = append(p.Params.Tensors(), p.Range.Tensors()...)
	}
	var job bytes.Buffer
	if err := checkpoints.WriteTensors(&job, tensors, about); err != nil {
		return nil, err
	}
	if job.Len() > maxJob {
		return nil, fmt.Errorf("recipe and policy have %d bytes, want at most %d to send them to workers", job.Len(), maxJob)
	}
	return job.Bytes(), nil
}

// Arithmetic returns a digest of numbers that this processor computes with the functions on which labels depend. Processes with
// equal programs and equal digests compute equal labels: on some processors, the last bits of such functions differ.
func Arithmetic() string {
	h := sha256.New()
	arithmetic(h)
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
