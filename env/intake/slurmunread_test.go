package intake

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

func readUnread(nodes, jobs string) (*Result, error) {
	c := Slurm{AllowUnread: true, MaxBytes: 1 << 20, Clock: Clock{Now: now}}
	return c.Read(File{"nodes.json", strings.NewReader(nodes)}, File{"squeue.json", strings.NewReader(jobs)})
}

// TestUnreadJobsHoldTheirNodes checks that a running job that cannot be read is an error, and what it holds if that is allowed.
func TestUnreadJobsHoldTheirNodes(t *testing.T) {
	nodes := slurmList("nodes", slurmNodeOf("n1", "gpu:4", `["MIXED"]`), slurmNodeOf("n2", "gpu:4", `["MIXED"]`), slurmNodeOf("c1", "", `["MIXED"]`))
	known := slurmJobOf(9, "RUNNING", holds(1, "n1", `"gpu:1(IDX:2)"`))
	for _, c := range []struct{ name, job, why, want, note string }{
		{"says nothing", slurmJobOf(1, "RUNNING", `,"nodes":"n[1-2]","node_count":2`), "it says neither what it holds nor what it asked for",
			"1 7/1@n1:[0 1 3],n2:[0 1 2 3]; 9 1/1@n1:[2]", "hold all GPUs of their nodes that no other job holds: 1, for example 1: it says neither"},
		{"nulls", slurmJobOf(1, "RUNNING", `,"nodes":"n2","tres_alloc_str":null,"tres_req_str":"(null)","gres_detail":[],"tres_per_node":"N/A"`),
			"it says neither", "1 4/1@n2:[0 1 2 3]; 9 1/1@n1:[2]", "1, for example 1"},
		{"more than its node has", slurmJobOf(1, "RUNNING", holds(5, "n2", "")), "it holds 5 GPUs, of which its nodes have 4", "1 4/1@n2:[0 1 2 3]; 9 1/1@n1:[2]",
			"1, for example 1"},
		{"more than others leave", slurmJobOf(1, "RUNNING", holds(4, "n1", `"gpu:4(IDX:0-3)"`)),
			"it holds 1 GPU of node n1, which has 4, of which other jobs hold 4", "1 4/1@n1:[0 1 2 3]", "left out: other jobs hold all GPUs of their nodes: 1, for example 9"},
		{"no nodes", slurmJobOf(1, "RUNNING", holds(1, "", "")), "it has no nodes", "9 1/1@n1:[2]", "the GPUs that they hold count as free: 1"},
		{"a node that is not there", slurmJobOf(1, "RUNNING", holds(2, "n[2,7]", "")), "node n7 is not among the nodes with GPUs",
			"1 4/1@n2:[0 1 2 3]; 9 1/1@n1:[2]", "on nodes that are not in the input, left out: 1"},
		{"no node with GPUs", slurmJobOf(1, "RUNNING", holds(2, "c1", "")), "node c1 is not among", "9 1/1@n1:[2]", "on nodes without GPUs, left out: 1"},
		{"a state of tomorrow", slurmJobOf(1, "SINGING", holds(1, "n2", "")), "its state is not known (SINGING)", "1 4/1@n2:[0 1 2 3]; 9 1/1@n1:[2]", "1, for example 1"},
		{"no state", strings.Replace(slurmJobOf(1, "X", holds(1, "n2", "")), `["X"]`, "null", 1), "its state is not known ()",
			"1 4/1@n2:[0 1 2 3]; 9 1/1@n1:[2]", "1, for example 1"},
	} {
		jobs := slurmList("jobs", c.job, known)
		if _, err := readSlurm(nodes, jobs); err == nil || !strings.Contains(err.Error(), "squeue.json: 1 running job cannot be read, for example job ") ||
			!strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), "--allow-unread") {
			t.Errorf("%s: %v, want %s", c.name, err, c.why)
		}
		r, err := readUnread(nodes, jobs)
		check(t, c.name, r, err, c.want, c.note)
	}
}

