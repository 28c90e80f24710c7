package observe_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/observe"
	"pgregory.net/rapid"
)

// moments accumulates the sums for correlations between features.
type moments struct {
	group    string
	features []observe.Feature
	n        float64
	sum      []float64
	cross    [][]float64
}

func newMoments(group string, features []observe.Feature) *moments {
	m := &moments{group: group, features: features, sum: make([]float64, len(features))}
	for range features {
		m.cross = append(m.cross, make([]float64, len(features)))
	}
	return m
}

// add adds the rows that are not empty; those of closed servers are empty.
func (m *moments) add(t *testing.T, rows []float32) {
	width := len(m.features)
	for row := range slices.Chunk(rows, width) {
		if row[0] == 0 && m.group != "global" && m.group != "candidate" {
			continue
		}
		m.n++
		for i, x := range row {
			f := m.features[i]
			if !(float64(x) >= f.Min && float64(x) <= f.Max) {
				t.Fatalf("%s %s is %v, want %v to %v", m.group, f.Name, x, f.Min, f.Max)
			}
			m.sum[i] += float64(x)
			for j, y := range row[:i+1] {
				m.cross[i][j] += float64(x) * float64(y)
			}
		}
	}
}

func (m *moments) judge(t *testing.T) {
	covariance := func(i, j int) float64 { return m.cross[i][j]/m.n - m.sum[i]/m.n*m.sum[j]/m.n }
	for i, f := range m.features {
		if constant := f.Name == "present"; covariance(i, i) < 1e-9 {
			if !constant {
				t.Errorf("%s %s is always %v in %v rows", m.group, f.Name, m.sum[i]/m.n, m.n)
			}
			continue
		}
		for j := range i {
			if covariance(j, j) < 1e-9 {
				continue
			}
			if r := covariance(i, j) / math.Sqrt(covariance(i, i)*covariance(j, j)); math.Abs(r) > 0.999 {
				t.Errorf("%s %s correlates with %s by %.4f", m.group, f.Name, m.features[j].Name, r)
			}
		}
	}
}

// value returns a number of an observation by its name.
func value(tb rapid.TB, spec *observe.Spec, o *observe.Observation, group string, row int, name string) float32 {
	tb.Helper()
	features, rows := spec.Server, o.Servers
	switch group {
	case "job":
		features, rows = spec.Job, o.Jobs
	case "candidate":
		features, rows = spec.Candidate, o.Candidates
	case "global":
		features, rows = spec.Global, o.Global
	}
	return read(tb, features, rows[row*len(features):], name)
}

// read returns the number of a row with the given feature name.
func read(tb rapid.TB, features []observe.Feature, row []float32, name string) float32 {
	tb.Helper()
	i := slices.IndexFunc(features, func(f observe.Feature) bool { return f.Name == name })
	if i < 0 {
		tb.Fatalf("no feature %s", name)
	}
	return row[i]
}

// logTime is the documented formula for durations: log(1 + minutes), divided by its value for a hundred days.
func logTime(d time.Duration) float32 {
	return float32(min(math.Log1p(float64(d)/float64(time.Minute))/11.877575, 1))
}
