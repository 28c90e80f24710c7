package cli

import (
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestBenchTasksAreMeasured checks the table of what tasks leave to gain: which rules are blind, that others learn where nothing is
// told, and that the same command prints the same.
func TestBenchTasksAreMeasured(t *testing.T) {
	args := []string{
		"bench-tasks", "--task", "small-first@embedded-small-v1,keep-work@turns-small-untold-v1", "--windows", "2", "--effort", "8",
		"--rules", "las,index,sjfskip,fifo",
	}
	s := must(t, args...)
	contains(t, s.out, "| task | windows | best rule |", "| `small-first@embedded-small-v1` | 2 | `index` | ", " minutes | `las` | +", "| `keep-work@turns-small-untold-v1` | 2 | `",
		"+know:speed=fit:seen=training` | ")
	if again := must(t, append(args, "--cores", "1")...); again.out != s.out {
		t.Errorf("with one worker\n%s\nwithout\n%s", again.out, s.out)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--task", "embedded-small-v1"}, "bench-v2 has none of that name"},
		{[]string{"--rules", "fifoo"}, `did you mean "fifo"?`},
		{[]string{"--windows", "0"}, "--windows 0"},
	} {
		if s := command(t, append([]string{"bench-tasks"}, c.args...)...); s.code != cmdline.CodeUsage {
			t.Errorf("%v: exit code %d\n%s", c.args, s.code, s.talk)
		} else {
			contains(t, s.talk, c.want)
		}
	}
}
