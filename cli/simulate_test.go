package cli

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// TestSimulateShowsProgress checks that simulate says how many jobs have finished, unless it shall be quiet.
func TestSimulateShowsProgress(t *testing.T) {
	args := []string{"simulate", "--servers", "2", "--gpus-per-server", "4", "--policy", "fifo", "--trace", file(t, "jobs.csv", jobs)}
	if s := must(t, args...); !strings.Contains(s.talk, "simulate  4/4 jobs  100%") {
		t.Errorf("no progress in %q", s.talk)
	}
	if s := must(t, append(args, "-q")...); s.talk != "" {
		t.Errorf("-q says %q", s.talk)
	}
}

// TestSimulateForgetsTheLog checks that simulate gives the same metrics and the same file of jobs whether it keeps the event log
// or not.
func TestSimulateForgetsTheLog(t *testing.T) {
	dir := t.TempDir()
	trace, log := filepath.Join(dir, "trace.csv"), filepath.Join(dir, "log.jsonl")
	must(t, "trace", "gen", "--jobs", "2000", "--seed", "7", "--load", "1.1", "--gpus", "16", "-o", trace)
	play := func(args ...string) (result simulation, rows string) {
		out := filepath.Join(dir, "jobs.csv")
		s := must(t, append([]string{"simulate", "--trace", trace, "--servers", "2", "--gpus-per-server", "8", "--policy", "srtf",
			"--oversize", "clamp", "--jobs-out", out, "--json"}, args...)...)
		require.Do(t, json.Unmarshal([]byte(s.out), &result))
		result.CPU = 0
		return result, read(t, out)
	}
	forgets, rows := play()
	keeps, same := play("--log-out", log)
	if forgets != keeps || rows != same || forgets.Events < 3*2000 || forgets.Preemptions == 0 {
		t.Errorf("without a log %+v\nwith one     %+v\nsame rows: %t", forgets, keeps, rows == same)
	}
	must(t, "replay", log, "--verify")
}

// TestAnInterruptEndsSimulate checks that an interrupt ends simulate before it has read the trace, with one word.
func TestAnInterruptEndsSimulate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := commandWith(ctx, "", "simulate", "--servers", "2", "--gpus-per-server", "4", "--policy", "fifo",
		"--trace", file(t, "jobs.csv", jobs))
	if s.code != cmdline.CodeInterrupted || s.talk != "clustergym: interrupted\n" {
		t.Errorf("exit code %d, %q", s.code, s.talk)
	}
}

// TestSimulateReadsColumnsOfOthers checks that --columns and dates give what the native file gives, and that the error about an
// unknown header names the flag.
func TestSimulateReadsColumnsOfOthers(t *testing.T) {
	args := []string{"simulate", "--servers", "2", "--gpus-per-server", "4", "--policy", "fifo", "--jobs-out", "-", "-q", "--trace"}
	native := file(t, "jobs.csv", "job_id,num_gpu,submit_time,duration\na,1,0,10\nb,8,5,20\n")
	other := file(t, "other.csv", "job,gpus,submitted,elapsed\na,1,2026-11-20 08:00:00,10\nb,8,2026-11-20 08:00:05,20\n")
	s := command(t, append(args, other)...)
	_, columns, ok := strings.Cut(s.talk, "did you mean --columns ")
	if s.code != cmdline.CodeError || !ok {
		t.Fatalf("exit code %d, %q", s.code, s.talk)
	}
	columns = strings.TrimSuffix(columns, "?\n")
	rows := func(out string) string { return out[:strings.Index(out, "policy")] }
	if got, want := must(t, append(args, other, "--columns", columns)...).out, must(t, append(args, native)...).out; rows(got) != rows(want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
