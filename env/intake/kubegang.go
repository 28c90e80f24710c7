package intake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// groupAPIs are the APIs of PodGroups, each with the start of its versions.
var groupAPIs = []struct{ api, group string }{
	{pods.Native, "scheduling.k8s.io/"}, {pods.Plugins, "scheduling.x-k8s.io/"},
	{pods.Volcano, "scheduling.volcano.sh/"}, {pods.KAI, "scheduling.run.ai/"},
}

const mostMembers = pods.MostMembers // pods of a group

// addGroup reads an object that defines a gang.
func (k *kubeCluster) addGroup(r *strictjson.Reader, version string) {
	api := ""
	for _, known := range groupAPIs {
		if strings.HasPrefix(version, known.group) {
			api = known.api
		}
	}
	if api == "" {
		k.told.add("PodGroups of an API that is not read, ignored", fmt.Sprintf("one of %q", version))
		r.Skip()
		return
	}
	m, o := readPodGroup(r, api)
	k.groups[pods.Key{API: api, Namespace: m.Namespace, Name: m.Name}] = o
}

func readPodGroup(r *strictjson.Reader, api string) (meta, *pods.Object) {
	var o *pods.Object
	var of struct {
		meta `kube:"metadata"`
		Spec struct {
			MinMember *int64 `kube:"minMember,-mostMembers..4294967296"`
			Spread    bool   `kube:"schedulingConstraints,there"`
			Policy    struct {
				Basic bool `kube:"basic,there"`
				Gang  *struct {
					MinCount int64 `kube:"minCount,-mostMembers..4294967296"`
				} `kube:"gang"`
			} `kube:"schedulingPolicy"`
		} `kube:"spec"`
	}
	r.Struct(&of)
	m, spec := of.meta, &of.Spec
	var member, gang int64
	if spec.MinMember != nil {
		member = *spec.MinMember
	}
	if spec.Policy.Gang != nil {
		gang = spec.Policy.Gang.MinCount
	}
	title := "PodGroup " + m.title()
	if api == pods.Native {
		o = pods.NativeObject(title, spec.Policy.Gang != nil, spec.Policy.Basic, spec.Spread, gang)
	} else {
		o = pods.MemberObject(api, title, spec.MinMember != nil, member)
	}
	o.Annotations = m.Notes
	return m, o
}

// gang is pods that must run together, as the scheduler clustergym-kube sees them.
type gang struct {
	*pods.Gang
	bound, free []*pod // those with GPUs
}

// gangs groups the pods, in the order of their names. Pods without GPUs count if they name a group: their gang needs them.
func (k *kubeCluster) gangs() (all []*gang) {
	objects := pods.Objects{}
	for _, known := range groupAPIs {
		objects[known.api] = func(namespace, name string) *pods.Object {
			return k.groups[pods.Key{API: known.api, Namespace: namespace, Name: name}]
		}
	}
	own := slices.Concat(k.pods, k.helpers)
	read := make([]*pods.Pod, len(own))
	for i, p := range own {
		read[i] = p.neutral()
		read[i].Index = i
	}
	of := func(list []*pods.Pod) (found []*pod) {
		for _, p := range list {
			if own[p.Index].workers() > 0 {
				found = append(found, own[p.Index])
			}
		}
		return found
	}
	for _, c := range pods.Gangs(read, func(p *pods.Pod) pods.Group { return pods.Of(p, objects) },
		func(p *pods.Pod) string { return own[p.Index].ask() }) {
		g := &gang{c, of(c.Bound), of(c.Free)}
		for _, p := range of(c.Gated) {
			k.told.add("pods with scheduling gates, left out", p.title())
		}
		if len(g.bound)+len(g.free) > 0 {
			all = append(all, g)
		}
	}
	k.tellApart(all)
	return all
}

// replicas are the kinds of owners whose pods serve independently of each other.
var replicas = []string{"", "ReplicaSet", "ReplicationController", "DaemonSet", "StatefulSet", "Node"}

// tellApart names the owners several of whose pods are each a job, because nothing says that they must run together.
func (k *kubeCluster) tellApart(all []*gang) {
	count := map[owner]int{}
	for _, g := range all {
		p := slices.Concat(g.bound, g.free)[0]
		if g.API != pods.Alone || slices.Contains(replicas, p.Owner.Kind) {
			continue
		}
		if count[p.Owner]++; count[p.Owner] == 2 {
			k.told.add("owners such as Jobs whose pods name no group: each pod is a job of its own, as it is for clustergym-kube (a gang "+
				"needs a PodGroup, or the label "+pods.GroupLabel+" and the annotation "+pods.MinMemberNote+")",
				p.Owner.Kind+" "+p.Namespace+"/"+p.Owner.Name)
		}
	}
}

// termsOf reads what users state about a gang. What is wrong counts as not stated.
func (k *kubeCluster) termsOf(g *gang, elastic bool) pods.Terms {
	t, wrong := g.Terms(slices.Concat(g.Bound, g.Free), elastic)
	for _, err := range wrong {
		k.told.add("annotations that are wrong, ignored (clustergym-kube lets such gangs wait)", cut(err.Error()))
	}
	if g.Other != 0 {
		k.told.add("gangs whose pods state different numbers that must run together: the first counts",
			fmt.Sprintf("%s: %d and %d", g.Title(), g.Least, g.Other))
	}
	return t
}

// neutral returns what decides about the pod's gang.
func (p *pod) neutral() *pods.Pod {
	return &pods.Pod{
		Namespace: p.Namespace, Name: p.Name, Labels: p.Labels, Annotations: p.Notes, Group: p.Group.Name,
		Owner: pods.Owner{Kind: p.Owner.Kind, Name: p.Owner.Name, UID: p.Owner.UID},
		Bound: p.Node != "", Gated: p.Gated, Succeeded: p.Phase == "Succeeded",
	}
}

// ask is a text that is equal for pods that ask for the same.
func (p *pod) ask() string {
	return fmt.Sprint(p.gpus, p.fraction.Milli, p.fraction.Devices, p.cpuMilli, p.memBytes, p.constraints.key())
}

// workers are the GPUs of the pod, whole or shared.
func (p *pod) workers() int64 { return max(p.gpus, int64(p.fraction.Devices)) }