// TestWhatRunningJobsHold checks jobs whose GPUs stand elsewhere than in tres_alloc_str.
func TestWhatRunningJobsHold(t *testing.T) {
	nodes := slurmList("nodes", slurmNodeOf("n1", "gpu:a100:4", `["MIXED"]`), slurmNodeOf("n2", "gpu:a100:2", `["MIXED"]`), slurmNodeOf("c1", "", `["MIXED"]`))
	const asked = "hold what they asked for: 1, for example 1"
	for _, c := range []struct{ name, more, want, note string }{
		{"gres_detail", `,"nodes":"n1","gres_detail":["gpu:a100:2(IDX:1,3)"]`, "1 2/1@n1:[1 3]", ""},
		{"gres_detail as one text", `,"nodes":"n1","gres_detail":"gpu:a100:2(IDX:1,3)"`, "1 2/1@n1:[1 3]", ""},
		{"GPUs that are not accounted for", `,"nodes":"n1","tres_alloc_str":"cpu=8,mem=32G,node=1","gres_detail":["gpu:2(IDX:0-1)"]`, "1 2/1@n1:[0 1]", ""},
		{"types of a list", `,"nodes":"n1","gres_detail":["gpu:a100:1(IDX:0),gpu:a100:1(IDX:2)"]`, "1 2/1@n1:[0 2]", ""},
		{"both, of which one is less", `,"nodes":"n1","tres_alloc_str":"gres/gpu=1","gres_detail":["gpu:3(IDX:0-2)"]`, "1 3/1@n1:[0 1 2]", "the larger number of GPUs is taken: 1"},
		{"per node", `,"nodes":"n[1-2]","tres_per_node":"gres:gpu:2"`, "1 4/2@n1:[0 1],n2:[0 1]", asked},
		{"per node, nodes of job_resources", `,"nodes":"","node_count":2,"job_resources":{"nodes":{"count":2,"list":"n[1-2]"}},"tres_per_node":"gres/gpu:1"`, "1 2/1@n1:[0],n2:[0]", asked},
		{"nodes of job_resources as text", `,"job_resources":{"nodes":"n2","allocated_cores":3},"tres_alloc_str":"gres/gpu=1"`, "1 1/1@n2:[0]", ""},
		{"the node of the script", `,"batch_host":"n2","node_count":1,"tres_alloc_str":"gres/gpu=1"`, "1 1/1@n2:[0]", ""},
		{"per job", `,"nodes":"n1","tres_per_job":"gres/gpu:a100:3"`, "1 3/1@n1:[0 1 2]", asked},
		{"per task", `,"nodes":"n1","tres_per_task":"gres/gpu:2","tasks":{"set":true,"infinite":false,"number":2}`, "1 4/2@n1:[0 1 2 3]", asked},
		{"per socket", `,"nodes":"n1","tres_per_socket":"gres/gpu:2","sockets_per_node":2`, "1 4/1@n1:[0 1 2 3]", asked},
		{"as requested", `,"nodes":"n1","tres_req_str":"cpu=4,gres/gpu=3,gres/gpu:a100=3"`, "1 3/1@n1:[0 1 2]", asked},
		{"not counted twice", `,"nodes":"n1","tres_alloc_str":"gres/gpu=4,gres/gpu:a100=4"`, "1 4/1@n1:[0 1 2 3]", ""},
		{"an uneven split in what there is", `,"nodes":"n[1-2]","tres_alloc_str":"gres/gpu=6"`, "1 6/1@n1:[0 1 2 3],n2:[0 1]", "as evenly as possible"},
		{"a node twice", `,"nodes":"n1,n1","tres_alloc_str":"gres/gpu=2","gres_detail":["gpu:1","gpu:1"]`, "1 2/1@n1:[0 1]", ""},
		{"beside a node without GPUs", `,"nodes":"c1,n2","tres_alloc_str":"gres/gpu=2"`, "1 2/1@n2:[0 1]", ""},
		{"no GPU", `,"nodes":"n1","tres_alloc_str":"cpu=8,mem=32G"`, "", ""},
		{"nothing, on a node without GPUs", `,"nodes":"c1"`, "", ""},
		{"no GPU, as requested", `,"nodes":"n1","tres_req_str":"cpu=8,mem=32G"`, "", ""},
	} {
		r, err := readSlurm(nodes, slurmList("jobs", slurmJobOf(1, "RUNNING", c.more)))
		if c.note == "" {
			check(t, c.name, r, err, c.want)
		} else {
			check(t, c.name, r, err, c.want, c.note)
		}
	}
}

