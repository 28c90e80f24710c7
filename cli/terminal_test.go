package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// TestFilesOfOthersDoNotActOnTheTerminal checks that a file with characters that act on a terminal is refused, and that the error
// shows them escaped.
func TestFilesOfOthersDoNotActOnTheTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, text := range []string{"\x1b[2J", "\u202egpj.exe"} {
		quoted := require.Get(json.Marshal(text))(t)
		trace := file(t, "jobs.csv", jobs+text+",1,50,5\n")
		odd := file(t, "odd.csv", "job_id,num_gpu,submit_time,duration,"+text+"\n")
		snapshot := file(t, "cluster.json", strings.ReplaceAll(must(t, "plan", "--example").out, `"name":"server-0"`, `"name":`+string(quoted)))
		field := file(t, "field.json", `{"version":1,"now_s":0,"servers":[],"jobs":[],`+string(quoted)+`:1}`)
		scenario := file(t, "mine.yaml", "name: mine-v1\nabout: "+string(quoted)+"\n")
		key := file(t, "key.yaml", "name: mine-v1\n"+string(quoted)+": 1\n")
		gate := file(t, "gate.yaml", "bounds: "+string(quoted)+"\n")
		for _, args := range [][]string{
			{"simulate", "--servers", "2", "--gpus-per-server", "4", "--policy", "fifo", "--trace", trace},
			{"trace", "stats", odd},
			{"plan", "--policy", "fifo", "--snapshot", snapshot},
			{"plan", "--policy", "fifo", "--snapshot", field},
			{"scenario", "describe", scenario},
			{"scenario", "describe", key},
			{"eval", "-s", "embedded-small-v1", "-p", "fifo", "--gate", gate},
		} {
			s := command(t, args...)
			if s.code == cmdline.CodeOK {
				t.Errorf("%v: accepted", args)
			}
			calm(t, args, s)
		}
	}
}

// calm fails the test if the output contains characters that act on a terminal.
func calm(t *testing.T, args []string, s said) {
	t.Helper()
	odd := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
	if strings.ContainsFunc(s.out+s.talk, odd) {
		t.Errorf("%v: prints %q %q", args, s.out, s.talk)
	}
}

// TestAPolicyIsNotNamedByControlCharacters checks that export refuses a name with such characters, does not print them, and
// writes no bundle.
func TestAPolicyIsNotNamedByControlCharacters(t *testing.T) {
	t.Chdir(t.TempDir())
	train2(t, "runs/one")
	for _, name := range []string{"\x1b[2J", "\u202egpj.exe"} {
		s := command(t, "export", "--run", "runs/one", "--name", name)
		if s.code != cmdline.CodeError {
			t.Errorf("%q: exit code %d, want %d", name, s.code, cmdline.CodeError)
		}
		calm(t, []string{"export"}, s)
	}
	if _, err := os.Stat(filepath.Join("runs", "one", "policy")); !os.IsNotExist(err) {
		t.Errorf("a policy was written: %v", err)
	}
}

// TestRowsOfJobsHoldNoFormula checks that a spreadsheet treats no job id in the rows of a simulation as a formula. Ids that are
// numbers stay numbers.
func TestRowsOfJobsHoldNoFormula(t *testing.T) {
	trace := file(t, "jobs.csv", "job_id,num_gpu,submit_time,duration\n"+
		"\"=HYPERLINK(\"\"x\"\",\"\"y\"\")\",1,0,1\n@SUM(1+1),1,0,1\n+1+1,1,0,1\n-2+3,1,0,1\n-7,1,0,1\na=b,1,0,1\n")
	out := filepath.Join(t.TempDir(), "rows.csv")
	must(t, "simulate", "--trace", trace, "--servers", "2", "--gpus-per-server", "4", "--policy", "fifo", "--jobs-out", out)
	want := []string{"job_id", `"'=HYPERLINK(""x"",""y"")"`, "'@SUM(1+1)", "'+1+1", "'-2+3", "-7", "a=b"}
	lines := strings.Split(strings.TrimSpace(read(t, out)), "\n")
	for i, line := range lines {
		if i >= len(want) || !strings.HasPrefix(line, want[i]+",") {
			t.Errorf("line %d: %s, want %v", i+1, line, want[min(i, len(want)-1)])
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines, want %d", len(lines), len(want))
	}
}
