package intake

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// slurmNode is a node as scontrol show nodes --json prints it.
type slurmNode struct {
	name                          string
	cpus, memMiB, effective, kept int64 // kept: MiB for Slurm's own daemons
	states, partitions, features  []string
	gres, used                    []gres
}

func readSlurmNode(r *strictjson.Reader) (n slurmNode) {
	object(r, []string{
		"name", "cpus", "effective_cpus", "real_memory", "specialized_memory", "state", "partitions", "active_features", "gres",
		"gres_used",
	}, func(field string) {
		switch field {
		case "name":
			if n.name = name(r); n.name == "" {
				r.Refuse("the name of the node")
			}
		case "cpus":
			n.cpus = number(r)
		case "effective_cpus":
			n.effective = number(r)
		case "real_memory":
			n.memMiB = number(r)
		case "specialized_memory":
			n.kept = number(r)
		case "state":
			n.states = words(r)
		case "partitions":
			n.partitions = words(r)
		case "active_features":
			n.features = words(r)
		case "gres":
			n.gres = resources(r)
		case "gres_used":
			n.used = resources(r)
		}
	})
	n.cpus = cmp.Or(n.effective, n.cpus)
	return n
}

// slurmJob is a job as squeue --json prints it.
type slurmJob struct {
	id, array, task, het         int64
	hasTask                      bool
	tasks                        string // waiting tasks of an array, such as 1-9:2%4
	user, account, reason        string
	states, partitions           []string
	submit, start, limit         int64 // seconds of Unix time, minutes
	nodeCount                    int64
	asks, holds                  tres
	perNode                      []gres
	details                      [][]gres // by node
	nodes                        []string
	features, excluded, mustBeOn string
}

func readSlurmJob(r *strictjson.Reader) (j slurmJob) {
	object(r, []string{
		"job_id", "array_job_id", "array_task_id", "array_task_string", "het_job_id", "user_name", "account", "partition", "job_state",
		"state_reason", "submit_time", "start_time", "time_limit", "node_count", "tres_req_str", "tres_alloc_str", "tres_per_node",
		"gres_detail", "nodes", "features", "excluded_nodes", "required_nodes",
	}, func(field string) {
		switch field {
		case "job_id":
			j.id = number(r)
		case "array_job_id":
			j.array = number(r)
		case "array_task_id":
			j.task, j.hasTask = maybe(r)
		case "array_task_string":
			j.tasks = text(r)
		case "het_job_id":
			j.het = number(r)
		case "user_name":
			j.user = name(r)
		case "account":
			j.account = name(r)
		case "partition":
			j.partitions = words(r)
		case "job_state":
			j.states = words(r)
		case "state_reason":
			j.reason = name(r)
		case "submit_time":
			j.submit = number(r)
		case "start_time":
			j.start = number(r)
		case "time_limit":
			j.limit = number(r)
		case "node_count":
			j.nodeCount = number(r)
		case "tres_req_str":
			j.asks = parsed(r, parseTres)
		case "tres_alloc_str":
			j.holds = parsed(r, parseTres)
		case "tres_per_node":
			j.perNode = resources(r)
		case "gres_detail":
			list(r, func(int) { j.details = append(j.details, resources(r)) })
		case "nodes":
			j.nodes = parsed(r, hosts)
		case "features":
			j.features = text(r)
		case "excluded_nodes":
			j.excluded = strings.Join(words(r), ",")
		case "required_nodes":
			j.mustBeOn = strings.Join(words(r), ",")
		}
	})
	return j
}

// Slurm's marks for numbers that are not set.
const (
	noValue  = 1<<32 - 2
	infinite = 1<<32 - 1
)

// number reads a number from 0 on, which is plain or an object of set, infinite and number. One that is not set is 0.
func number(r *strictjson.Reader) int64 {
	n, _ := maybe(r)
	return n
}

// maybe is number, and reports whether the number is set.
func maybe(r *strictjson.Reader) (n int64, set bool) {
	const most = 1 << 53 // what every JSON reader can represent
	if r.Null() {
		return 0, false
	}
	if v := r.Numeral(); v != nil {
		x, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil || x < 0 || x > most {
			r.Refuse(fmt.Sprintf("a whole number from 0 to %d", int64(most)))
			return 0, false
		}
		return x, x != noValue && x != infinite
	}
	endless := false
	r.Fields([]string{"set", "infinite", "number"}, 0, func(field int) {
		switch field {
		case 0:
			set = r.Flag()
		case 1:
			endless = r.Flag()
		case 2:
			n = r.Number(0, most)
		}
	})
	if set = set && !endless; !set {
		n = 0
	}
	return n, set
}

// words reads a list of texts, or one text with commas outside brackets.
func words(r *strictjson.Reader) (all []string) {
	if r.Null() {
		return nil
	}
	if s, ok := r.String(longestText); ok {
		for _, one := range split(s) {
			if one != "" {
				all = append(all, one)
			}
		}
		return all
	}
	r.List(mostEntries, func(int) { all = append(all, name(r)) })
	return all
}

func hosts(s string) ([]string, error) { return expandHosts(s, cluster.MaxServers) }

func resources(r *strictjson.Reader) []gres { return parsed(r, parseGres) }

// parsed reads a text with the function parse. Null reads as an empty text.
func parsed[T any](r *strictjson.Reader, parse func(string) (T, error)) T {
	v, err := parse(text(r))
	if err != nil {
		r.Refuse(err.Error())
	}
	return v
}