func TestDetailedJobsComeFirst(t *testing.T) {
	nodes := slurmList("nodes", slurmNodeOf("n1", "gpu:4", `["MIXED"]`), slurmNodeOf("n2", "gpu:4", `["MIXED"]`))
	r, err := readSlurm(nodes, slurmList("jobs", slurmJobOf(1, "RUNNING", holds(4, "n[1-2]", "")), slurmJobOf(2, "RUNNING", holds(3, "n1", `"gpu:3(IDX:1-3)"`)),
		slurmJobOf(2, "RUNNING", holds(1, "n2", ""))))
	check(t, "order", r, err, "1 4/1@n1:[0],n2:[0 1 2]; 2 3/1@n1:[1 2 3]", "as evenly as possible", "twice: the second one is left out: 1, for example 2")
}

// TestGPUsInUse checks that GPUs that gres_used names and no job holds are not free.
func TestGPUsInUse(t *testing.T) {
	for _, c := range []struct {
		gres, used, job string
		out             []int32
		notes           []string
	}{
		{"gpu:4", "gpu:3(IDX:0,2-3)", "", []int32{0, 2, 3}, []string{"the others are out of order in the snapshot: 1, for example n1"}},
		{"gpu:(null):4(S:0-1)", "gpu:(null):1(IDX:3)", "", []int32{3}, []string{"out of order"}},
		{"gpu:4", "gpu:2", "", []int32{0, 1}, []string{"out of order"}},
		{"gpu:4", `","tres_used":"cpu=2,gres/gpu=2,gres/gpu:a100=2`, "", []int32{0, 1}, []string{"out of order"}},
		{"gpu:4", "gpu:9(IDX:0-8)", "", []int32{0, 1, 2, 3}, []string{"out of order"}},
		{"gpu:4", "gpu:3(IDX:0-2)", holds(2, "n1", `"gpu:2(IDX:1-2)"`), []int32{0}, []string{"out of order"}},
		{"gpu:4", "gpu:2(IDX:1-2)", holds(2, "n1", `"gpu:2(IDX:1-2)"`), nil, nil},
		{"gpu:4", "gpu:0(IDX:N/A)", holds(2, "n1", `"gpu:2(IDX:1-2)"`), nil, nil},
		{"gpu:4", "(null)", "", nil, nil}, {"gpu:4", "N/A", "", nil, nil}, {"gpu:4", "", "", nil, nil},
		{"gpu:4,shard:16", "gpu:0(IDX:N/A),shard:5(0/4,4/4,1/4,0/4)", `,"nodes":"n1","tres_alloc_str":"cpu=1,gres/shard=5"`, []int32{1, 2},
			[]string{"running jobs with gres/shard: the GPUs that they share are out of order in the snapshot: 1", "generic resource shard"}},
		{"gpu:4,shard:16", "", `,"nodes":"n1","tres_per_node":"gres/shard:5"`, []int32{0, 1}, []string{"running jobs with gres/shard"}},
		{"gpu:4,shard:16", "gpu:0(IDX:N/A),shard:2(0/4,2/4,0/4,0/4)", "", []int32{1}, []string{"out of order in the snapshot: 1, for example n1", "shard"}},
		{"gpu:4,shard:16", "gpu:0,shard:9", `,"nodes":"n1","tres_alloc_str":"cpu=1,gres/shard=1"`, []int32{0, 1, 2}, []string{"out of order", "shard"}},
		{"gpu:4,mps:400", "gpu:0,mps:50", `,"nodes":"n1","tres_alloc_str":"cpu=1,gres/mps=50"`, []int32{0}, []string{"running jobs with gres/mps"}},
	} {
		node := strings.Replace(slurmNodeOf("n1", c.gres, `["MIXED"]`), "gpu:0(IDX:N/A)", c.used, 1)
		var jobs []string
		if c.job != "" {
			jobs = append(jobs, slurmJobOf(1, "RUNNING", c.job))
		}
		r, err := readSlurm(slurmList("nodes", node), slurmList("jobs", jobs...))
		want := ""
		if strings.Contains(c.job, "IDX") {
			want = "1 2/1@n1:[1 2]"
		}
		check(t, c.used, r, err, want, c.notes...)
		var out []int32
		for g := range int32(4) {
			if err == nil && r.State.Failed(0, g) {
				out = append(out, g)
			}
		}
		if !slices.Equal(out, c.out) {
			t.Errorf("%s, %s: %v out of order, want %v", c.used, c.job, out, c.out)
		}
	}
}

