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
	id, array, task, het         int64
	hasTask                      bool
	tasks                        string // waiting tasks of an array, such as 1-9:2%4
	user, account, reason        string
	states, partitions           []string
	reservation                  string
	hold, ranked                 bool  // ranked: priority is set
	priority                     int64 // 0: held
	submit, start, limit         int64 // seconds of Unix time, minutes
	nodeCount, taskCount         int64
	sockets                      int64 // of each node
	silent                       bool  // it says neither what it holds nor what it asked for
	asks, holds                  slurmtext.Amounts
	perJob, perNode              slurmtext.Amounts
	perSocket, perTask           slurmtext.Amounts
	details                      []slurmtext.Amounts // by node
	detailed                     int64               // GPUs in details, 0 unless they name each node
	nodes                        []string
	features, excluded, mustBeOn string
}

// slurmJobFields are the fields of a job that are read.
var slurmJobFields = []string{
	"job_id", "array_job_id", "array_task_id", "array_task_string", "het_job_id", "user_name", "account", "partition", "job_state",
	"state_reason", "submit_time", "start_time", "time_limit", "node_count", "tres_req_str", "tres_alloc_str", "tres_per_node",
	"gres_detail", "nodes", "features", "excluded_nodes", "required_nodes", "tres_per_job", "tres_per_task", "tres_per_socket",
	"tasks", "sockets_per_node", "priority", "hold", "job_resources", "batch_host", "resv_name",
}

func readSlurmJob(r *strictjson.Reader) (j slurmJob) {
	var allocated []string // nodes, as job_resources and batch_host name them
	object(r, slurmJobFields, func(field string) {
		switch field {
		case "user_name":
			j.user = name(r)
		case "account":
			j.account = name(r)
		case "partition":
			j.partitions = words(r)
		case "job_state":
			j.states = states(r)
		case "state_reason":
			j.reason = reasonOf(text(r))
		case "features":
			j.features = textOrList(r)
		case "excluded_nodes":
			j.excluded = strings.Join(words(r), ",")
		case "required_nodes":
			j.mustBeOn = strings.Join(words(r), ",")
		case "resv_name":
			j.reservation = name(r)
		case "array_task_string":
			j.tasks = text(r)
		case "nodes":
			j.nodes = hosts(r)
		case "job_resources":
			if all := allocatedNodes(r); len(all) > 0 {
				allocated = all
			}
		case "batch_host":
			if all := hosts(r); len(allocated) == 0 {
				allocated = all
			}
		case "hold":
			j.hold = !r.Null() && r.Flag()
		default:
			j.readNumber(r, field)
		}
	})
	if len(j.nodes) == 0 && (len(allocated) > 1 || j.nodeCount <= 1) {
		j.nodes = allocated
	}
	if once := slices.Compact(slices.Sorted(slices.Values(j.nodes))); len(once) < len(j.nodes) {
		j.nodes, j.details = once, nil
	}
	if len(j.details) == len(j.nodes) {
		for i := range j.details {
			n, _, _ := j.details[i].GPUs()
			j.detailed += n
		}
	}
	j.silent = len(j.details) == 0 && !slices.ContainsFunc(
		[]slurmtext.Amounts{j.asks, j.holds, j.perJob, j.perNode, j.perSocket, j.perTask},
		func(a slurmtext.Amounts) bool { return a.CPUMilli > 0 || a.MemBytes > 0 || len(a.Resources) > 0 })
	return j
}

// readNumber reads a field with a number or an amount.
func (j *slurmJob) readNumber(r *strictjson.Reader, field string) {
	switch field {
	case "job_id":
		j.id = number(r)
	case "array_job_id":
		j.array = number(r)
	case "array_task_id":
		j.task, j.hasTask = maybe(r)
	case "het_job_id":
		j.het = number(r)
	case "submit_time":
		j.submit = number(r)
	case "start_time":
		j.start = number(r)
	case "time_limit":
		j.limit = number(r)
	case "node_count":
		j.nodeCount = number(r)
	case "tasks":
		j.taskCount = number(r)
	case "sockets_per_node":
		j.sockets = number(r)
	case "priority":
		j.priority, j.ranked = maybe(r)
	case "tres_req_str":
		j.asks = slurmAmounts(r)
	case "tres_alloc_str":
		j.holds = slurmAmounts(r)
	case "tres_per_job":
		j.perJob = slurmAmounts(r)
	case "tres_per_node":
		j.perNode = slurmAmounts(r)
	case "tres_per_socket":
		j.perSocket = slurmAmounts(r)
	case "tres_per_task":
		j.perTask = slurmAmounts(r)
	case "gres_detail":
		j.details = gresDetail(r)
	}
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
	if r.Null() {
		return nil
	}
	if s, ok := r.String(longestText); ok {
		take(s)
		return all
	}
	r.List(cluster.MaxServers, func(int) { take(text(r)) })
	return all
}

// allocatedNodes reads the names of the nodes in job_resources: nodes is their list or an object that contains it.
func allocatedNodes(r *strictjson.Reader) (all []string) {
	object(r, []string{"nodes"}, func(string) {
		s, ok := r.String(longestText)
		if !ok {
			object(r, []string{"list"}, func(string) { s = textOrList(r) })
		}
		var err error
		if all, err = slurmtext.ExpandHosts(s, cluster.MaxServers); err != nil {
			r.Refuse(err.Error())
		}
	})
	return all
}

// reasonOf returns the reason in text such as "ReqNodeNotAvail, UnavailableNodes:n1".
func reasonOf(s string) string {
	s, _, _ = strings.Cut(strings.Trim(strings.TrimSpace(s), "()"), ",")
	return s
}

// requested returns the GPUs that the job asks for in all, and how many of them at least must be on one node.
func (j *slurmJob) requested() (gpus, together int64, kind string) {
	nodes := max(j.nodeCount, int64(len(j.nodes)))
	gpus, kind, _ = j.asks.GPUs()
	perJob, kindPerJob, _ := j.perJob.GPUs()
	perNode, kindPerNode, _ := j.perNode.GPUs()
	perTask, kindPerTask, _ := j.perTask.GPUs()
	perSocket, kindPerSocket, _ := j.perSocket.GPUs()
	const mostGPUs, mostNodes, mostSockets = cluster.MaxServers * cluster.MaxGPUs, cluster.MaxServers, 1 << 10
	times := func(gpus, n, most int64) int64 { return min(gpus, mostGPUs) * min(max(n, 1), most) } // without overflow
	gpus = cmp.Or(gpus, perJob, times(perNode, nodes, mostNodes), times(perTask, j.taskCount, mostNodes),
		times(times(perSocket, j.sockets, mostSockets), nodes, mostNodes))
	return gpus, cmp.Or(perNode, perTask), cmp.Or(kind, kindPerJob, kindPerNode, kindPerTask, kindPerSocket)
}

// title returns the name by which Slurm's tools call the job.
func (j *slurmJob) title() string {
	if j.array > 0 && j.hasTask {
		return fmt.Sprintf("%d_%d", j.array, j.task)
	}
	return strconv.FormatInt(j.id, 10)
}

func (j *slurmJob) is(states []string) bool {
	return slices.ContainsFunc(j.states, func(s string) bool { return slices.Contains(states, s) })
}
