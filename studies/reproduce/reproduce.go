// Package reproduce runs the experiments of papers, at their scale, on generated workloads, and compares its figures with the
// published ones. Every row of a table is a policy on a variant of a workload. Every published order or ratio is a claim, which
// may or may not hold here. The workloads of the papers are not public, so orders should agree, but figures can only be similar.
//
// Policies have the names of package baselines. The same experiment and seeds give the same report, byte for byte, whatever the
// number of workers.
package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/config"
)

// Experiment contains the rows and claims for one paper.
type Experiment struct {
	Name    string // of the command
	Title   string
	Columns []Metric
	Rows    []Row
	Claims  []Claim
	About   []string // paragraphs that describe what is run, and how it differs from the paper
}

// Row is a policy on a variant of the workload.
type Row struct {
	Key     string  `json:"key"`   // unique
	Table   string  `json:"table"` // title of the table, in the paper or here
	Name    string  `json:"name"`
	Policy  string  `json:"policy"`         // as baselines.New reads it
	Paper   Figures `json:"paper,omitzero"` // published figures; unknown where the paper has none
	episode func(seed uint64) (sim.Episode, error)
}

// Select keeps only the rows whose key is in keys, or begins with a key that ends in "*". It returns an error for a key that
// matches no row.
func (e *Experiment) Select(keys []string) error {
	var kept []Row
	for _, key := range keys {
		if !slices.ContainsFunc(e.Rows, func(r Row) bool { return matches(key, r.Key) }) {
			return fmt.Errorf("row %q of %s%s", key, e.Name, e.meant(key))
		}
	}
	for _, r := range e.Rows {
		if slices.ContainsFunc(keys, func(key string) bool { return matches(key, r.Key) }) {
			kept = append(kept, r)
		}
	}
	e.Rows = kept
	return nil
}

func (e *Experiment) meant(key string) string {
	var known []string
	for _, r := range e.Rows {
		known = append(known, r.Key)
	}
	if near, ok := config.Nearest(key, known); ok {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ": want one of " + strings.Join(known, ", ")
}

func matches(pattern, key string) bool {
	if begin, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(key, begin)
	}
	return pattern == key
}

// Scale is the size of an experiment. 1 is the paper's size (for A-SRPT this project's); 0.1 is a tenth of the jobs on a tenth
// of the servers.
type Scale float64

// Validate returns an error if the scale is out of range.
func (s Scale) Validate() error {
	if !(s >= .01 && s <= 4) {
		return fmt.Errorf("scale %v, want 0.01 to 4", float64(s))
	}
	return nil
}

// of returns n at the scale, at least 1.
func (s Scale) of(n int) int { return max(1, int(float64(s)*float64(n)+.5)) }
