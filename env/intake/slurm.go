package intake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/slurmtext"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// Slurm reads what scontrol show nodes --json and squeue --json print.
type Slurm struct {
	LimitAsEstimate bool  // whether a job's time limit counts as its estimate
	AllowUnread     bool  // whether a running job that cannot be read holds its nodes; else it is an error
	MaxBytes        int64 // of each file
	Clock
}

// slurmCluster is the nodes with GPUs of a Slurm cluster, and its jobs.
type slurmCluster struct {
	*Slurm
	told       notes
	nodes      []slurmNode       // with GPUs, by name
	known      map[string]bool   // the names of all nodes, with or without GPUs
	partitions map[string]string // those whose jobs Slurm does not start, with their state
	servers    []server
	ids        map[string]cluster.ServerID
	held       []int64 // GPUs that jobs hold, by server
	shared     []int64 // GPUs that jobs share by shards or MPS, by server
	largest    int64   // GPUs of the largest server
	queue      []slurmJob
	titles     map[string]bool // of the jobs so far
	running    []*slurmJob
	unread     []unreadJob
	ranked     []string       // waiting jobs with a priority
	priorities map[int64]bool // theirs
	jobs       []job
	where      map[string]*cluster.ServerSet
	sets       cluster.ServerSets
	budget     int // hosts and indices that may still be read
}

// mostExpanded is the most hosts and GPU indices that all compressed lists together may contain.
const mostExpanded = 1 << 21

// Read returns the State of the nodes and jobs in two files. Nodes without GPUs are left out, and so are jobs that have ended.
// Jobs that run without GPUs count by the CPU and memory that they use up on their nodes.
func (c *Slurm) Read(nodes, jobs File) (*Result, error) {
	k := &slurmCluster{
		Slurm: c, known: map[string]bool{}, partitions: map[string]string{}, ids: map[string]cluster.ServerID{},
		titles: map[string]bool{}, priorities: map[int64]bool{}, where: map[string]*cluster.ServerSet{}, sets: cluster.ServerSets{},
		budget: mostExpanded,
	}
	if err := nodes.read(c.MaxBytes, &k.told, &slurmLists, k, k.readNodes); err != nil {
		return nil, err
	}
	if len(k.nodes) == 0 {
		return nil, fmt.Errorf("%s: %d nodes, none with the generic resource gpu, want at least one", nodes.Name, len(k.known))
	}
	k.addServers()
	if err := jobs.read(c.MaxBytes, &k.told, &slurmLists, k, k.readJobs); err != nil {
		return nil, err
	}
	for i := range k.queue {
		k.addJob(&k.queue[i])
	}
	k.addAllRunning()
	if err := k.addUnread(); err != nil {
		return nil, fmt.Errorf("%s: %w", jobs.Name, err)
	}
	k.addUse()
	if len(k.priorities) > 1 {
		for _, title := range k.ranked {
			k.told.add("waiting jobs with different priorities, which a snapshot does not keep", title)
		}
	}
	state, err := build(k.servers, k.jobs, nil, c.Clock, &k.told)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", nodes.Name, jobs.Name, err)
	}
	return &Result{state, k.told}, nil
}

// spend counts what a compressed list has expanded to.
func (k *slurmCluster) spend(r *strictjson.Reader, n int) {
	if k.budget -= n; k.budget < 0 {
		r.Bad("", "this list", fmt.Sprintf("at most %d hosts, tasks and GPU indices in all lists together", mostExpanded))
	}
}

func (k *slurmCluster) readJobs(r *strictjson.Reader) {
	for _, item := range listed(r, "jobs", besides, k.readBesides(r)) {
		r.Return(item.path, item.at)
		j := readSlurmJob(r)
		expanded := len(j.Nodes)
		for _, d := range j.Details {
			for _, g := range d.Resources {
				expanded += len(g.Indices)
			}
		}
		k.spend(r, expanded)
		if r.Err() == nil && j.ID == 0 {
			r.Bad("job_id", "missing or 0", "the number of the job")
		}
		if r.Err() != nil {
			return
		}
		k.queue = append(k.queue, j)
	}
}

// besides are the lists that may stand beside those of nodes and of jobs.
var besides = []string{"errors", "partitions"}

// readBesides returns a function that reads these lists: what Slurm could not tell, and the states of partitions.
func (k *slurmCluster) readBesides(r *strictjson.Reader) func(i int) {
	return func(i int) {
		list(r, func(int) {
			if besides[i] == "errors" {
				k.readError(r)
			} else {
				k.readPartition(r)
			}
		})
	}
}

func (k *slurmCluster) readError(r *strictjson.Reader) {
	var of struct {
		What string `slurm:"error|description,last"`
	}
	r.Struct(&of)
	what := cmp.Or(of.What, "an error without a description")
	k.told.add("errors in the input, by which nodes or jobs may be missing from it", cut(what))
}

// readPartition reads a partition as scontrol show partitions --json prints it.
func (k *slurmCluster) readPartition(r *strictjson.Reader) {
	var of struct {
		Name  string   `slurm:"name,name"`
		State []string `slurm:"state,states"`
		Own   struct {
			State []string `slurm:"state,states"`
		} `slurm:"partition"`
	}
	r.Struct(&of)
	for _, s := range slices.Concat(of.State, of.Own.State) { // a partition that drains starts the jobs that it has
		if s == "DOWN" || s == "INACTIVE" {
			k.partitions[of.Name] = s
		}
	}
}

// places returns the servers that a job accepts: those of its partitions that it does not exclude and that have the feature that
// it asks for. nil stands for all.
func (k *slurmCluster) places(j *slurmJob, title string) *cluster.ServerSet {
	feature := j.Features
	if feature != "" && !plainWord(feature) {
		k.told.add("jobs with an expression of features, which is not kept", title+" asks for "+cut(feature))
		feature = ""
	}
	if j.MustBeOn != "" && len(j.Nodes) == 0 {
		k.told.add("waiting jobs that require certain nodes, which is not kept", title+" requires "+cut(j.MustBeOn))
	}
	key := fmt.Sprintf("%q %q %q", j.Partitions, j.Excluded, feature)
	set, known := k.where[key]
	if known {
		return set
	}
	if len(k.where) >= mostConstraints {
		k.told.add(fmt.Sprintf("jobs with partitions, features or excluded nodes beyond the first %d different ones, not kept",
			mostConstraints), title)
		return nil
	}
	excluded, err := slurmtext.ExpandHosts(j.Excluded, cluster.MaxServers)
	if err != nil {
		k.told.add("jobs whose excluded nodes are not understood, which is not kept", title+" wants "+err.Error())
	}
	barred := map[string]bool{}
	for _, name := range excluded {
		barred[name] = true
	}
	set = cluster.NewServerSet(len(k.nodes))
	all := true
	for i := range k.nodes {
		n := &k.nodes[i]
		ok := len(j.Partitions) == 0 ||
			slices.ContainsFunc(j.Partitions, func(p string) bool { return slices.Contains(n.Partitions, p) })
		if ok = ok && !barred[n.Name] && (feature == "" || slices.Contains(n.Features, feature)); ok {
			set.Add(cluster.ServerID(i))
		}
		all = all && ok
	}
	if set = k.sets.Of(set); all {
		set = nil
	}
	k.where[key] = set
	return set
}

// plainWord reports whether an expression of features is the name of one.
func plainWord(s string) bool { return !strings.ContainsAny(s, "&|[]()*!,@:") }
