package pods

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// The APIs whose objects define gangs.
const (
	Native  = "scheduling.k8s.io/v1alpha2"    // Kubernetes itself
	Plugins = "scheduling.x-k8s.io/v1alpha1"  // the scheduler-plugins project
	Volcano = "scheduling.volcano.sh/v1beta1" // Volcano
	KAI     = "scheduling.run.ai/v2alpha2"    // KAI Scheduler
)

// The kinds of gangs that no object defines.
const (
	Alone    = "pod"   // a pod that names no group
	Labelled = "label" // a group by GroupLabel and MinMemberNote
)

// Key identifies a gang. Groups of different APIs, and a pod alone, may have the same name.
type Key struct{ API, Namespace, Name string }

// Title is the namespace and the name.
func (k *Key) Title() string { return k.Namespace + "/" + k.Name }

// Group says which gang a pod belongs to.
type Group struct {
	Key
	Least       int32             // pods that must run together, at least 1
	Open        bool              // nobody states Least: the pods that wait start together, and later ones follow one by one
	Annotations map[string]string // of the group's object
	Err         error             // why Least is not known, and what was expected
}

// Object is an object that defines a gang.
type Object struct {
	Least       int32 // at least 1 unless Err says otherwise
	Basic       bool  // its pods need not run together
	Annotations map[string]string
	Err         error
}

// Objects finds the objects of each API that is there, nil if there is no such object.
type Objects map[string]func(namespace, name string) *Object

// MostMembers is the upper limit of every number of pods that a user writes.
const MostMembers = 1 << 16

// Count parses a number of pods that a user wrote in a field of an object. It returns an error unless the number is from 1 to
// 65,536.
func Count(object, field, value string) (int32, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: %s is %.100q, want a whole number from 1 to %d", object, field, value, MostMembers)
	}
	return Within(object, field, n)
}

// Within is Count for a number.
func Within(object, field string, n int64) (int32, error) {
	if n < 1 || n > MostMembers {
		return 0, fmt.Errorf("%s: %s is %d, want a whole number from 1 to %d", object, field, n, MostMembers)
	}
	return int32(n), nil
}

// Of returns the group of a pod. The first that the pod names counts: a PodGroup of Kubernetes, of the scheduler-plugins project,
// of Volcano, of KAI Scheduler; a replica of a LeaderWorkerSet; a pod group of Kueue. Where these name an object that is not
// there, Err is set, because the pod must not count as one that may start alone. The pods of a training job of Kubeflow, and
// those of one Job of a JobSet, are an open gang. All other pods are alone, also those of one Job: a Job may be a queue of
// independent tasks.
func Of(p *Pod, objects Objects) Group {
	labels := p.Labels
	switch volcano := cmp.Or(p.Annotations[volcanoNote], p.Annotations[oldVolcanoNote]); {
	case p.Group != "":
		return p.defined(objects, Native, "spec.schedulingGroup.podGroupName", p.Group)
	case labels[GroupLabel] != "":
		return p.labelled(objects, labels[GroupLabel])
	case volcano != "":
		return p.defined(objects, Volcano, "annotation "+oldVolcanoNote, volcano)
	case p.Annotations[kaiGroupNote] != "":
		return p.defined(objects, KAI, "annotation "+kaiGroupNote, p.Annotations[kaiGroupNote])
	case labels[setLabel] != "":
		name := labels[setLabel] + "-" + cmp.Or(labels[setIndexLabel], "0")
		return p.sized("LeaderWorkerSet", "label "+setLabel, name, MinMemberNote, setSizeNote)
	case labels[kueueGroupLabel] != "" && p.Annotations[kueueServingNote] != "true":
		return p.kueue(labels[kueueGroupLabel])
	case labels[jobSetLabel] != "" && p.job() != "":
		return p.open("JobSet", p.job())
	case labels[trainingLabel] != "":
		return p.open("training job", labels[trainingLabel])
	case slices.Contains(trainingKinds, p.Owner.Kind):
		return p.open("training job", p.Owner.Name)
	}
	return alone(p)
}

func alone(p *Pod) Group { return Group{Key: Key{Alone, p.Namespace, p.Name}, Least: 1} }

