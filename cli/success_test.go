package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// keys returns the sorted keys of a JSON object.
func keys(t *testing.T, text string) []string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("no JSON object: %v\n%s", err, text)
	}
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b := require.Get(os.ReadFile(path))(t)
	return string(b)
}

// TestJSONKeepsItsKeys checks the keys of JSON output. Scripts read them: new ones are allowed, but none may disappear.
func TestJSONKeepsItsKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	trace := file(t, "jobs.csv", jobs)
	log := filepath.Join(t.TempDir(), "log.jsonl.gz")
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	metrics := []string{"events", "failures", "finished", "cpu_given", "fragmentation", "gpu_utilisation", "gpus_given", "interruptions", "jobs", "loans",
		"makespan_s", "mean_jct_s", "mean_lent", "mean_queueing_s", "mean_slowdown", "mem_given", "migrations", "p50_jct_s", "p50_queueing_s",
		"p50_slowdown", "p95_jct_s", "p95_queueing_s", "p95_slowdown", "p99_ftf", "p99_jct_s", "p99_queueing_s", "p99_slowdown",
		"policy", "preemptions", "reclaims", "refused", "resizes", "seizures", "sum_jct_s", "unfair", "unserved"}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"simulate", "--trace", trace, "--servers", "2", "--gpus-per-server", "4", "--policy", "srtf", "--log-out", log},
			append(metrics, "bad_rows", "cpu_only_rows", "cpu_s", "oversize_jobs", "trace")},
		{[]string{"replay", log}, append(metrics, "verified")},
		{[]string{"trace", "stats", trace}, []string{"arrival_cv", "arrivals_per_day", "bad_rows", "cpu_only_rows", "days",
			"duration_quantiles", "format", "fractional_jobs", "gangs", "gpu_hours", "jobs", "max_duration_s", "mean_duration_s",
			"never_scheduled_rows", "rows", "statuses", "tenants", "trace", "users"}},
		{[]string{"trace", "import", trace, "-o", filepath.Join(t.TempDir(), "x.csv")}, []string{"bad_rows", "cpu_only_rows", "jobs",
			"never_scheduled_rows", "out", "rows"}},
		{[]string{"scenario", "describe", "embedded-small-v1"}, []string{"about", "assumed", "cpu_only_rows", "gpus", "jobs",
			"name", "oversize_jobs", "physics", "pools", "real", "splits", "told", "windows", "workload", "yaml"}},
		{[]string{"env", "describe", "-s", "embedded-small-v1"}, []string{"agents", "agree", "candidate", "cluster", "job", "jobs", "kinds",
			"numbers", "prior", "server", "window"}},
		{[]string{"env", "check", "-s", "embedded-small-v1", "--steps", "50"}, []string{"agent_decisions", "agent_decisions_per_cpu_s",
			"agents", "choices_mean", "environment", "episodes", "jobs_mean", "legal_mean", "pending_mean", "prior", "reset_cpu_s",
			"step_cpu_s", "steps", "steps_per_cpu_s", "window"}},
		{[]string{"eval", "-s", "embedded-small-v1", "-p", "fifo", "--windows", "1", "--seeds", "1"}, []string{"comparisons", "decision_latency", "out", "report"}},
		{[]string{"plan", "--snapshot", snapshot, "--policy", "las"}, []string{"free_gpus_after", "free_gpus_before", "gpus", "now_s", "ops",
			"policy", "waiting", "wake_s"}},
	} {
		slices.Sort(c.want)
		if got := keys(t, must(t, append(c.args, "--json")...).out); !slices.Equal(got, c.want) {
			t.Errorf("%v:\n got %q\nwant %q", c.args, got, c.want)
		}
	}
}

func TestSimulateTellsAndWritesWhatHappened(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, "new", name) }
	trace := file(t, "jobs.csv", jobs+"5,0,40,10\n6,x,50,10\n")
	s := must(t, "simulate", "--trace", trace, "--skip-bad-rows", "--servers", "1", "--gpus-per-server", "4", "--policy", "fifo",
		"--jobs-out", at("jobs.csv"), "--log-out", at("log.jsonl"), "--gantt", at("gantt.svg"))
	contains(t, s.out, "fifo", "4, 4 finished", "preemptions")
	contains(t, s.talk, "1 of 6 rows ask for no GPU", "1 of 6 rows cannot be read", trace+":7")
	want := "job_id,submit_s,start_s,end_s,jct_s\n1,0,0,100,100\n2,10,10,60,50\n3,20,100,105,85\n4,30,105,115.5,85.5\n"
	if got := read(t, at("jobs.csv")); got != want {
		t.Errorf("jobs.csv:\n%s\nwant:\n%s", got, want)
	}
	contains(t, read(t, at("gantt.svg")), "<svg")
	contains(t, must(t, "replay", at("log.jsonl"), "--verify").out, "the same bytes")

	// A log in which a job starts on other GPUs is refused, and so is a log with the same content in other bytes.
	log := read(t, at("log.jsonl"))
	tampered := file(t, "tampered.jsonl", strings.Replace(log, `"kind":"finish"`, `"kind":"preempt"`, 1))
	if s := command(t, "replay", tampered); s.code != cmdline.CodeError {
		t.Errorf("tampered log: exit code %d", s.code)
	}
	spaced := file(t, "spaced.jsonl", strings.Replace(log, `"kind":"finish"`, `"kind": "finish"`, 1))
	if s := command(t, "replay", spaced, "--verify"); s.code != cmdline.CodeError {
		t.Errorf("log in other bytes: exit code %d", s.code)
	}
}

