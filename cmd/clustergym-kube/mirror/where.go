package mirror

import (
	"encoding/binary"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"github.com/clustergym/clustergym/env/cluster"
)

// bits are a set of servers while it is made.
type bits []uint64

func (s bits) add(id cluster.ServerID)      { s[id/64] |= 1 << (id % 64) }
func (s bits) has(id cluster.ServerID) bool { return s[id/64]>>(id%64)&1 != 0 }

// sets keeps one ServerSet for each set of servers, so that equal ones share a pointer.
type sets struct {
	servers int
	worth   bits // servers with GPUs: a set with all of these is none
	known   map[string]*cluster.ServerSet
}

func (s *sets) of(b bits) *cluster.ServerSet {
	every, key := true, make([]byte, 0, 8*len(b))
	for i, word := range b {
		every = every && word&s.worth[i] == s.worth[i]
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	if every {
		return nil
	}
	set := s.known[string(key)]
	if set == nil {
		set = cluster.NewServerSet(s.servers)
		for id := range cluster.ServerID(s.servers) {
			if b.has(id) {
				set.Add(id)
			}
		}
		s.known[string(key)] = set
	}
	return set
}

// restrict states for every job which servers will do: those that its pods may be bound to, and those where it runs
// already. A node that takes nothing new will do for nobody else, so that what a gang leaves there is not given to
// another.
func (b *builder) restrict() {
	n := (len(b.servers) + 63) / 64
	s := &sets{servers: len(b.servers), worth: make(bits, n), known: map[string]*cluster.ServerSet{}}
	for i := range b.servers {
		if b.servers[i].spec.GPUs > 0 {
			s.worth.add(cluster.ServerID(i))
		}
	}
	type known struct {
		bits
		set *cluster.ServerSet
	}
	by := map[string]known{}
	where := func(p *plan) *cluster.ServerSet {
		key := p.nodes + "\x00" + strings.Join(p.volumes, "\x00")
		k, ok := by[key]
		if !ok {
			k.bits = b.eligible(p)
			k.set = s.of(k.bits)
			by[key] = k
		}
		var more bits
		for _, q := range p.pieces {
			if id := b.ids[q.node]; !k.has(id) {
				if more == nil {
					more = append(bits(nil), k.bits...)
				}
				more.add(id)
			}
		}
		if more != nil {
			return s.of(more)
		}
		return k.set
	}
	for i := range b.plans {
		b.view.Jobs[i].Spec.Where = where(&b.plans[i])
	}
	for i := range b.view.Partial {
		b.view.Partial[i].Spec.Where = where(&b.view.Partial[i].plan)
	}
}

// eligible returns the servers that the pods of a gang may be bound to.
func (b *builder) eligible(p *plan) bits {
	set := make(bits, (len(b.servers)+63)/64)
	affinity := nodeaffinity.GetRequiredNodeAffinity(p.pod)
	var volumes []*corev1.PersistentVolume
	for _, name := range p.volumes {
		volumes = append(volumes, b.Volume(name))
	}
	for i := range b.servers {
		v := &b.servers[i]
		if v.closed || !tolerated(v.node, p.pod.Spec.Tolerations) || !reaches(v.node, volumes) {
			continue
		}
		if match, err := affinity.Match(v.node); match && err == nil {
			set.add(cluster.ServerID(i))
		}
	}
	return set
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
