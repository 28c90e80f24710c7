package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestAnOwnTraceWithFewWindows checks what eval and train say of a trace with few jobs, and of one with too few for any window.
func TestAnOwnTraceWithFewWindows(t *testing.T) {
	var text strings.Builder
	text.WriteString("job_id,num_gpu,submit_time,duration\n")
	for i := range 60 {
		fmt.Fprintf(&text, "%d,1,%d,%d\n", i, 30*i, 60*(i%7)) // every seventh runs for no time
	}
	own := file(t, "own.yaml", fmt.Sprintf("name: own-v1\ncluster: {servers: 1, gpus_per_server: 4}\nworkload: {trace: %s}\n"+
		"window: {arrivals: 5, train: [0, 0.4], validation: [0.4, 0.7], test: [0.7, 1]}\nseeds: [1]\n", file(t, "own.csv", text.String())))
	const left, test = "own: 9 of 60 rows ran for no time and are set aside",
		"The test split of own-v1 has 3 windows, so intervals over them say little. For 10 windows of 5 jobs own needs 167 jobs, and has 51."
	s := must(t, "eval", "-s", own, "--policies", "fifo,las", "--baseline", "fifo", "-o", filepath.Join(t.TempDir(), "e"))
	if !strings.Contains(s.talk, left) || !strings.Contains(s.out, test) {
		t.Errorf("eval says\n%s%s", s.talk, s.out)
	}
	s = must(t, "train", "-s", own, "--updates", "1", "--set", "train.expert=0", "--dir", filepath.Join(t.TempDir(), "t"))
	for _, want := range []string{"warning: " + left, "warning: The train split of own-v1 has 4 windows", "warning: The validation split of own-v1 has 3 windows"} {
		if !strings.Contains(s.talk, want) {
			t.Errorf("train says\n%swant %s", s.talk, want)
		}
	}
	s = command(t, "eval", "-s", own, "--policies", "fifo", "--baseline", "fifo", "--set", "window.arrivals=40")
	want := "window.train [0 0.4] holds 20 of the 51 arrivals of own, want at least the 40 of one window. For 10 windows of 40 jobs own needs 1000 jobs, and has 51."
	if s.code != cmdline.CodeError || !strings.Contains(s.talk, want) {
		t.Errorf("exit code %d, %s, want %s", s.code, s.talk, want)
	}
}
