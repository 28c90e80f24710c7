package intake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// podGroup is an object that defines a gang. least is 0 if its pods need not run together.
type podGroup struct {
	meta
	native bool // the API of Kubernetes itself; otherwise that of the scheduler-plugins project
	least  int64
}

const mostMembers = 1 << 16 // pods of a group

func readPodGroup(r *strictjson.Reader, native bool) *podGroup {
	g := &podGroup{native: native}
	count := func() int64 {
		if r.Null() {
			return 0
		}
		return r.Number(1, mostMembers)
	}
	object(r, []string{"metadata", "spec"}, func(field string) {
		if field == "metadata" {
			g.meta = readMeta(r, func(string) bool { return false })
			return
		}
		object(r, []string{"minMember", "schedulingPolicy"}, func(field string) {
			if field == "minMember" {
				g.least = count()
				return
			}
			object(r, []string{"gang"}, func(string) {
				object(r, []string{"minCount"}, func(string) { g.least = count() })
			})
		})
	})
	return g
}

// gangKey identifies a gang. Pods are a gang by the group that they name or by their owner, and otherwise each by itself.
type gangKey struct{ kind, namespace, name, uid string }

// replicas are the kinds of owners whose pods serve independently of each other.
var replicas = []string{"ReplicaSet", "ReplicationController", "DaemonSet", "StatefulSet", "Node"}

// gang is the pods that must run together.
type gang struct {
	gangKey
	group      *podGroup // nil if there is none in the input
	bound      []*pod
	free       []*pod
	terms      map[string]string // annotations of the group or of a pod
	restricted *pod              // the pod whose constraints count: the first
}

// gangOf returns the key of the pod's gang.
func (k *kubeCluster) gangOf(p *pod) gangKey {
	alone := gangKey{"Pod", p.namespace, p.name, ""}
	switch {
	case p.group != "":
		key := gangKey{"native group", p.namespace, p.group, ""}
		if g := k.groups[key]; g != nil && g.least == 0 {
			return alone
		}
		return key
	case p.labels[groupLabel] != "":
		return gangKey{"group", p.namespace, p.labels[groupLabel], ""}
	case p.owner.uid != "" && !slices.Contains(replicas, p.owner.kind):
		return gangKey{"owner", p.namespace, p.owner.name, p.owner.uid}
	case p.labels[jobLabel] != "":
		return gangKey{"owner", p.namespace, p.labels[jobLabel], ""}
	}
	return alone
}

// gangs groups the pods with GPUs, in the order of their names.
func (k *kubeCluster) gangs() (all []*gang) {
	slices.SortFunc(k.pods, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	known := map[gangKey]*gang{}
	for _, p := range k.pods {
		key := k.gangOf(p)
		g := known[key]
		if g == nil {
			g = &gang{gangKey: key, group: k.groups[key], terms: map[string]string{}, restricted: p}
			if g.group != nil {
				maps.Copy(g.terms, g.group.notes)
			}
			known[key] = g
			all = append(all, g)
		}
		for note, value := range p.notes {
			if _, said := g.terms[note]; !said {
				g.terms[note] = value
			}
		}
		if p.constraints.key() != g.restricted.constraints.key() {
			k.told.add("pods with other node constraints than the first of their gang: those of the first count", p.title())
		}
		if p.node != "" {
			g.bound = append(g.bound, p)
		} else {
			g.free = append(g.free, p)
		}
	}
	return all
}

// title is the name of the gang's job.
func (g *gang) title() string { return g.namespace + "/" + g.name }

// count returns a number of pods that users stated in an annotation, or 0.
func (g *gang) count(note string, told *notes) int64 {
	value, said := g.terms[note]
	if !said {
		return 0
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 || n > mostMembers {
		told.add(fmt.Sprintf("annotations %s that are no whole number from 1 to %d, ignored", note, mostMembers),
			fmt.Sprintf("%q of %s", value, g.title()))
		return 0
	}
	return n
}

// describe fills in what users state about the gang.
func (g *gang) describe(spec *cluster.JobSpec, told *notes) {
	spec.Tenant, spec.Model = g.namespace, g.terms[modelNote]
	if value, said := g.terms[estimateNote]; said {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > longestAge {
			told.add("annotations "+estimateNote+" that are no duration above 0 and up to 50 years, such as 90m, ignored",
				fmt.Sprintf("%q of %s", value, g.title()))
			return
		}
		spec.Estimate = d
	}
}

// least returns how many pods of the gang must run together: what its group says, or else all of them.
func (g *gang) least(told *notes) int64 {
	if g.group != nil && g.group.least > 0 {
		return g.group.least
	}
	if g.kind == "group" || g.kind == "native group" {
		if n := g.count(minMemberNote, told); n > 0 {
			return n
		}
		told.add("groups whose size neither a PodGroup in the input nor the annotation "+minMemberNote+
			" tells: all their pods are taken to run together", g.title())
	}
	return int64(len(g.bound) + len(g.free))
}

// ask returns what each worker of some pods requests and how many workers must be on one server.
func ask(pods []*pod, told *notes, title string) (a cluster.Amount, together int64, ok bool) {
	ok = true
	for _, p := range pods {
		one, fits := perGPU(p.cpuMilli, p.memBytes, p.gpus)
		ok = ok && fits
		a.GPUMilli, a.CPUMilli, a.MemMiB = one.GPUMilli, max(a.CPUMilli, one.CPUMilli), max(a.MemMiB, one.MemMiB)
		together = gcd(p.gpus, together)
	}
	if slices.ContainsFunc(pods, func(p *pod) bool { return p.gpus != together }) {
		told.add("gangs whose pods ask for different numbers of GPUs: only their largest common divisor is kept on one server", title)
	}
	return a, together, ok
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
