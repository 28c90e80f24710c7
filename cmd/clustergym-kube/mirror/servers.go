package mirror

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/names"
)

// The limits of a cluster.Spec.
const (
	mostGPUs  = 1 << 24 // GPUs of all servers
	mostTypes = 16      // GPU types, including the unknown type
)

// server is a node in the State.
type server struct {
	spec   cluster.ServerSpec
	node   *corev1.Node // nil for a node that is gone but still has pods
	closed bool         // takes no new pods
	onLoan bool
	free   int64  // GPUs that running gangs do not use
	held   int64  // GPUs that running gangs use
	empty  amount // what would be free without pods that come and go; zero if closed
}

// order sorts the jobs by submission and gives each job a unique name.
func (b *builder) order() {
	at := make([]int, len(b.plans))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int {
		p, q := &b.plans[i], &b.plans[j]
		return cmp.Or(p.created.Compare(q.created), cmp.Compare(p.Namespace, q.Namespace), cmp.Compare(p.Name, q.Name),
			cmp.Compare(p.API, q.API))
	})
	jobs, plans := make([]Job, 0, len(at)), make([]plan, 0, len(at))
	named := map[string]bool{}
	for _, i := range at {
		job, p := b.view.Jobs[i], b.plans[i]
		for n := 1; named[job.Spec.Name]; n++ {
			job.Spec.Name = pods.JobName(p.Title(), p.API+strings.Repeat("'", n-1))
		}
		if job.Running && !b.reserve(&job, &p) {
			b.refuse(slices.Concat(job.Bound, job.Free), faultf(reasonOvercommitted,
				"its pods hold more GPUs than nodes can have, want at most %d on each and %d in all", cluster.MaxGPUs, mostGPUs/2))
			b.takeAll(job.Bound)
			continue
		}
		named[job.Spec.Name] = true
		jobs, plans = append(jobs, job), append(plans, p)
	}
	b.view.Jobs, b.plans = jobs, plans
	slices.SortStableFunc(b.view.Refused, func(x, y Refusal) int { return ByName(x.Pod, y.Pod) })
}

// reserve adds what a running gang uses to the loads of its nodes. It returns false if no State could contain the gang, which
// happens because pods may set their node themselves.
func (b *builder) reserve(job *Job, p *plan) bool {
	all := b.held
	for _, q := range p.pieces {
		gpus := int64(q.pods) * int64(job.PodGPUs)
		all += gpus
		if !names.OK(q.node) || b.load(q.node).held.gpus+gpus > cluster.MaxGPUs || all > mostGPUs/2 {
			return false
		}
	}
	b.held = all
	for _, q := range p.pieces {
		gpus := int64(q.pods) * int64(job.PodGPUs)
		b.load(q.node).held.add(amount{
			gpus, gpus * int64(q.amount.CPUMilli), gpus * int64(q.amount.MemMiB) * mib,
		})
	}
	return true
}

// addServers returns a server for every node with GPUs, sorted by name, and their ids by name.
func (b *builder) addServers() (servers []server, ids map[string]cluster.ServerID) {
	nodes := make(map[string]*corev1.Node, len(b.Nodes))
	for _, node := range b.Nodes {
		if node != nil && node.Name != "" && names.OK(node.Name) {
			nodes[node.Name] = node
		}
	}
	for name, l := range b.loads {
		if _, known := nodes[name]; !known && l.held.gpus > 0 {
			nodes[name] = nil
		}
	}
	left := int64(mostGPUs) - b.held
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		v, ok := b.serverOf(name, nodes[name])
		if !ok {
			continue
		}
		v.free = min(v.free, left)
		left -= v.free
		v.spec.GPUs = int32(v.held + v.free)
		servers = append(servers, v)
	}
	number(servers, func(v *server) string { return v.label(b.TypeLabel) }, mostTypes-1, func(v *server, name string, _ int32) {
		v.spec.GPUType = name
	})
	number(servers, func(v *server) string { return v.label(b.RackLabel) }, cluster.MaxRacks, func(v *server, _ string, n int32) {
		v.spec.Rack = n
	})
	if len(servers) == 0 {
		servers = []server{{spec: cluster.ServerSpec{Name: "(no node)"}, closed: true}}
	}
	ids = make(map[string]cluster.ServerID, len(servers))
	for i := range servers {
		ids[servers[i].spec.Name] = cluster.ServerID(i)
	}
	return servers, ids
}

