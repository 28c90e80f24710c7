package intake

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/formattest"
)

func slurmList(name string, items ...string) string {
	return `{"meta":{"plugin":{}},"` + name + `":[` + strings.Join(items, ",\n") + `],"errors":[]}`
}

// slurmNodeOf returns a node in the form of the newer parsers. In the form of the older ones, state is one text.
func slurmNodeOf(name, gres, state string) string {
	return fmt.Sprintf(`{"name":%q,"cpus":16,"real_memory":65536,"state":%s,"gres":%q,"gres_used":"gpu:0(IDX:N/A)","partitions":["p"]}`,
		name, state, gres)
}

// slurmJobOf returns a job with more text at its end.
func slurmJobOf(id int, state, more string) string {
	return fmt.Sprintf(`{"job_id":%d,"user_name":"u","account":"t","partition":"p","job_state":[%q],"submit_time":{"set":true,"infinite":false,
"number":%d},"start_time":%d,"time_limit":{"set":true,"infinite":false,"number":60}%s}`, id, state, now.Unix()-7200, now.Unix()-3600, more)
}

func holds(gpus int, nodes, detail string) string {
	return fmt.Sprintf(`,"tres_alloc_str":"cpu=%d,mem=%dG,node=1,gres/gpu=%d","nodes":%q,"gres_detail":[%s]`, gpus, gpus, gpus, nodes, detail)
}

func asks(gpus, nodes int, perNode string) string {
	return fmt.Sprintf(`,"tres_req_str":"cpu=%d,mem=%dG,gres/gpu=%d","node_count":{"set":true,"infinite":false,"number":%d},"tres_per_node":%q`,
		gpus, gpus, gpus, nodes, perNode)
}

