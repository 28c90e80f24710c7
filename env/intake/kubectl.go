package intake

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// Kubectl reads what kubectl get nodes,pods,podgroups -A -o json prints: lists and single objects, one or several. It also reads
// the queues and Workloads of Kueue.
type Kubectl struct {
	GPU                  string // the resource that counts GPUs
	TypeLabel, RackLabel string // labels of nodes: the type of their GPUs and their rack; "" for none
	AllowUnread          bool   // go on although a running pod cannot be read
	MaxBytes             int64  // of each file
	Clock
}

// kubeCluster is the objects of a Kubernetes cluster.
type kubeCluster struct {
	*Kubectl
	told    notes
	nodes   map[string]*node
	pods    []*pod // those with GPUs that have succeeded, or belong to gangs
	leaving []*pod // those with GPUs that are being deleted, on their nodes
	away    []*pod // those with GPUs on nodes that are not in the input
	helpers []*pod // those without GPUs
	groups  map[pods.Key]*pods.Object
	rest    []*pod          // those without GPUs that run
	owners  map[string]meta // of what owns pods, by uid
	marks   []taint         // that mark nodes with GPUs
	kinds   int             // of GPUs
	titles  map[string]bool // of all pods
	read    map[string]int  // objects by kind
	kueue   kueue
	label   func(key string) bool // which labels of the object that is read are kept
	// What a snapshot cannot contain: pods that ask for devices by resource claims, devices that drivers have for such claims,
	// and running pods of which it is not known where.
	claiming []string
	drivers  map[string]int
	lost     []string
}

// Read returns the State of the nodes, pods and groups in the files. Nodes without GPUs are left out, and so are pods that have
// ended. Pods without GPUs count by the CPU and memory that they use up on their nodes.
func (c *Kubectl) Read(files ...File) (*Result, error) {
	k := &kubeCluster{Kubectl: c, nodes: map[string]*node{}, groups: map[pods.Key]*pods.Object{}, titles: map[string]bool{},
		drivers: map[string]int{}, owners: map[string]meta{}, read: map[string]int{},
		kueue: kueue{queues: map[string]*clusterQueue{}, cohorts: map[string]*clusterQueue{}, flavors: map[string]*flavor{},
			local: map[[2]string]string{}, stopped: map[[2]string]string{}, owners: map[string]*workload{}}}
	for i := range files {
		if err := files[i].read(c.MaxBytes, &k.told, &kubeObjects, k, k.readText); err != nil {
			return nil, err
		}
	}
	state, err := k.state()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", joined(files), err)
	}
	return &Result{state, k.told}, nil
}

func joined(files []File) string {
	var all []string
	for i := range files {
		all = append(all, files[i].Name)
	}
	return strings.Join(all, ", ")
}

func (k *kubeCluster) addNode(r *strictjson.Reader) {
	n := readNode(r)
	if k.nodes[n.Name] != nil {
		r.Bad("metadata.name", n.Name, "each node once")
	}
	k.nodes[n.Name] = n
}

// state returns the State of all that was read.
func (k *kubeCluster) state() (*cluster.State, error) {
	if len(k.lost) > 0 && !k.AllowUnread {
		return nil, fmt.Errorf("%d running pods with GPUs, for example %s, do not say where: spec.nodeName is missing, want it, or "+
			"--allow-unread, with which they are left out", len(k.lost), k.lost[0])
	}
	k.told.addAll("running pods without spec.nodeName, left out: the GPUs that they hold count as free", k.lost)
	if len(k.nodes) == 0 {
		return nil, fmt.Errorf("no nodes, want the output of kubectl get nodes,pods -A -o json")
	}
	for _, p := range k.rest {
		if n := k.nodes[p.Node]; n != nil {
			n.others.add(amounts{cpuMilli: p.cpuMilli, memBytes: p.memBytes})
		}
	}
	k.pods, k.leaving = k.placed(k.pods), k.placed(k.leaving)
	k.share()
	nodes, err := k.withGPUs()
	if err != nil {
		return nil, err
	}
	where := &places{nodes: nodes, known: map[string]*cluster.ServerSet{}, sets: cluster.ServerSets{}}
	k.nameWorkloads()
	var jobs []job
	for _, g := range k.gangs() {
		jobs = append(jobs, k.jobsOf(g, where)...)
	}
	for _, p := range k.leaving {
		k.told.add("pods that are being deleted and still hold GPUs: running jobs of their own", p.title())
		g := &gang{Gang: &pods.Gang{Group: pods.Group{Key: pods.Key{API: "deleted", Namespace: p.Namespace, Name: p.Name}}}}
		jobs = k.jobOf(jobs, g, g.Title(), []*pod{p}, 1, pods.Terms{}, where)
	}
	jobs = append(jobs, k.waiting(where)...)
	rename(jobs)
	return build(k.servers(nodes), jobs, k.quotas(jobs), k.Clock, &k.told)
}
