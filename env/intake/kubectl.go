package intake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// Kubectl reads what kubectl get nodes,pods,podgroups -A -o json prints, in one list or several. It also reads the queues and
// Workloads of Kueue.
type Kubectl struct {
	GPU                  string // the resource that counts GPUs
	TypeLabel, RackLabel string // labels of nodes: the type of their GPUs and their rack; "" for none
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
	helpers []*pod // those without GPUs
	groups  map[pods.Key]*pods.Object
	rest    []*pod          // those without GPUs that run
	owners  map[string]meta // of what owns pods, by uid
	named   map[[3]string]*workload
	titles  map[string]bool // of all pods
	kueue   kueue
}

// Read returns the State of the nodes, pods and groups in the files. Nodes without GPUs are left out, and so are pods that have
// ended. Pods without GPUs count by the CPU and memory that they use up on their nodes.
func (c *Kubectl) Read(files ...File) (*Result, error) {
	k := &kubeCluster{Kubectl: c, nodes: map[string]*node{}, groups: map[pods.Key]*pods.Object{}, titles: map[string]bool{},
		owners: map[string]meta{},
		kueue:  kueue{queues: map[string]*clusterQueue{}, local: map[[2]string]string{}, owners: map[string]*workload{}}}
	for i := range files {
		if err := files[i].read(c.MaxBytes, &k.told, k.readList); err != nil {
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

// readList reads a list of objects. A list of one kind need not repeat it in its items.
func (k *kubeCluster) readList(r *strictjson.Reader) {
	common := ""
	items := elements(r, "items", []string{"kind"}, func(int) { common = name(r) })
	for _, item := range items {
		kind, version := "", ""
		r.Return(item.path, item.at)
		object(r, []string{"kind", "apiVersion"}, func(field string) {
			if field == "kind" {
				kind = name(r)
			} else {
				version = name(r)
			}
		})
		r.Return(item.path, item.at)
		switch kind = cmp.Or(kind, strings.TrimSuffix(common, "List")); {
		case kind == "Node":
			k.addNode(r)
		case kind == "Pod":
			k.addPod(r)
		case kind == "PodGroup":
			k.addGroup(r, version)
		case kind == "ClusterQueue" && isKueue(version):
			k.readClusterQueue(r)
		case kind == "LocalQueue" && isKueue(version):
			k.readLocalQueue(r)
		case kind == "Workload" && isKueue(version):
			k.readWorkload(r)
		case slices.Contains(owningKinds, kind):
			k.addOwner(r)
		default:
			k.told.add("objects of other kinds than Node, Pod, PodGroup and those of Kueue, ignored", cmp.Or(kind, "one without a kind"))
		}
		if r.Err() != nil {
			return
		}
	}
}

func (k *kubeCluster) addNode(r *strictjson.Reader) {
	n := k.readNode(r)
	if k.nodes[n.name] != nil {
		r.Bad("metadata.name", n.name, "each node once")
	}
	k.nodes[n.name] = n
}

// state returns the State of all that was read.
func (k *kubeCluster) state() (*cluster.State, error) {
	if len(k.nodes) == 0 {
		return nil, fmt.Errorf("no nodes, want the output of kubectl get nodes,pods -A -o json")
	}
	for _, p := range k.rest {
		if n := k.nodes[p.node]; n != nil {
			n.others.add(amounts{cpuMilli: p.cpuMilli, memBytes: p.memBytes})
		}
	}
	k.pods, k.leaving = k.placed(k.pods), k.placed(k.leaving)
	k.share()
	where := &places{known: map[string]*cluster.ServerSet{}, sets: cluster.ServerSets{}}
	for _, name := range slices.Sorted(maps.Keys(k.nodes)) {
		n := k.nodes[name]
		if n.gpus > n.has.gpus {
			k.told.add("nodes whose pods hold more GPUs than are allocatable: they are taken to have as many as are held", name)
		}
		if n.gpus = max(n.gpus, n.has.gpus); n.gpus > cluster.MaxGPUs {
			return nil, fmt.Errorf("pods on node %s hold %d GPUs, want at most %d", name, n.gpus, cluster.MaxGPUs)
		}
		if n.gpus > 0 {
			n.id = cluster.ServerID(len(where.nodes))
			where.nodes = append(where.nodes, n)
		}
	}
	if len(where.nodes) == 0 {
		return nil, fmt.Errorf("%d nodes, none with allocatable %s, want at least one", len(k.nodes), k.GPU)
	}
	k.nameWorkloads()
	var jobs []job
	for _, g := range k.gangs() {
		jobs = append(jobs, k.jobsOf(g, where)...)
	}
	for _, p := range k.leaving {
		k.told.add("pods that are being deleted and still hold GPUs: running jobs of their own", p.title())
		g := &gang{Gang: &pods.Gang{Group: pods.Group{Key: pods.Key{API: "deleted", Namespace: p.namespace, Name: p.name}}}}
		jobs = k.jobOf(jobs, g, g.Title(), []*pod{p}, 1, pods.Terms{}, where)
	}
	jobs = append(jobs, k.waiting(where)...)
	rename(jobs)
	return build(k.servers(where.nodes), jobs, k.quotas(jobs), k.Clock, &k.told)
}
