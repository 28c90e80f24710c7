package train

import (
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/internal/tbevent"
)

// watch writes the event file of a run, for TensorBoard. The run does not depend on it. A nil watch does nothing.
type watch struct {
	file      *tbevent.Writer
	decisions int // number so far
}

// openWatch begins an event file for the updates after the given one. It always creates a new file, because the last one may end
// with an incomplete record. The file's start record makes TensorBoard discard events of updates that will be repeated.
func openWatch(dir string, update int, now time.Time) (*watch, error) {
	before, err := ReadMetrics(dir)
	if err != nil {
		return nil, err
	}
	w := &watch{}
	for i := range before[:min(update, len(before))] {
		w.decisions += before[i].Choices
	}
	if w.file, err = tbevent.Create(dir, now); err != nil {
		return nil, err
	}
	if err := w.file.Start(int64(update)+1, now); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	for _, t := range Glossary() {
		if t.Tag != "" {
			w.file.Describe(t.Tag, t.about())
		}
	}
	return w, nil
}

func (w *watch) close() {
	if w != nil {
		_ = w.file.Close() // each event was written to the file immediately
	}
}

// returns adds a histogram of the returns of an update's episodes.
func (w *watch) returns(x []float64) {
	if w != nil {
		w.file.Histogram(tagReturns, slices.Values(x))
	}
}

// samples adds histograms of the samples that an update is about to learn from.
func (w *watch) samples(s []learn.Sample) {
	if w == nil || len(s) == 0 {
		return
	}
	w.file.Histogram(tagAdvantages, func(yield func(float64) bool) {
		for i := range s {
			if s[i].Saved == nil && !yield(s[i].Gain) {
				return
			}
			for k, x := range s[i].Saved {
				if k > 0 && !yield(x) {
					return
				}
			}
		}
	})
	if s[0].Saved == nil {
		w.file.Histogram(tagProbabilities, each(s, func(s *learn.Sample) float64 { return math.Exp(s.LogProb) }))
	}
}

func each[T any](list []T, value func(*T) float64) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		for i := range list {
			if !yield(value(&list[i])) {
				return
			}
		}
	}
}

// weights adds a histogram of the weights of each part of the network. The parameters of a part are adjacent in p.
func (w *watch) weights(p agents.Params) {
	if w == nil {
		return
	}
	part := func(i int) string { name, _, _ := strings.Cut(p[i].Name, "."); return name }
	for from, to := 0, 0; from < len(p); from = to {
		for to < len(p) && part(to) == part(from) {
			to++
		}
		w.file.Histogram(tagWeights+part(from), func(yield func(float64) bool) {
			for _, param := range p[from:to] {
				for _, x := range param.Data {
					if !yield(float64(x)) {
						return
					}
				}
			}
		})
	}
}

// record writes the histograms added for the update, and its metrics under their tags.
func (w *watch) record(m *Metrics, now time.Time) error {
	if w == nil {
		return nil
	}
	values := m.Numbers()
	for _, t := range Glossary() {
		for _, key := range t.Keys(values) {
			if t.Tag != "" {
				w.scalar(&t, key, values[key])
			}
		}
	}
	w.decisions += m.Choices
	w.file.Scalar(tagDecisions, float64(w.decisions))
	return w.file.Append(int64(m.Update), now)
}

// scalar writes the number of a term at one of its keys.
func (w *watch) scalar(t *Term, key string, x float64) {
	tag := t.Tag
	if _, name, each := strings.Cut(key, "/"); each {
		tag = strings.TrimSuffix(tag, tagBaseline) + name
		w.file.Describe(tag, t.about())
	}
	w.file.Scalar(tag, x)
}