func TestSimulateObeysItsOptions(t *testing.T) {
	trace := file(t, "jobs.csv", "job_id,num_gpu,submit_time,duration\nlong,4,0,1000\nshort,4,10,10\nhuge,16,20,10\n")
	result := func(more ...string) simulation {
		t.Helper()
		args := append([]string{"simulate", "--trace", trace, "--servers", "1", "--gpus-per-server", "4", "--json", "--oversize", "drop"}, more...)
		var r simulation
		require.Do(t, json.Unmarshal([]byte(must(t, args...).out), &r))
		return r
	}
	for _, c := range []struct {
		name string
		args []string
		sum  float64
	}{
		{"preemption is free", []string{"--policy", "srtf"}, 1010 + 10},
		{"preemption costs a minute", []string{"--policy", "srtf", "--preempt-overhead", "60s"}, 1070 + 10},
		{"preempted work is lost", []string{"--policy", "srtf", "--restart", "scratch"}, 1020 + 10},
		{"large gangs are cut", []string{"--policy", "srtf", "--oversize", "clamp"}, 1020 + 10 + 10},
	} {
		if r := result(c.args...); r.SumJCT != c.sum {
			t.Errorf("%s: sum of JCT %v, want %v", c.name, r.SumJCT, c.sum)
		}
	}
	if r := result("--policy", "fifo"); r.Oversize != 1 || r.Jobs != 2 {
		t.Errorf("%d jobs and %d dropped, want 2 and 1", r.Jobs, r.Oversize)
	}
}

func TestTracesConvertAndComeBack(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv.gz"), filepath.Join(dir, "c.csv")
	must(t, "trace", "gen", "--jobs", "300", "--seed", "4", "--load", "1.1", "--gpus", "64", "-o", a)
	must(t, "trace", "import", a, "-o", b)
	must(t, "trace", "import", b, "-o", c)
	if read(t, a) != read(t, c) {
		t.Error("a native trace changes when it is imported")
	}
	contains(t, must(t, "trace", "stats", b, "--gpus", "64").out, "native", "300 jobs", "on 64 GPUs")
	if s := commandWith(t.Context(), read(t, a), "trace", "import", "-", "--count", "2"); strings.Count(s.out, "\n") != 3 {
		t.Errorf("two jobs of a trace on standard input: exit code %d\n%s", s.code, s.out)
	}
	const params = "../env/trace/philly.yaml"
	contains(t, must(t, "trace", "gen", "--jobs", "5", "--params", params).out, "job_id,num_gpu")
}

func TestScenariosAndEnvironmentsDescribeThemselves(t *testing.T) {
	contains(t, must(t, "scenario", "ls").out, "embedded-small-v1", "venus-contended-v1")
	s := must(t, "scenario", "describe", "embedded-small-v1", "--set", "cluster.servers=16").out
	contains(t, s, "servers: 16", "# test: 12 windows")
	again := file(t, "mine.yaml", s)
	contains(t, must(t, "scenario", "describe", again).out, "servers: 16", "# test: 12 windows")
	contains(t, must(t, "baselines").out, "sjfskip", "las", "yes")
	contains(t, must(t, "baselines", "sjfhold").out, "times=5", "values: 0 to 1e+06", "EASY", "takes +menu: yes")
	contains(t, must(t, "baselines", "+loan").out, "inference pool")
	contains(t, must(t, "baselines", "+move").out, "running jobs move", "saves=30m0s")
	contains(t, must(t, "eval", "-s", "embedded-small-v1", "-p", "near=sjfhold:times=2,sjfhold:times=9", "--windows", "1",
		"--seeds", "1", "--out", t.TempDir()).out, "near", "sjfhold:times=9")
	contains(t, must(t, "env", "describe", "-s", "embedded-small-v1").out, "8 agents", "from 0 to 8", "the prior, srsf+menu+move,", "all servers",
		"gather", "let a gang wait for fewer servers", "free_gpus", "others_gpu_time", "next_end", "0 to 1")
	contains(t, must(t, "env", "describe", "-s", "embedded-small-v1", "--prior", "las", "--agree", "lead", "--window", "48").out,
		"the prior, las,", "its lead server", "48 rows of jobs")
	contains(t, must(t, "env", "check", "-s", "embedded-small-v1").out, "deterministic", "passed")
}
