package cli

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

var updateBeliefs = flag.Bool("update-beliefs", false, "rewrite testdata/beliefs")

// untoldLog returns the event log of a window of a small scenario that tells nothing.
func untoldLog(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, "eval", "-s", "embedded-physics-untold-v1", "-p", "las+menu+move", "--baseline", "las+menu+move", "--windows", "1",
		"--seeds", "1", "--figures", "none", "-q", "-o", dir)
	logs, err := filepath.Glob(filepath.Join(dir, "schedules", "*.gz"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %q, %v", logs, err)
	}
	return logs[0]
}

// TestBeliefs checks the text, the keys of the JSON, and the picture.
func TestBeliefs(t *testing.T) {
	log := untoldLog(t)
	picture := filepath.Join(t.TempDir(), "new", "b.svg")
	for _, c := range []struct {
		name string
		args []string
		keys []string
	}{
		{"all", []string{"--top", "4", "--plot", picture}, []string{"at_s", "ended", "measured", "policy", "readings", "request",
			"run_times", "speeds"}},
		{"user", []string{"--user", "user-1", "--time", "age", "--at", "20h"}, nil},
		{"job", []string{"--job", "4223", "--at", "12h", "--plot", picture}, []string{"at_s", "cpu_milli", "gpu_milli", "job", "left",
			"measured", "mem_mib", "policy", "ran_s", "readings", "speeds", "state", "submit_s", "user", "workers"}},
	} {
		args := append([]string{"beliefs", log}, c.args...)
		got := must(t, args...).out
		golden(t, filepath.Join("testdata", "beliefs", c.name+".txt"), got, *updateBeliefs)
		if c.keys == nil {
			continue
		}
		if got := keys(t, must(t, append(args, "--json")...).out); !slices.Equal(got, c.keys) {
			t.Errorf("%s: keys %q, want %q", c.name, got, c.keys)
		}
		contains(t, read(t, picture), "<svg", "requested CPU", "all jobs", "80 % interval")
		if err := os.Remove(picture); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--job", "423"}, `--job "423": no such job by 16.5d`},
		{[]string{"--job", "4223", "--at", "1s"}, `no such job by 1s: did you mean`},
		{[]string{"--user", "usr-1"}, `--user "usr-1": no such user by 16.5d: did you mean "user-1"?`},
		{[]string{"--user", "user-1", "--job", "4223"}, "none of the others can be"},
		{[]string{"--time", "learned"}, `--time "learned": want one of age, history`},
		{[]string{"--plot", "x.gif"}, "--plot x.gif: want a name that ends in .svg, .png, .pdf"},
		{[]string{"--at", "-1s"}, "--at -1s, --top 10: want 0 or more"},
		{[]string{"--at", "2000h"}, "--at 2000h0m0s: the log ends at "},
	} {
		s := command(t, append([]string{"beliefs", log}, c.args...)...)
		if s.code != cmdline.CodeUsage || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit code %d, %s, want %q", c.args, s.code, s.talk, c.want)
		}
	}
}

// TestSavedBeliefs checks that what a log taught is saved and shown, that logs add up, that a server begins with it, and that bad
// files are refused.
func TestSavedBeliefs(t *testing.T) {
	log, dir := untoldLog(t), t.TempDir()
	once, twice := filepath.Join(dir, "once.json"), filepath.Join(dir, "twice.json")
	contains(t, must(t, "beliefs", log, "--save", once).out, "what was learned from", "ended jobs and", "readings")
	must(t, "beliefs", log, log, "--save", twice)
	added := filepath.Join(dir, "added.json")
	must(t, "beliefs", once, log, "--save", added)
	if read(t, added) != read(t, twice) || read(t, once) == read(t, twice) {
		t.Error("a log that is added to a file teaches something else than two logs")
	}
	contains(t, must(t, "beliefs", log, "--save", once, "--json").out, `"ended": `, `"readings": `)
	picture := filepath.Join(dir, "b.svg")
	for name, args := range map[string][]string{"saved": {"--top", "4", "--plot", picture}, "saveduser": {"--user", "user-1"}} {
		got := strings.ReplaceAll(must(t, append([]string{"beliefs", once}, args...)...).out, dir, "")
		golden(t, filepath.Join("testdata", "beliefs", name+".txt"), got, *updateBeliefs)
	}
	contains(t, read(t, picture), "<svg", "all jobs", "80 % interval")
	must(t, "beliefs", once, "--json")
	bad := file(t, "bad.json", strings.Replace(read(t, once), `"sets"`, `"set"`, 1))
	if !strings.Contains(read(t, once), `"units":[`) || !strings.HasSuffix(read(t, once), `"jobs":[]}}`+"\n") {
		t.Error("single jobs are saved")
	}
	split := filepath.Join(dir, "split.json")
	contains(t, must(t, "beliefs", "-s", "embedded-physics-untold-v1", "--save", split).out, "ended jobs and")
	must(t, "beliefs", "-s", "embedded-physics-untold-v1", log, "--save", twice)
	must(t, "beliefs", split, log, "--save", added)
	if read(t, added) != read(t, twice) || read(t, added) == read(t, split) {
		t.Error("a log after a scenario teaches something else than after the file of that scenario")
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, cmdline.CodeUsage, "0 logs"},
		{[]string{"--save", once}, cmdline.CodeUsage, "want logs or --scenario"},
		{[]string{log, "--scenario", "embedded-physics-untold-v1"}, cmdline.CodeUsage, "want one log, or --save FILE"},
		{[]string{once, "--job", "4223"}, cmdline.CodeUsage, "contains no jobs"},
		{[]string{once, "--at", "1h"}, cmdline.CodeUsage, "contains no jobs and no instants"},
		{[]string{once, "--user", "usr-1"}, cmdline.CodeUsage, `did you mean "user-1"?`},
		{[]string{log, log}, cmdline.CodeUsage, "want one log, or --save FILE"},
		{[]string{log, "--save", once, "--at", "1h"}, cmdline.CodeUsage, "none of the others can be"},
		{[]string{bad}, cmdline.CodeError, "restore run times: line 2: set: unknown field"},
		{[]string{bad, log, "--save", once}, cmdline.CodeError, "restore run times: line 2"},
		{[]string{log, "--save", filepath.Join(dir, "none", "x")}, cmdline.CodeError, "save beliefs"},
	} {
		if s := command(t, append([]string{"beliefs"}, c.args...)...); s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit code %d, %s, want %d and %q", c.args, s.code, s.talk, c.code, c.want)
		}
	}
}

// TestBeliefsWithoutReadings checks that a log of a trace, where nothing was measured and no user is known, is answered as such.
func TestBeliefsWithoutReadings(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log.jsonl")
	must(t, "simulate", "--trace", file(t, "jobs.csv", jobs), "--servers", "2", "--gpus-per-server", "4", "--policy", "fifo",
		"--log-out", log)
	picture := filepath.Join(t.TempDir(), "b.png")
	contains(t, must(t, "beliefs", log, "--plot", picture).out, "all jobs", "0 readings", "measures no throughput")
	contains(t, must(t, "beliefs", log, "--job", "1").out, "requests", "measures no throughput")
	if s := command(t, "beliefs", log, "--user", "ann"); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, "names no user") {
		t.Errorf("exit code %d, %s", s.code, s.talk)
	}
	if s := command(t, "beliefs", file(t, "bad.jsonl", "{}\n")); s.code != cmdline.CodeError {
		t.Errorf("exit code %d, %s", s.code, s.talk)
	}
}
