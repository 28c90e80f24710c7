// Package reproduce runs the experiments of papers on workloads of its own, at their scale, and puts its figures beside theirs:
// every row of a table is a policy on a variant of a workload, and every order or ratio that was published is a claim that
// holds here or does not. The workloads of the papers are not public, so figures are to resemble, orders are to agree.
//
// Policies go by the names of package baselines. The same experiment and seeds give the same report, byte for byte, whatever the
// number of workers.
package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/config"
)

// Experiment is all that is run and claimed for one paper.
type Experiment struct {
	Name    string // of the command
	Title   string
	Columns []Metric
	Rows    []Row
	Claims  []Claim
	About   []string // paragraphs: what is run, and what differs from the paper
}

// Row is a policy on a variant of the workload.
type Row struct {
	Key     string  `json:"key"`   // names it
	Table   string  `json:"table"` // of the paper, or of this experiment
	Name    string  `json:"name"`
	Policy  string  `json:"policy"`         // as baselines.New reads it
	Paper   Figures `json:"paper,omitzero"` // as published; unknown where the paper has none
	episode func(seed uint64) (sim.Episode, error)
}

// Select keeps the rows of the keys, or whose key begins with one that ends in "*". A key that fits none is an error.
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

// Scale is the size of an experiment: 1 is the paper's, or for A-SRPT this project's, and 0.1 a tenth of the jobs on a tenth of
// the servers.
type Scale float64

// Validate reports a scale that is not usable.
func (s Scale) Validate() error {
	if !(s >= .01 && s <= 4) {
		return fmt.Errorf("scale %v, want 0.01 to 4", float64(s))
	}
	return nil
}

// of is a number of things at the scale.
func (s Scale) of(n int) int { return max(1, int(float64(s)*float64(n)+.5)) }
