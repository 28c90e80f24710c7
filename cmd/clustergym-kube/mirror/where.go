package mirror

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"github.com/clustergym/clustergym/env/cluster"
)

// restrict sets for every job the servers that it may use: those to which its pods may be bound, and those where it runs already.
// A node that takes no new pods is allowed only for the gangs that run there, so the State gives GPUs that they free to nobody
// else. If a job may use all servers with GPUs, restrict sets nothing.
func (b *builder) restrict() {
	sets, by := cluster.ServerSets{}, map[string]*cluster.ServerSet{}
	where := func(p *plan) *cluster.ServerSet {
		key := p.nodes + "\x00" + strings.Join(p.volumes, "\x00")
		set, ok := by[key]
		if !ok {
			set = sets.Of(b.eligible(p))
			by[key] = set
		}
		own := set
		for _, q := range p.pieces {
			if id := b.ids[q.node]; !own.Has(id) {
				if own == set {
					own = set.Clone()
				}
				own.Add(id)
			}
		}
		p.where = own
		if b.every(own) {
			return nil
		}
		return sets.Of(own)
	}
	for i := range b.plans {
		b.view.Jobs[i].Spec.Where = where(&b.plans[i])
	}
	for i := range b.view.Partial {
		b.view.Partial[i].Spec.Where = where(&b.view.Partial[i].plan)
	}
}

// every reports whether the set contains all servers with GPUs.
func (b *builder) every(set *cluster.ServerSet) bool {
	for i := range b.servers {
		if b.servers[i].spec.GPUs > 0 && !set.Has(cluster.ServerID(i)) {
			return false
		}
	}
	return true
}

// eligible returns the servers that the pods of a gang may be bound to.
func (b *builder) eligible(p *plan) *cluster.ServerSet {
	set := cluster.NewServerSet(len(b.servers))
	bars := b.bars(p)
	for i := range b.servers {
		if bars(&b.servers[i]) == "" {
			set.Add(cluster.ServerID(i))
		}
	}
	return set
}

// Reasons that keep the pods of a gang from a server, as texts that follow "because of".
const (
	barClosed  = "nodes that are cordoned, not ready, being returned or being deleted"
	barTaint   = "taints that the pods do not tolerate"
	barVolume  = "volumes that cannot be reached there"
	barMatches = "the pods' node selector or required node affinity"
	barLoan    = "nodes of inference, none of which may be on loan"
)

// bars returns a function that returns the reason that keeps the pods of a gang from a server, or "" if there is none.
func (b *builder) bars(p *plan) func(*server) string {
	affinity := nodeaffinity.GetRequiredNodeAffinity(p.pod)
	var volumes []*corev1.PersistentVolume
	for _, name := range p.volumes {
		volumes = append(volumes, b.Volume(name))
	}
	return func(v *server) string {
		if v.closed {
			return barClosed
		}
		if match, err := affinity.Match(v.node); !match || err != nil {
			return barMatches
		}
		switch {
		case !tolerated(v.node, p.pod.Spec.Tolerations):
			return barTaint
		case !reaches(v.node, volumes):
			return barVolume
		}
		return ""
	}
}

func tolerated(node *corev1.Node, tolerations []corev1.Toleration) bool {
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule || t.Key == LoanedToLabel && t.Value == TrainingPool {
			continue
		}
		if !schedulinghelpers.TolerationsTolerateTaint(klog.Logger{}, tolerations, t, false) {
			return false
		}
	}
	return true
}

func reaches(node *corev1.Node, volumes []*corev1.PersistentVolume) bool {
	for _, v := range volumes {
		if v == nil || volumehelpers.CheckNodeAffinity(v, node.Labels) != nil {
			return false
		}
	}
	return true
}