func TestSlurmJobs(t *testing.T) {
	nodes := slurmList("nodes", slurmNodeOf("n1", "gpu:a100:4(S:0-1)", `["MIXED"]`), slurmNodeOf("n2", "gpu:a100:4", `"IDLE"`),
		slurmNodeOf("n3", "", `["IDLE"]`))
	for _, c := range []struct {
		name  string
		jobs  []string
		want  string
		notes []string
	}{
		{"with indices", []string{slurmJobOf(1, "RUNNING", holds(2, "n1", `"gpu:a100:2(IDX:0,3)"`))}, "1 2/1@n1:[0 3]", nil},
		{"without indices", []string{slurmJobOf(1, "RUNNING", holds(3, "n[1-2]", ""))}, "1 3/1@n1:[0 1],n2:[0]",
			[]string{"as evenly as possible", "GPU indices Slurm does not report"}},
		{"an uneven split", []string{slurmJobOf(1, "RUNNING", holds(4, "n[1-2]", `"gpu:1(IDX:2)","gpu:3(IDX:1-3)"`))}, "1 4/1@n1:[2],n2:[1 2 3]", nil},
		{"two on one GPU", []string{slurmJobOf(1, "RUNNING", holds(1, "n1", `"gpu:1(IDX:0)"`)), slurmJobOf(2, "RUNNING", holds(1, "n1", `"gpu:1(IDX:0)"`))},
			"1 1/1@n1:[0]; 2 1/1@n1:[1]", []string{"others are assigned: 1, for example 2"}},
		{"completing", []string{strings.Replace(slurmJobOf(1, "COMPLETING", holds(1, "n1", `"gpu:1(IDX:0)"`)), `["C`, `["COMPLETED","C`, 1)}, "1 1/1@n1:[0]", nil},
		{"suspended", []string{slurmJobOf(1, "SUSPENDED", holds(1, "n1", `"gpu:1(IDX:0)"`))}, "1 1/1@n1:[0]", []string{"suspended"}},
		{"ended", []string{slurmJobOf(1, "TIMEOUT", holds(1, "n1", ""))}, "", nil},
		{"another state", []string{slurmJobOf(1, "DREAMING", asks(1, 1, ""))}, "", []string{"1 is DREAMING"}},
		{"on two nodes", []string{slurmJobOf(1, "PENDING", asks(8, 2, "gres/gpu:4"))}, "1 8/4", nil},
		{"on one node", []string{slurmJobOf(1, "PENDING", asks(3, 1, ""))}, "1 3/3", nil},
		{"on any nodes", []string{slurmJobOf(1, "PENDING", asks(6, 1, ""))}, "1 6/1", nil},
		{"only for each node", []string{slurmJobOf(1, "PENDING", `,"node_count":2,"tres_per_node":"gres:gpu:a100:2"`)}, "1 4/2", nil},
		{"an array", []string{slurmJobOf(7, "PENDING", asks(1, 1, "")+`,"array_job_id":{"set":true,"infinite":false,"number":7},"array_task_string":"1,4-8:2%2"`)},
			"7_1 1/1; 7_4 1/1; 7_6 1/1; 7_8 1/1", []string{"run at once, which is not kept: 1, for example 7 at most 2"}},
		{"a task", []string{slurmJobOf(9, "PENDING", asks(1, 1, "")+`,"array_job_id":7,"array_task_id":{"set":true,"infinite":false,"number":0}`)}, "7_0 1/1", nil},
		{"a list of tasks that is cut", []string{slurmJobOf(7, "PENDING", asks(1, 1, "")+`,"array_task_string":"1-2,..."`)}, "7_1 1/1; 7_2 1/1", []string{"SLURM_BITSTR_LEN"}},
		{"tasks that are none", []string{slurmJobOf(7, "PENDING", asks(1, 1, "")+`,"array_task_string":"x"`)}, "", []string{"not understood"}},
		{"held", []string{slurmJobOf(1, "PENDING", asks(1, 1, "")+`,"state_reason":"JobHeldUser"`)}, "", []string{"JobHeldUser"}},
		{"without GPUs", []string{slurmJobOf(1, "PENDING", `,"tres_req_str":"cpu=1"`)}, "", []string{"waiting jobs without GPUs, left out"}},
		{"shards", []string{slurmJobOf(1, "PENDING", `,"tres_req_str":"cpu=1,gres/shard=2"`)}, "", []string{"gres/shard and for no GPU, left out"}},
		{"features", []string{slurmJobOf(1, "PENDING", asks(1, 1, "")+`,"features":"a&b","required_nodes":"n1"`)}, "1 1/1", []string{"a&b", "requires n1"}},
		{"components", []string{slurmJobOf(1, "PENDING", asks(1, 1, "")+`,"het_job_id":{"set":true,"infinite":false,"number":1}`)}, "1 1/1", []string{"heterogeneous"}},
	} {
		r, err := readSlurm(nodes, slurmList("jobs", c.jobs...))
		check(t, c.name, r, err, c.want, c.notes...)
	}
}

func TestSlurmNodesBecomeServers(t *testing.T) {
	nodes := slurmList("nodes", slurmNodeOf("n1", "gpu:a100:2", `["MIXED","DRAIN"]`), slurmNodeOf("n2", "gpu:2", `["IDLE","DRAIN"]`),
		slurmNodeOf("n3", "gpu:a100:1,gpu:v100:1,shard:2", `["IDLE","POWERED_DOWN"]`),
		strings.Replace(slurmNodeOf("n4", "gpu:2", `["RESERVED"]`), `"gpu:0(IDX:N/A)"`, `"gpu:1(IDX:0)"`, 1), slurmNodeOf("n5", "(null)", `["IDLE"]`))
	r, err := readSlurm(nodes, slurmList("jobs", slurmJobOf(1, "RUNNING", holds(1, "n1", `"gpu:1(IDX:1)"`)),
		slurmJobOf(2, "RUNNING", `,"tres_alloc_str":"cpu=8,mem=32G","nodes":"n[3,5]"`),
		slurmJobOf(3, "PENDING", asks(1, 1, "")+`,"excluded_nodes":"n[1-2]"`)))
	check(t, "nodes", r, err, "1 1/1@n1:[1]; 3 1/1", "several types", "reservation", "generic resource shard", "out of order in the snapshot: 1, for example n4",
		"out of order in the snapshot: 1, for example n1")
	if err != nil {
		return
	}
	s := r.State
	if !s.Failed(0, 0) || s.Failed(0, 1) || !s.Down(1) || s.Down(2) || s.Down(3) || s.Servers() != 4 {
		t.Errorf("%d servers, n1 %+v", s.Servers(), s.GPUUse(0))
	}
	if n := s.Server(2); n.CPUMilli != 12000 || n.MemMiB != 48<<10 || n.GPUType != "" || s.Server(0).GPUType != "a100" {
		t.Errorf("n3 is %+v", n)
	}
	if s.MayUse(1, 0) || !s.MayUse(1, 2) || s.Spec(1).Estimate != 0 || s.Progress(0) != time.Hour {
		t.Errorf("job 3 may use n1 %t, n3 %t; estimate %v; job 1 has done %v", s.MayUse(1, 0), s.MayUse(1, 2), s.Spec(1).Estimate, s.Progress(0))
	}
	if spec := s.Spec(0); spec.User != "u" || spec.Tenant != "t" || spec.Request != (cluster.Amount{GPUMilli: 1000, CPUMilli: 1000, MemMiB: 1024}) {
		t.Errorf("%+v", spec)
	}
	c := Slurm{LimitAsEstimate: true, MaxBytes: 1 << 20, Clock: Clock{Now: now}}
	r, err = c.Read(File{"n", strings.NewReader(nodes)}, File{"j", strings.NewReader(slurmList("jobs", slurmJobOf(3, "PENDING", asks(1, 1, ""))))})
	if err != nil || r.State.Spec(0).Estimate != time.Hour {
		t.Errorf("with the limit as the estimate: %v", err)
	}
}

