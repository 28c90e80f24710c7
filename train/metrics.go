package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clustergym/clustergym/checkpoints"
)

// Metrics is one update: a line of metrics.jsonl. Wall-clock figures are not among them; they go to timing.jsonl. Glossary has
// their units and their tags in event files.
type Metrics struct {
	Update     int      `json:"update"`
	Choices    int      `json:"choices"`                // decisions among several candidates in new windows: all, or those labelled
	Learned    int      `json:"learned"`                // decisions learned from: of these, or of all that have labels
	Departs    float64  `json:"departs,omitempty"`      // share of decisions that were not the prior's
	Return     float64  `json:"return,omitempty"`       // mean over episodes: negative job-hours
	Relative   float64  `json:"relative_jct,omitempty"` // mean JCT of the sampled policy over the prior's on the same windows
	Validation *float64 `json:"validation,omitempty"`   // the same of the greedy policy on the validation windows, if it was due
	Margin     float64  `json:"margin,omitempty"`       // with which that was
	Agree      float64  `json:"agree,omitempty"`        // share of labelled decisions at which the greedy takes the best candidate
	Value      float64  `json:"value,omitempty"`        // what the greedy policy's candidates save, mean over labelled decisions
	Scale      float64  `json:"scale,omitempty"`        // job-hours that a candidate saves or loses where it matters, mean
	Entropy    float64  `json:"entropy"`                // nats a choice
	KL         float64  `json:"kl"`                     // from the policy that played
	Clipped    float64  `json:"clipped"`                // share of choices
	Norm       float64  `json:"grad_norm"`              // mean before clipping
}

// ReadMetrics returns those of the run in dir, one for each update that it has finished, which may be none. The run may be in
// progress: a last line that is not whole yet is left out. The error names the line; it wraps checkpoints.ErrNone if dir holds
// no run.
func ReadMetrics(dir string) ([]Metrics, error) {
	path := filepath.Join(dir, metricsName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, recipeName)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no run: it has no %s: %w", dir, recipeName, checkpoints.ErrNone)
		}
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return parseMetrics(path, text)
}

// parseMetrics reads whole lines; path is for errors.
func parseMetrics(path string, text []byte) ([]Metrics, error) {
	var all []Metrics
	for line := range bytes.Lines(text) {
		if line[len(line)-1] != '\n' {
			break
		}
		var m Metrics
		n := len(all) + 1
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if m.Update != n {
			return nil, fmt.Errorf("%s:%d: update %d, want %d: a line for each update, in order", path, n, m.Update, n)
		}
		all = append(all, m)
	}
	return all, nil
}
