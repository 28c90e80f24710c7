// Package compare compares training runs by what their folders tell: settings, metrics and times. The runs may be in progress.
// All figures are of validation windows, by which each run chose its weights; package eval compares policies on test windows.
package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/train"
)

// Run is what the folder of a run tells.
type Run struct {
	Dir     string
	Recipe  *train.Recipe
	Metrics []train.Metrics // one for each finished update
	Seconds *float64        // wall-clock time that the run took so far; nil if the folder does not say
}

// Read reads the folder of a run, which may be in progress. The error wraps checkpoints.ErrNone if dir contains no run.
func Read(dir string) (*Run, error) {
	r := &Run{Dir: dir}
	var err error
	if r.Recipe, err = train.ReadRecipe(dir); err != nil {
		return nil, err
	}
	if r.Metrics, err = train.ReadMetrics(dir); err != nil {
		return nil, err
	}
	r.Seconds, err = seconds(dir)
	return r, err
}

// Finished reports whether the run has made all its updates, or ended early by its setting patience.
func (r *Run) Finished() bool {
	n, best := len(r.Metrics), 0
	if b := r.Best(); b != nil {
		best = b.Update
	}
	return n >= r.Recipe.Train.Updates || r.Recipe.Train.EndsEarly(n, best)
}

// Best is the policy that a run keeps: the one that did best on its validation windows so far.
type Best struct {
	JCT    float64 `json:"validation"` // relative to the prior's
	Margin float64 `json:"margin"`
	Update int     `json:"update"` // after which it had these weights; 0 for the prior, and for the policy that the run began with
}

// Best returns the policy that the run keeps, nil before the first validation.
func (r *Run) Best() *Best {
	var best *Best
	for i := range r.Metrics {
		m := &r.Metrics[i]
		if best == nil && (m.Start != nil || m.Validation != nil) {
			best = &Best{JCT: 1, Margin: r.Recipe.Train.Margin} // the prior
		}
		if m.Start != nil && *m.Start < best.JCT && r.Recipe.From != nil {
			*best = Best{*m.Start, r.Recipe.From.Margin, 0}
		}
		if m.Validation != nil && *m.Validation < best.JCT {
			*best = Best{*m.Validation, m.Margin, m.Update}
		}
	}
	return best
}

// Curve returns the validations of the run as points: after which updates, and the relative JCT. The first point is the policy
// that the run began with, which decides as its prior if it is untrained. A run without validations has no points.
func (r *Run) Curve() (x, y []float64) {
	first := 1.0
	for i := range r.Metrics {
		m := &r.Metrics[i]
		if m.Start != nil {
			first = *m.Start
		}
		if m.Validation != nil {
			x, y = append(x, float64(m.Update)), append(y, *m.Validation)
		}
	}
	if x == nil {
		return nil, nil
	}
	return append([]float64{0}, x...), append([]float64{first}, y...)
}

// settings returns the settings of the run as text, in the order of train.Config.
func (r *Run) settings() ([]setting, error) {
	holder := struct {
		Train train.Config `yaml:"train"`
	}{r.Recipe.Train}
	list, err := config.Read(strings.NewReader(""), "", &holder, config.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Dir, err)
	}
	var all []setting
	for _, s := range list {
		all = append(all, setting{strings.TrimPrefix(s.Key, "train."), fmt.Sprint(s.Value)})
	}
	began := "untrained"
	if b := r.Recipe.From; b != nil {
		began = fmt.Sprintf("%s %.12s", b.Policy, b.Digest)
	}
	return append(all, setting{"chosen prior", r.Recipe.Prior}, setting{"from", began}), nil
}

// setting is a setting of a run, without the prefix "train.".
type setting struct{ key, value string }

// timingName is the file in which a run records the time of its updates.
const timingName = "timing.jsonl"

// seconds returns the sum of the times of all sessions of the run: a session begins when the run begins or is resumed.
func seconds(dir string) (*float64, error) {
	text, err := os.ReadFile(filepath.Join(dir, timingName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read times: %w", err)
	}
	type entry struct {
		Update  int     `json:"update"`
		Seconds float64 `json:"wall_s"`
		Resumed bool    `json:"resumed"`
	}
	var sum float64
	var last entry
	for line := range bytes.Lines(text) {
		var e entry
		if json.Unmarshal(line, &e) != nil {
			continue // a killed run leaves an incomplete line
		}
		if e.Resumed || e.Update <= last.Update || e.Seconds < last.Seconds {
			sum += last.Seconds
		}
		last = e
	}
	sum += last.Seconds
	return &sum, nil
}