// TestListsOfSlurm checks the forms in which lists of nodes and jobs are read.
func TestListsOfSlurm(t *testing.T) {
	n1, n2 := slurmNodeOf("n1", "gpu:2", `["IDLE"]`), slurmNodeOf("n2", "gpu:2", `["IDLE"]`)
	job := slurmJobOf(1, "RUNNING", holds(1, "n2", `"gpu:1(IDX:1)"`))
	for _, c := range []struct{ name, nodes, jobs string }{
		{"a list", slurmList("nodes", n1, n2), slurmList("jobs", job)},
		{"two lists one after the other", slurmList("nodes", n1) + "\n" + slurmList("nodes", n2), slurmList("jobs") + slurmList("jobs", job)},
		{"the lists alone", "[" + n1 + "," + n2 + "]", "[" + job + "]"},
		{"one after the other", "[" + n1 + "]\n[" + n2 + "]", "[]" + "[" + job + "]"},
		{"a single one", `{"nodes":` + n1 + `}{"nodes":` + n2 + "}", `{"jobs":` + job + "}"},
		{"partitions behind", slurmList("nodes", n1, n2) + slurmList("partitions", `{"name":"p","partition":{"state":["DOWN"]}}`), slurmList("jobs", job)},
	} {
		r, err := readSlurm(c.nodes, c.jobs)
		check(t, c.name, r, err, "1 1/1@n2:[1]")
		if err == nil && r.State.Servers() != 2 {
			t.Errorf("%s: %d servers", c.name, r.State.Servers())
		}
	}
	for _, c := range []struct{ nodes, want string }{
		{`{"nodes":7}`, "nodes.json: line 1: nodes: 7, want a list"},
		{`{"nodes":null}`, "nodes: null, want a list"},
		{"[7]", "nodes[0]: 7, want an object"},
		{"{}", "nodes: missing, want a list"},
		{"7", "7, want JSON"},
		{slurmList("nodes", n1) + "x", "invalid character 'x'"},
		{slurmList("nodes", n1) + slurmList("nodes", n1), "nodes[0].name: n1, want each node once"},
	} {
		if _, err := readSlurm(c.nodes, slurmList("jobs")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.nodes, err, c.want)
		}
	}
}

