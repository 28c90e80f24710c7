package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestSnapshotsOfClusters checks that the lists in testdata/snapshot become the snapshots there, and the plans for these.
func TestSnapshotsOfClusters(t *testing.T) {
	at := func(name string) string { return filepath.Join("testdata", "snapshot", name) }
	now := []string{"--now", "2026-11-24T08:00:00Z"}
	for _, c := range []struct {
		name string
		args []string
		said []string
	}{
		{"kubernetes", []string{"kubectl", "--rack-label", "topology.kubernetes.io/rack", at("kubectl.json")},
			[]string{"warning: pods with scheduling gates, left out: 1, for example nlp/queued", "4 servers with 28 GPUs; 3 running jobs, 3 waiting",
				"pods that ask for nvidia.com/mig-1g.10gb and for no nvidia.com/gpu, left out: 3, for example vision/slice-0"}},
		{"slurm", []string{"slurm", "--limit-as-estimate", "--nodes", at("nodes.json"), "--jobs", at("squeue.json")},
			[]string{"warning: waiting jobs without GPUs, left out: 1, for example 1014",
				"warning: waiting jobs that Slurm holds back (Dependency), left out: 1, for example 1013", "6 servers with 24 GPUs; 3 running jobs, 5 waiting"}},
	} {
		s := must(t, slices.Concat([]string{"snapshot"}, c.args, now)...)
		golden(t, at(c.name+".golden.json"), s.out, *updatePlans)
		contains(t, s.talk, c.said...)
		plan := must(t, "plan", "--snapshot", file(t, "cluster.json", s.out), "--policy", "sjfskip", "--assume", "2h")
		golden(t, at(c.name+".plan.txt"), plan.out, *updatePlans)
	}
	whole := must(t, slices.Concat([]string{"snapshot", "kubectl", at("kubectl.json")}, now)...)
	piped := commandWith(t.Context(), read(t, at("kubectl.json")), slices.Concat([]string{"snapshot", "kubectl", "--json"}, now)...)
	if piped.code != cmdline.CodeOK || piped.out != whole.out {
		t.Errorf("on standard input: exit code %d\n%s", piped.code, piped.talk)
	}
	later := must(t, slices.Concat([]string{"snapshot", "kubectl", at("kubectl.json"), "--zero", "2026-11-01T08:00:00Z"}, now)...)
	contains(t, later.out, `"now_s":1987200,`)
	contains(t, piped.talk, `{"warning":"pods with scheduling gates, left out: 1, for example nlp/queued"}`)
}

func TestSnapshotRefusesWhatItCannotRead(t *testing.T) {
	nodes, jobs := filepath.Join("testdata", "snapshot", "nodes.json"), filepath.Join("testdata", "snapshot", "squeue.json")
	bad := file(t, "bad.json", strings.Replace(read(t, jobs), `"node[02-03]"`, `"node[02-"`, 1))
	lost := file(t, "lost.json", strings.ReplaceAll(read(t, filepath.Join("testdata", "snapshot", "kubectl.json")), `"nodeName"`, `"noNode"`))
	unread := file(t, "unread.json", strings.Replace(read(t, jobs), `"nodes": "node01"`, `"nodes": ""`, 1))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"kubectl", "none.json"}, cmdline.CodeError, "none.json"},
		{[]string{"kubectl", nodes}, cmdline.CodeError, nodes + ": line 260: items: missing, want a list"},
		{[]string{"kubectl", "--now", "today", nodes}, cmdline.CodeUsage, "--now"},
		{[]string{"kubectl", "--zero", "today", nodes}, cmdline.CodeUsage, "--zero"},
		{[]string{"kubectl", "--now", "2026-11-24T08:00:00Z", "--zero", "2026-11-24T07:59:00Z", filepath.Join("testdata", "snapshot", "kubectl.json")},
			cmdline.CodeError, "oldest job"},
		{[]string{"kubectl", lost}, cmdline.CodeError, "want it, or --allow-unread"},
		{[]string{"kubectl", "--allow-unread", lost}, cmdline.CodeOK, "without spec.nodeName, left out: the GPUs that they hold count as free: "},
		{[]string{"slurm", "--nodes", nodes}, cmdline.CodeUsage, "jobs"},
		{[]string{"slurm", "--nodes", "-", "--jobs", "-"}, cmdline.CodeUsage, "one file only"},
		{[]string{"slurm", "--nodes", nodes, "--jobs", unread}, cmdline.CodeError, "1 running job cannot be read, for example job 1001: it has no nodes"},
		{[]string{"slurm", "--nodes", nodes, "--jobs", bad}, cmdline.CodeError, `jobs[1].nodes: "node[02-", want hosts such as node[01-03,07]`},
	} {
		if s := command(t, append([]string{"snapshot"}, c.args...)...); s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%q: exit code %d, want %d with %q\n%s", c.args, s.code, c.code, c.want, s.talk)
		}
	}
	allowed := must(t, "snapshot", "slurm", "--now", "2026-11-24T08:00:00Z", "--allow-unread", "--nodes", nodes, "--jobs", unread)
	contains(t, allowed.talk, "running jobs that cannot be read and have no nodes, left out: the GPUs that they hold count as free: 1, for example 1001")
}
