package intake

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/slurmtext"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// slurmJob is a job as squeue --json prints it.
type slurmJob struct {
	ID          int64               `slurm:"job_id,number"`
	Array       int64               `slurm:"array_job_id,number"`
	Task        optional            `slurm:"array_task_id,maybe"`
	Tasks       string              `slurm:"array_task_string,text"` // waiting tasks of an array, such as 1-9:2%4
	Het         int64               `slurm:"het_job_id,number"`
	User        string              `slurm:"user_name,name"`
	Account     string              `slurm:"account,name"`
	Partitions  []string            `slurm:"partition,words"`
	States      []string            `slurm:"job_state,states"`
	Reason      string              `slurm:"state_reason,reason"`
	Submit      int64               `slurm:"submit_time,number"` // seconds of Unix time
	Start       int64               `slurm:"start_time,number"`
	Limit       int64               `slurm:"time_limit,number"` // minutes
	NodeCount   int64               `slurm:"node_count,number"`
	Asks        slurmtext.Amounts   `slurm:"tres_req_str,amounts"`
	Holds       slurmtext.Amounts   `slurm:"tres_alloc_str,amounts"`
	PerNode     slurmtext.Amounts   `slurm:"tres_per_node,amounts"`
	Details     []slurmtext.Amounts `slurm:"gres_detail,details"` // by node
	Nodes       []string            `slurm:"nodes,hosts"`
	Features    string              `slurm:"features,joined"`
	Excluded    string              `slurm:"excluded_nodes,list"`
	MustBeOn    string              `slurm:"required_nodes,list"`
	PerJob      slurmtext.Amounts   `slurm:"tres_per_job,amounts"`
	PerTask     slurmtext.Amounts   `slurm:"tres_per_task,amounts"`
	PerSocket   slurmtext.Amounts   `slurm:"tres_per_socket,amounts"`
	TaskCount   int64               `slurm:"tasks,number"`
	Sockets     int64               `slurm:"sockets_per_node,number"`
	Priority    optional            `slurm:"priority,maybe"` // 0: held
	Hold        bool                `slurm:"hold"`
	Allocated   allocated           `slurm:"job_resources,nodes"`
	BatchHost   []string            `slurm:"batch_host,hosts"`
	Reservation string              `slurm:"resv_name,name"`

	silent   bool  // it says neither what it holds nor what it asked for
	detailed int64 // GPUs in details, 0 unless they name each node
}

// allocated is the names of the nodes that job_resources lists.
type allocated []string

func readSlurmJob(r *strictjson.Reader) (j slurmJob) {
	r.Struct(&j)
	nodes := []string(j.Allocated)
	if len(nodes) == 0 {
		nodes = j.BatchHost
	}
	if len(j.Nodes) == 0 && (len(nodes) > 1 || j.NodeCount <= 1) {
		j.Nodes = nodes
	}
	if once := slices.Compact(slices.Sorted(slices.Values(j.Nodes))); len(once) < len(j.Nodes) {
		j.Nodes, j.Details = once, nil
	}
	if len(j.Details) == len(j.Nodes) {
		for i := range j.Details {
			n, _, _ := j.Details[i].GPUs()
			j.detailed += n
		}
	}
	j.silent = len(j.Details) == 0 && !slices.ContainsFunc(
		[]slurmtext.Amounts{j.Asks, j.Holds, j.PerJob, j.PerNode, j.PerSocket, j.PerTask},
		func(a slurmtext.Amounts) bool { return a.CPUMilli > 0 || a.MemBytes > 0 || len(a.Resources) > 0 })
	return j
}

// gresDetail reads what a job holds on each of its nodes: a list, or one text for a single node.
func gresDetail(r *strictjson.Reader) (all []slurmtext.Amounts) {
	take := func(s string) {
		one, err := slurmtext.Parse(s, cluster.MaxGPUs)
		if err != nil {
			r.Refuse(err.Error())
		}
		all = append(all, one)
	}
	if s, ok := r.String(longestText); ok {
		take(s)
		return all
	}
	r.List(cluster.MaxServers, func(int) { take(text(r)) })
	return all
}

// readAllocated reads job_resources: its field nodes is the list of nodes, or an object that contains it.
func readAllocated(r *strictjson.Reader, to *allocated) {
	var list string
	take := func(int) { list = textOrList(r) }
	r.Fields([]string{"nodes"}, 0, func(int) {
		if s, ok := r.String(longestText); ok {
			list = s
		} else if !r.Null() {
			r.Fields([]string{"list"}, 0, take)
		}
		all, err := slurmtext.ExpandHosts(list, cluster.MaxServers)
		if err != nil {
			r.Refuse(err.Error())
		}
		*to = all
	})
}

// reasonOf returns the reason in text such as "ReqNodeNotAvail, UnavailableNodes:n1".
func reasonOf(s string) string {
	s, _, _ = strings.Cut(strings.Trim(strings.TrimSpace(s), "()"), ",")
	return s
}

// requested returns the GPUs that the job asks for in all, and how many of them at least must be on one node.
func (j *slurmJob) requested() (gpus, together int64, kind string) {
	nodes := max(j.NodeCount, int64(len(j.Nodes)))
	gpus, kind, _ = j.Asks.GPUs()
	perJob, kindPerJob, _ := j.PerJob.GPUs()
	perNode, kindPerNode, _ := j.PerNode.GPUs()
	perTask, kindPerTask, _ := j.PerTask.GPUs()
	perSocket, kindPerSocket, _ := j.PerSocket.GPUs()
	const mostGPUs, mostNodes, mostSockets = cluster.MaxServers * cluster.MaxGPUs, cluster.MaxServers, 1 << 10
	times := func(gpus, n, most int64) int64 { return min(gpus, mostGPUs) * min(max(n, 1), most) } // without overflow
	gpus = cmp.Or(gpus, perJob, times(perNode, nodes, mostNodes), times(perTask, j.TaskCount, mostNodes),
		times(times(perSocket, j.Sockets, mostSockets), nodes, mostNodes))
	return gpus, cmp.Or(perNode, perTask), cmp.Or(kind, kindPerJob, kindPerNode, kindPerTask, kindPerSocket)
}

// title returns the name by which Slurm's tools call the job.
func (j *slurmJob) title() string {
	if j.Array > 0 && j.Task.set {
		return fmt.Sprintf("%d_%d", j.Array, j.Task.n)
	}
	return strconv.FormatInt(j.ID, 10)
}

func (j *slurmJob) is(states []string) bool {
	return slices.ContainsFunc(j.States, func(s string) bool { return slices.Contains(states, s) })
}