// serverOf returns the server of a node; ok is false if the State leaves the node out.
func (b *builder) serverOf(name string, node *corev1.Node) (v server, ok bool) {
	l := b.load(name)
	v = server{spec: cluster.ServerSpec{Name: name}, node: node, closed: true, held: l.held.gpus}
	if node == nil {
		v.spec.CPUMilli, v.spec.MemMiB = l.held.cpuMilli, l.held.memBytes/mib
		return v, true
	}
	has, unlent := b.amountOf(node.Status.Allocatable), false
	if node.Labels[PoolLabel] == InferencePool {
		v.spec.Pool = cluster.Inference
		lent := node.Labels[LoanedToLabel] == TrainingPool
		v.onLoan = lent || v.held > 0
		unlent = !lent && v.held > 0 // others have bound pods there, or removed the label: inference may use the rest
	}
	if v.held == 0 && (has.gpus == 0 && !v.onLoan || v.spec.Pool == cluster.Inference && !v.onLoan && l.foreign) {
		return server{}, false
	}
	v.closed = closed(node) || unlent
	if !v.closed {
		v.empty = l.empty(node, has)
		v.free = min(max(has.gpus-l.taken.gpus-v.held, 0), cluster.MaxGPUs-v.held)
		if slots, said := node.Status.Allocatable[corev1.ResourcePods]; said { // each GPU may need a pod of its own
			v.free = min(v.free, max(clamp(slots, mostUnits)-l.pods, 0))
		}
	}
	v.spec.CPUMilli, v.spec.MemMiB = cluster.Unlimited, cluster.Unlimited
	if _, said := node.Status.Allocatable[corev1.ResourceCPU]; said {
		v.spec.CPUMilli = max(has.cpuMilli-l.taken.cpuMilli, l.held.cpuMilli)
	}
	if _, said := node.Status.Allocatable[corev1.ResourceMemory]; said {
		v.spec.MemMiB = max(has.memBytes-l.taken.memBytes, l.held.memBytes, 0) / mib
	}
	return v, true
}

// empty returns what would be free on the node if only its DaemonSet and static pods ran there.
func (l *load) empty(node *corev1.Node, has amount) amount {
	e := amount{min(max(has.gpus-l.fixed.gpus, 0), cluster.MaxGPUs), cluster.Unlimited, cluster.Unlimited}
	if slots, said := node.Status.Allocatable[corev1.ResourcePods]; said {
		e.gpus = min(e.gpus, max(clamp(slots, mostUnits)-l.stay, 0))
	}
	if _, said := node.Status.Allocatable[corev1.ResourceCPU]; said {
		e.cpuMilli = max(has.cpuMilli-l.fixed.cpuMilli, 0)
	}
	if _, said := node.Status.Allocatable[corev1.ResourceMemory]; said {
		e.memBytes = max(has.memBytes-l.fixed.memBytes, 0)
	}
	return e
}

// closed reports whether the node takes no new pods.
func closed(node *corev1.Node) bool {
	return node.Spec.Unschedulable || node.DeletionTimestamp != nil || node.Labels[ReturningLabel] == "true" || !Ready(node)
}

func (v *server) label(key string) string {
	if v.node == nil || key == "" {
		return ""
	}
	return v.node.Labels[key]
}

// number calls the function set for every server, with the server's name (as the function name returns it) and the rank of that
// name among all names, from 1. It leaves out servers whose name is "" or invalid, or has a rank above the parameter most.
func number(servers []server, name func(*server) string, most int, set func(v *server, name string, n int32)) {
	place := map[string]int32{}
	for i := range servers {
		if s := name(&servers[i]); s != "" && names.OK(s) && !strings.Contains(s, "|") {
			place[s] = 0
		}
	}
	names := slices.Sorted(maps.Keys(place))
	for i, s := range names[:min(len(names), most)] {
		place[s] = int32(i) + 1
	}
	for i := range servers {
		if s := name(&servers[i]); place[s] > 0 {
			set(&servers[i], s, place[s])
		}
	}
}

// quotas returns the GPU quotas of the namespaces that have jobs, less what other pods use there, and what is allowed to all
// pods of a namespace together.
func (b *builder) quotas() (quotas []cluster.Quota, allowed map[string]int64) {
	held := map[string]int64{}
	for i := range b.view.Jobs {
		job := &b.view.Jobs[i]
		gpus := int64(0)
		for _, p := range b.plans[i].pieces {
			gpus += int64(p.pods) * int64(job.PodGPUs)
		}
		held[job.Spec.Tenant] += gpus
	}
	allowed = map[string]int64{}
	for _, q := range b.Quotas {
		if q == nil || len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue
		}
		hard, ok := q.Spec.Hard[corev1.ResourceName("requests."+string(b.GPU))]
		if _, wanted := held[q.Namespace]; !ok || !wanted {
			continue
		}
		n := clamp(hard, math.MaxInt32)
		if before, known := allowed[q.Namespace]; known {
			n = min(n, before)
		}
		allowed[q.Namespace] = n
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		n := max(allowed[name]-b.tenants[name], held[name], 0)
		quotas = append(quotas, cluster.Quota{Tenant: name, GPUs: int32(n)})
	}
	return quotas, allowed
}
