package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// decided returns a line of a decision log whose snapshot has these jobs.
func decided(now int, jobs ...string) string {
	return fmt.Sprintf(`{"version":1,"time":"2026-11-24T08:00:00Z","physics":"ideal","seed":1,"snapshot":{"version":1,"now_s":%d,`+
		`"servers":[{"name":"a","gpus":8,"cpu_milli":null,"mem_mib":null}],"jobs":[%s]},"answer":{"decision":{"by":"policy"}}}`+"\n",
		now, strings.Join(jobs, ","))
}

// recorded is a job that has run for so many seconds.
const recorded = `{"id":"mine","submit_s":1000,"workers":2,"user":"ann","cpu_milli":4000,"mem_mib":100,"progress_s":%d,"state":"running",` +
	`"placement":[{"server":"a","workers":2,"cpu_milli":4000,"mem_mib":100,"gpus":[0,1]}]}`

// TestTraceOfDecisionLogs checks that the trace of a log, of which a line is damaged, can be described and played.
func TestTraceOfDecisionLogs(t *testing.T) {
	const waits = `{"id":"other","submit_s":1060,"workers":1,"state":"pending"}`
	first := file(t, "first.jsonl", decided(1060, fmt.Sprintf(recorded, 60), waits)+`{"version":1,"ti`+"\n")
	second := file(t, "second.jsonl", decided(1100, fmt.Sprintf(recorded, 100))+decided(1120))
	out := file(t, "own.csv", "")
	r := must(t, "trace", "import", first, second, "-o", out)
	contains(t, r.talk, "1 jobs from 3 snapshots", "1 jobs went before they ran, and are left out", "1 damaged lines are left out")
	contains(t, read(t, out), "mine,2,0,120,ann,,1000,4000,100,")
	contains(t, must(t, "trace", "stats", out).out, "rows")
	must(t, "simulate", "--trace", out, "--servers", "1", "--gpus-per-server", "2", "--policy", "fifo")
	piped := commandWith(t.Context(), read(t, second), "trace", "import", "-", "--json")
	if piped.code != cmdline.CodeOK || !strings.HasPrefix(piped.out, "job_id,") {
		t.Errorf("on standard input: exit code %d\n%s\n%s", piped.code, piped.talk, piped.out)
	}
	told := must(t, "trace", "import", second, "-o", out, "--json")
	contains(t, told.out, `"jobs": 1`, `"snapshots": 2`, `"ended": 1`, `"damaged_lines": 0`)
	for want, args := range map[string][]string{
		"want no flags for other formats": {second, "--count", "3"}, "is no decision log: want it alone": {out, second},
	} {
		if s := command(t, append([]string{"trace", "import"}, args...)...); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, want) {
			t.Errorf("%v: exit code %d: %s", args, s.code, s.talk)
		}
	}
	none := command(t, "trace", "import", first)
	if none.code == cmdline.CodeOK {
		t.Error("a log without a job that ended is no error")
	}
	contains(t, none.talk, "1 snapshots show no job that ran and ended, want at least one: 2 jobs are still there")
}
