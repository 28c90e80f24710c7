package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

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

// TestSavedBeliefs checks that what a log taught is saved and summed up, that logs add up, that a server begins with it, and that bad
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
	contains(t, must(t, "beliefs", once).out, "once.json: what was learned from", "a new job runs for about")
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
		{nil, cmdline.CodeUsage, "0 files"},
		{[]string{"--save", once}, cmdline.CodeUsage, "want logs or --scenario"},
		{[]string{log, "--scenario", "embedded-physics-untold-v1"}, cmdline.CodeUsage, "want one file of beliefs, or --save FILE"},
		{[]string{log, log}, cmdline.CodeUsage, "want one file of beliefs, or --save FILE"},
		{[]string{log}, cmdline.CodeError, "beliefs"},
		{[]string{bad}, cmdline.CodeError, "restore beliefs: line 2: run_times.set: unknown field"},
		{[]string{bad, log, "--save", once}, cmdline.CodeError, "restore beliefs: line 2: run_times"},
		{[]string{log, "--save", filepath.Join(dir, "none", "x")}, cmdline.CodeError, "save beliefs"},
	} {
		if s := command(t, append([]string{"beliefs"}, c.args...)...); s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit code %d, %s, want %d and %q", c.args, s.code, s.talk, c.code, c.want)
		}
	}
}
