package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clustergym/clustergym/env/trace"
)

// TestTraceFitWritesWhatTheGeneratorReads checks the report of a fit, and that the generator draws from what it writes.
func TestTraceFitWritesWhatTheGeneratorReads(t *testing.T) {
	dir := t.TempDir()
	jobs, params := filepath.Join(dir, "jobs.csv"), filepath.Join(dir, "params.yaml")
	w, err := trace.Generate(trace.Default(), 300, 4)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(jobs)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := trace.WriteNative(f, w.Jobs); err != nil {
		t.Fatal(err)
	}
	contains(t, must(t, "trace", "fit", jobs, "--name", "mine", "-o", params).talk, "300 jobs", "gangs of up to")
	contains(t, must(t, "trace", "fit", jobs, "--json", "-o", params).out, `"seen_s"`, `"jobs": 300`)
	p, err := trace.ReadParams(params)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Generate(p, 5, 1); err != nil {
		t.Error(err)
	}
}
