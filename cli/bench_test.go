package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// told is a task that needs no data.
const told = "small-first@embedded-small-v1"

// TestBenchRanks plays two policies, adds another one in the same folder, joins files, and checks what is printed.
func TestBenchRanks(t *testing.T) {
	published := require.Get(filepath.Abs("../docs/bench-v2.json"))(t)
	t.Chdir(t.TempDir())
	one := []string{"bench", "--task", told, "--out", "b"}
	s := must(t, append(one, "--policy", "fjf,mine=srsf")...)
	contains(t, s.talk, "bench-v2: 1 task, policies: 3", "120/120 episodes", "results: b/results.json")
	contains(t, s.out, "rank  policy", "mine               0.", "fjf                ", "las:place=compact  1.00  [1.00, 1.00]",
		"bench-v2, 1 task of ", "1: "+told)
	before := read(t, "b/results.json")
	if again := must(t, append(one, "--policy", "fjf,mine=srsf")...); again.out != s.out || read(t, "b/results.json") != before {
		t.Errorf("the same command prints\n%s, want\n%s", again.out, s.out)
	}
	contains(t, must(t, append(one, "--policy", "sjfskip")...).out, "sjfskip  ", "mine  ", "fjf  ")
	contains(t, must(t, append(one, "--policy", "sjfskip", "--markdown")...).out, "| rank | policy |", "| `sjfskip` |", "| mine | ")

	must(t, "bench", "--task", told, "--out", "other", "--policy", "mine=srtf")
	joined := must(t, "bench", "b/results.json", "other/results.json")
	contains(t, joined.out, "mine  ", "mine (other/results.json)  ", "sjfskip  ")
	if strings.Contains(joined.talk, "part of the tasks") {
		t.Errorf("all policies have the same tasks, and the command says %s", joined.talk)
	}
	must(t, "bench", "--task", told, "--out", "part", "--policy", "index,late=fjf")
	joined = must(t, "bench", published, "part/results.json")
	contains(t, joined.out, "late (played 1 of ")
	contains(t, joined.talk, "--task "+told+" ranks all of them")
	if strings.Contains(joined.out, "part/results.json") {
		t.Errorf("results that the first file has stand there again:\n%s", joined.out)
	}
	var told benched
	if err := json.Unmarshal([]byte(must(t, "bench", "--json", "other/results.json").out), &told); err != nil ||
		len(told.Ranking.Rows) != 2 || told.Ranking.Rows[0].Score == nil {
		t.Errorf("%+v, error %v", told, err)
	}
}

func TestBenchLists(t *testing.T) {
	contains(t, must(t, "bench", "--list").out, "nopreempt-venus-v1", "helios-venus-2020-06/helios_data_training.csv.gz", "forbidden",
		"index+know:speed=fit:seen=training")
	contains(t, must(t, "bench", "--list", "--markdown").out, "| 1 | `small-first@embedded-small-v1` | `embedded-small-v1 workload.jobs=20000` | 40 |")
	contains(t, must(t, "bench", "--list", "--json").out, `"suite": "bench-v2"`)
}

// TestBenchFails checks the exit status and the message of what cannot be played.
func TestBenchFails(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(scenario.SharedVariable, t.TempDir())
	file := func(text string) string { return file(t, "results.json", text) }
	must(t, "export", "--scenario", "embedded-small-v1", "--set", "cluster.servers=3", "--set", "workload.oversize=clamp",
		"--prior", "fjf", "--model", scorer(t, 0, 3), "--out", "three")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"bench", "--task", "embedded-small-v2"}, cmdline.CodeUsage, "bench-v2 has none of that name"},
		{[]string{"bench", "--policy", "sjfskp"}, cmdline.CodeUsage, `did you mean "sjfskip"?`},
		{[]string{"bench", "--policy", "fjf,sjfskip", "--untold", "fifo"}, cmdline.CodeUsage, "want exactly one --policy"},
		{[]string{"bench", "--policy", "x=fjf,x=fifo"}, cmdline.CodeUsage, `two have the name "x"`},
		{[]string{"bench", "--task", "fair@nopreempt-venus-v1"}, cmdline.CodeError, "helios_data_training.csv.gz"},
		{[]string{"bench", "--task", "small-first@turns-small-untold-v1", "--policy", "srsf"}, cmdline.CodeUsage,
			"take srsf+know to learn them from the jobs that end, or leave out one or the other; --untold names"},
		{[]string{"bench", "--task", "small-first@turns-small-untold-v1", "--policy", "three"}, cmdline.CodeSomeFailed,
			"policy three: 12 of 12"},
		{[]string{"bench", "none.json"}, cmdline.CodeError, "none.json"},
		{[]string{"bench", file(`{"format":"x"}`)}, cmdline.CodeError, `line 1: format: "x"`},
	} {
		s := command(t, c.args...)
		if s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit status %d, want %d with %q:\n%s", c.args, s.code, c.code, c.want, s.talk)
		}
	}
}

// TestBenchWithoutTraces checks that without the traces the tasks on generated workloads are played, and that the others are
// named with the files that they need.
func TestBenchWithoutTraces(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(scenario.SharedVariable, t.TempDir())
	s := must(t, "bench", "--policy", "fjf")
	contains(t, s.out, "bench-v2, 4 tasks of ")
	contains(t, s.talk, "bench-v2: 4 tasks", "task fair@nopreempt-venus-v1 is left out",
		"helios-venus-2020-06/helios_data_training.csv.gz", "docs/data-sources.md says where to get it")
	if n := strings.Count(s.talk, "is left out"); n != 4 {
		t.Errorf("%d tasks are left out, want the four on traces", n)
	}
}