// kueue returns a pod group of Kueue. One that Kueue admits before all its pods exist must not wait for them.
func (p *Pod) kueue(name string) Group {
	if p.Annotations[kueueFastNote] == "true" {
		return p.open("Kueue", name)
	}
	return p.sized("Kueue", "label "+kueueGroupLabel, name, MinMemberNote, kueueTotalNote)
}

// job returns the name of the pod's Job, or "".
func (p *Pod) job() string {
	if p.Owner.Kind == "Job" && p.Owner.Name != "" {
		return p.Owner.Name
	}
	return cmp.Or(p.Labels[jobLabel], p.Labels[oldJobLabel])
}

// defined returns the group of an object.
func (p *Pod) defined(objects Objects, api, field, name string) Group {
	g := Group{Key: Key{api, p.Namespace, name}, Least: 1}
	get := objects[api]
	var o *Object
	if get != nil {
		o = get(p.Namespace, name)
	}
	switch {
	case o != nil && o.Err == nil && o.Basic:
		return alone(p)
	case o != nil:
		g.Least, g.Annotations, g.Err = max(o.Least, 1), o.Annotations, o.Err
	case get == nil:
		g.Err = fmt.Errorf("pod %s: %s is %.100q, want none: the server does not have %s", p.Title(), field, name, api)
	default:
		g.Err = fmt.Errorf("pod %s: %s is %.100q, want the name of a PodGroup of %s that exists", p.Title(), field, name, api)
	}
	return g
}

// labelled returns the group that the label names: of its object, or else of the annotation with its size.
func (p *Pod) labelled(objects Objects, name string) Group {
	get := objects[Plugins]
	there := get != nil && get(p.Namespace, name) != nil
	if _, said := p.Annotations[MinMemberNote]; there || get != nil && !said {
		g := p.defined(objects, Plugins, "label "+GroupLabel, name)
		if !there { // other pods of the group may have the annotation
			g.API = Labelled
		}
		return g
	}
	return p.sized(Labelled, "label "+GroupLabel, name, MinMemberNote)
}

// sized returns the group whose size is the first annotation that the pod has of some.
func (p *Pod) sized(api, field, name string, notes ...string) Group {
	g := Group{Key: Key{api, p.Namespace, name}, Least: 1}
	for _, note := range notes {
		if value, said := p.Annotations[note]; said {
			least, err := Count("pod "+p.Title(), "annotation "+note, value)
			g.Least, g.Err = max(least, 1), err
			return g
		}
	}
	g.Err = fmt.Errorf("pod %s: %s is %.100q, want also the annotation %s: a whole number from 1 to %d",
		p.Title(), field, name, notes[len(notes)-1], MostMembers)
	return g
}

// open returns a group whose size only the annotation MinMemberNote can tell.
func (p *Pod) open(api, name string) Group {
	if _, said := p.Annotations[MinMemberNote]; said {
		return p.sized(api, "", name, MinMemberNote)
	}
	return Group{Key: Key{api, p.Namespace, name}, Least: 1, Open: true}
}

// NativeObject returns the Object of a PodGroup of Kubernetes itself, whose spec has a policy gang with a number of pods, a
// policy basic, or topology constraints. The title is for errors.
func NativeObject(title string, gang, basic, constraints bool, count int64) *Object {
	switch {
	case constraints:
		const want = "want none: topology constraints are not supported"
		return &Object{Err: fmt.Errorf("%s: spec.schedulingConstraints is set, %s", title, want)}
	case gang && !basic:
		least, err := Within(title, "spec.schedulingPolicy.gang.minCount", count)
		return &Object{Least: least, Err: err}
	case basic && !gang:
		return &Object{Basic: true}
	}
	return &Object{Err: fmt.Errorf("%s: spec.schedulingPolicy holds neither or both of gang and basic, want one of them", title)}
}

// MemberObject returns the Object of a PodGroup of another API, with spec.minMember if it says so. Volcano and KAI Scheduler may
// leave it out or 0: then any pod may start.
func MemberObject(api, title string, says bool, minMember int64) *Object {
	const field = "spec.minMember"
	switch {
	case api != Plugins && (!says || minMember == 0):
		return &Object{Least: 1}
	case !says:
		return &Object{Err: fmt.Errorf("%s: %s is missing, want a whole number from 1 to %d", title, field, MostMembers)}
	}
	least, err := Within(title, field, minMember)
	return &Object{Least: least, Err: err}
}