func TestNodesWithGPUsOfAnotherKind(t *testing.T) {
	r, err := readSlurm(slurmList("nodes", slurmNodeOf("n1", "gpu:a100_1g.5gb:7", `["IDLE"]`), slurmNodeOf("n2", "gpu:l4:no_consume:2", `["IDLE"]`)),
		slurmList("jobs", slurmJobOf(1, "RUNNING", holds(2, "n2", `"gpu:l4:2"`)), slurmJobOf(2, "RUNNING", holds(2, "n2", "")),
			slurmJobOf(3, "RUNNING", holds(2, "n2", `"gpu:l4:2"`))))
	check(t, "kinds", r, err, "1 2/1@n2:[0 1]", "divided (MIG): each instance counts as a GPU: 1, for example n1",
		"any number of jobs use (no_consume): in the snapshot one job holds a GPU: 1, for example n2", "(no_consume), left out, because others hold all: 2, for example 3")
	if err == nil && (r.State.Server(0).GPUs != 7 || r.State.Server(0).GPUType != "a100_1g.5gb") {
		t.Errorf("%+v", r.State.Server(0))
	}
}

// TestNoGPUInUseIsFree draws running jobs in every form, and checks that as many GPUs are not free as the jobs hold.
func TestNoGPUInUseIsFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		forms := []string{
			`,"tres_alloc_str":"cpu=1,gres/gpu=%[1]d"`, `,"tres_alloc_str":"gres/gpu=%[1]d,gres/gpu:t4=%[1]d"`, `,"gres_detail":["gpu:(null):%[1]d(IDX:N/A)"]`,
			`,"tres_alloc_str":"cpu=1","gres_detail":["gpu:t4:%[1]d"]`, `,"tres_per_node":"gres:gpu:%[1]d"`, `,"tres_req_str":"cpu=2,gres/gpu:t4=%[1]d"`, ``,
		}
		states := []string{"RUNNING", "SUSPENDED", "COMPLETING", "STOPPED", "CONFIGURING", "SINGING"}
		var jobs, nodes []string
		held := map[string]int{}
		for n := range rapid.IntRange(1, 3).Draw(t, "nodes") {
			node, left := fmt.Sprintf("n%d", n), 4
			nodes = append(nodes, slurmNodeOf(node, "gpu:t4:4", `["MIXED"]`))
			for left > 0 && rapid.Bool().Draw(t, "another") {
				gpus := rapid.IntRange(1, left).Draw(t, "gpus")
				form, state := rapid.SampledFrom(forms).Draw(t, "form"), rapid.SampledFrom(states).Draw(t, "state")
				if strings.Contains(form, "%") {
					form = fmt.Sprintf(form, gpus)
				}
				jobs = append(jobs, slurmJobOf(len(jobs)+1, state, form+fmt.Sprintf(`,"nodes":%q`, node)))
				left, held[node] = left-gpus, held[node]+gpus
			}
		}
		r := must.Get(readUnread(slurmList("nodes", nodes...), slurmList("jobs", jobs...)))(t)
		for i := range r.State.Servers() {
			used := 0
			for _, milli := range r.State.GPUUse(cluster.ServerID(i)) {
				used += int(milli) / 1000
			}
			if name := r.State.Server(cluster.ServerID(i)).Name; used < held[name] {
				t.Fatalf("%s: %d of %d GPUs are not free\n%s", name, used, held[name], strings.Join(jobs, "\n"))
			}
		}
	})
}
