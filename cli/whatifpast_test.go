package cli

import (
	"path/filepath"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestWhatifPast checks the forms of the command beside those of docs/what-if.md, and its errors.
func TestWhatifPast(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "simulate", "--trace", file(t, "jobs.csv", must(t, "trace", "gen", "--jobs", "40", "--load", "4", "--gpus", "16", "--seed", "5").out),
		"--oversize", "clamp", "--servers", "2", "--gpus-per-server", "8", "--policy", "sjfskip", "--log-out", "log.jsonl")
	past := func(args ...string) said {
		return command(t, append([]string{"whatif", "--past", "log.jsonl"}, args...)...)
	}

	changed := filepath.Join(t.TempDir(), "changed.jsonl.gz")
	contains(t, past("--leave", "17", "--log-out", changed).out, "jobs from decision 24 at ", "does:     start 17", "instead:  nothing", "sjfskip, leaving 17", "leaving 17 saves")
	must(t, "replay", "--verify", changed)
	contains(t, past("--decision", "24", "--leave", "17", "--policy", "fifo").out, "fifo decides otherwise than the log after that, also as it was")
	contains(t, past("--decision", "24", "--against", "fifo", "--objective", "completion,small-first").out, "sjfskip, as it was  fifo, as it was",
		"completion, ", "small-first, minutes", "cost from now on")
	contains(t, past("--decision", "68", "--policy", "released").out, "prior's choice", "total")
	contains(t, past("--decision", "68", "--policy", "released", "--candidate", "2").out, "released, candidate 2")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--leave", "nobody"}, "no decision of the log starts such a job"},
		{[]string{"--start", "17"}, "want --decision, too"},
		{[]string{"--leave", "17", "--add", "1x8"}, "none of the others can be"},
		{[]string{"--leave", "17", "--snapshot", "cluster.json"}, "none of the others can be"},
		{[]string{"--decision", "-1"}, "want 0 or more"},
		{[]string{"--decision", "9999", "--leave", "17"}, "decision 9999, and it has "},
		{[]string{"--decision", "24", "--start", "17", "--policy", "nobody"}, "who decides afterwards"},
		{[]string{"--decision", "68", "--policy", "released+know"}, "those of the team without +know"},
		{[]string{"--decision", "68", "--policy", "released+know", "--candidate", "2"}, "those of the team without +know"},
		{[]string{"--decision", "24", "--policy", "fifo"}, "fifo chooses among no candidates"},
	} {
		if s := past(c.args...); s.code == cmdline.CodeOK {
			t.Errorf("%q: exit code %d", c.args, s.code)
		} else {
			contains(t, s.talk, c.want)
		}
	}
}
