package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// ownTraceOptions are the flags for a trace of the user's own on a cluster of equal servers.
type ownTraceOptions struct {
	File string `flag:"trace" file:"csv,gz,swf" help:"in place of a scenario, a CSV file of your own jobs; with --servers and --gpus-per-server"`
	flags.Trace
	Servers int `flag:"servers" min:"0" help:"number of servers, for --trace"`
	GPUs    int `flag:"gpus-per-server" min:"0" help:"GPUs of each server, for --trace"`
}

// validate returns an error unless the flags name a scenario, or a trace and its cluster.
func (o *ownTraceOptions) validate(s *flags.Scenario) error {
	given := o.Servers > 0 || o.GPUs > 0 || o.Format != "" || len(o.Columns) > 0 || o.SkipBadRows
	switch {
	case o.File == "" && given:
		return cmdline.Usage("--servers, --gpus-per-server, --format, --columns and --skip-bad-rows are for --trace")
	case o.File == "":
		return nil
	case s.Name != "":
		return cmdline.Usage("--scenario and --trace: want one")
	case o.Servers < 1 || o.GPUs < 1:
		return cmdline.Usage("--trace: want --servers and --gpus-per-server, too: the cluster that its jobs run on")
	}
	return nil
}

var unnameable = regexp.MustCompile(`[^a-z0-9]+`)

// name returns the name of the scenario that is made of the trace.
func (o *ownTraceOptions) name() string {
	base, _, _ := strings.Cut(filepath.Base(o.File), ".")
	base = strings.Trim(unnameable.ReplaceAllString(strings.ToLower(base), "-"), "-")
	if base == "" || base[0] < 'a' || base[0] > 'z' {
		base = strings.TrimSuffix("own-"+base, "-")
	}
	return base + "-v1"
}

// The shape of windows of a trace, so that some jobs are left to judge by: a window has so small a part of all jobs, within
// bounds, and as many before it fill the cluster.
const (
	ownPart     = 120
	ownLeast    = 15
	ownArrivals = 150
)

// scenario writes the trace in the native format and a scenario of it into a folder, for this and other commands, and returns the
// scenario's path. It leaves files alone that are the same already, and refuses to replace others.
func (o *ownTraceOptions) scenario(ctx context.Context, a *app, dir string) (string, error) {
	w, err := o.Read(ctx, o.File, a.In, a.Say)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("make scenario of %s: %w", o.File, err)
	}
	n := min(max(len(w.Jobs)/ownPart, ownLeast), ownArrivals)
	text := fmt.Sprintf(`name: %s
about: the jobs of a trace, on a cluster of equal servers
# docs/scenarios.md explains all keys. Commands take this file with --scenario.
cluster: {servers: %d, gpus_per_server: %d}
workload: {trace: jobs.csv, oversize: clamp}
# Each window has so many jobs, after as many that fill the cluster. Rules are chosen on the first 70 %% of all jobs, and judged
# on the rest.
window: {arrivals: %d, warm: %d, train: [0, 0.5], validation: [0.5, 0.7], test: [0.7, 1]}
# A job that is stopped holds its GPUs for a minute without progress when it starts again.
preempt_overhead: 1m
# Schedulers are told the true run times. With none they are told nothing: estimates: {kind: none}
estimates: {kind: oracle}
seeds: [1]
`, o.name(), o.Servers, o.GPUs, n, n)
	var jobs bytes.Buffer
	if err := nativeWriter(w.Jobs)(&jobs); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "scenario.yaml")
	for _, f := range []struct {
		path string
		text []byte
	}{{filepath.Join(dir, "jobs.csv"), jobs.Bytes()}, {path, []byte(text)}} {
		was, err := os.ReadFile(f.path)
		switch {
		case err == nil && !bytes.Equal(was, f.text):
			return "", cmdline.Usage("%s is another one than --trace would make: go on with --scenario %s, or choose another --out",
				f.path, path)
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("make scenario of %s: %w", o.File, err)
		}
		if err := atomicfile.WriteBytes(f.path, 0o666, f.text); err != nil {
			return "", fmt.Errorf("make scenario of %s: %w", o.File, err)
		}
	}
	return path, nil
}

// load returns the scenario of the flags.
func (o *tuneOptions) load(ctx context.Context, a *app, objective string) (s *scenario.Scenario, err error) {
	if err := o.Own.validate(&o.Scenario); err != nil {
		return nil, err
	}
	usual := func(scenario string) string {
		return filepath.Join("runs", fmt.Sprintf("tune-%s-%s", scenario, objective))
	}
	if o.Own.File != "" {
		o.Out = cmp.Or(o.Out, usual(o.Own.name()))
		if o.Scenario.Name, err = o.Own.scenario(ctx, a, o.Out); err != nil {
			return nil, err
		}
	}
	if s, err = o.Scenario.Load(); err == nil {
		o.Out = cmp.Or(o.Out, usual(s.Name))
	}
	return s, err
}