func TestBadListsOfSlurm(t *testing.T) {
	n, j := slurmNodeOf("n", "gpu:4", `["IDLE"]`), slurmJobOf(1, "RUNNING", holds(2, "n", `"gpu:2(IDX:0,3)"`))
	for _, c := range []struct{ nodes, jobs, want string }{
		{slurmList("nodes"), slurmList("jobs"), "nodes.json: 0 nodes, none with the generic resource gpu"},
		{slurmList("jobs"), slurmList("jobs"), "nodes.json: line 1: nodes: missing, want a list"},
		{slurmList("nodes", n, n), slurmList("jobs"), "nodes.json: line 2: nodes[1].name: n, want each node once"},
		{slurmList("nodes", strings.Replace(n, "16", `{"set":true,"infinite":false,"number":"x"}`, 1)), "", `nodes[0].cpus.number: "x", want a whole number`},
		{slurmList("nodes", strings.Replace(n, "16", "-1", 1)), "", "nodes[0].cpus: -1, want a whole number from 0"},
		{slurmList("nodes", strings.Replace(n, "gpu:4", "gpu:a:b:4", 1)), "", `nodes[0].gres: "gpu:a:b:4", want a resource such as gpu:a100:8`},
		{slurmList("nodes", strings.Replace(n, "gpu:4", "gpu:99999", 1)), "", "nodes[0].gres: 99999, want at most 16384 GPUs"},
		{slurmList("nodes", n), slurmList("jobs", strings.Replace(j, `"n"`, `"n[3-1]"`, 1)), `squeue.json: line 2: jobs[0].nodes: "n[3-1]", want ranges such as`},
		{slurmList("nodes", n), slurmList("jobs", strings.Replace(j, `IDX:0,3`, `IDX:x`, 1)), `jobs[0].gres_detail[0]: "gpu:2(IDX:x)", want ranges such as`},
		{slurmList("nodes", n), slurmList("jobs", strings.Replace(j, `gpu=2`, `gpu=two`, 1)), "jobs[0].tres_alloc_str"},
		{slurmList("nodes", n), slurmList("jobs", strings.Replace(j, `"job_id":1`, `"job_id":0`, 1)), "jobs[0].job_id: missing or 0"},
		{slurmList("nodes", n), slurmList("jobs", `{}`), "jobs[0].job_id: missing or 0"},
		{slurmList("nodes", n), slurmList("jobs", strings.Repeat(j+",", 100)+strings.Replace(j, `"n"`, `"n[1-131073]"`, 1)), "at most 131072 numbers"},
		{slurmList("nodes", n), slurmList("jobs", strings.Repeat(strings.Replace(j, `"n"`, `"n[1-131072]"`, 1)+",", 17)+j), "in all lists together"},
	} {
		if _, err := readSlurm(c.nodes, c.jobs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s, %.80s: %v, want %s", c.nodes, c.jobs, err, c.want)
		}
	}
}

// FuzzSlurm fuzzes both files in one text. Where running jobs cannot be read, it allows that.
func FuzzSlurm(f *testing.F) {
	two := func(nodes, jobs string) string { return nodes + "\x00" + jobs }
	formattest.Fuzz(f, formattest.Format[*Result]{
		Read: func(text []byte) (*Result, error) {
			nodes, jobs, _ := strings.Cut(string(text), "\x00")
			if r, err := readSlurm(nodes, jobs); err == nil {
				return r, nil
			}
			return readUnread(nodes, jobs)
		},
		Check: func(t *testing.T, r *Result) { written(t, r) },
	},
		two(slurmList("nodes", slurmNodeOf("n1", "gpu:a100:4(S:0-1)", `["MIXED","DRAIN"]`)), slurmList("jobs",
			slurmJobOf(1, "RUNNING", holds(2, "n1", `"gpu:a100:2(IDX:0,3)"`)), slurmJobOf(7, "PENDING", asks(1, 1, "")+`,"array_task_string":"1,4-8:2%2"`))),
		two(slurmList("nodes", slurmNodeOf("n1", "gpu:(null):4,shard:8", `"DOWN*+DRAIN"`))+slurmList("nodes", slurmNodeOf("n2", "gpu:t4:no_consume:1", `["IDLE"]`)),
			slurmList("jobs", slurmJobOf(1, "RUNNING", `,"job_resources":{"nodes":{"list":"n[1-2]"}},"tres_per_task":"gres/gpu=1","tasks":3`),
				slurmJobOf(2, "RUNNING", `,"nodes":"n1","tres_per_node":"gres/shard:3"`), slurmJobOf(3, "SINGING", `,"batch_host":"n2","hold":true,"priority":0`))),
	)
}
