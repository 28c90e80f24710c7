package control

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
)

// rest is pods that a gang still lacks: those of one that is bound in part, which go before everything else, or one that a
// running gang could have more. It stands in the State as a job of its own, with an id beyond those of the view's jobs.
type rest struct {
	id   cluster.JobID
	of   *mirror.Job
	pods []*corev1.Pod // at least one
	spec cluster.JobSpec
	part bool // the gang is bound in part
	bind []act.Binding
}

// findRests lists the rests of a view. A gang that is bound in part has none while the pods that would complete it are not there.
func findRests(v *mirror.View) (all []rest) {
	add := func(of *mirror.Job, pods []*corev1.Pod, part bool) {
		r := rest{id: cluster.JobID(len(v.Jobs) + len(all)), of: of, pods: pods, part: part, spec: of.Spec}
		r.spec.Name += "/" + pods[0].Name
		r.spec.Workers, r.spec.MinWorkers, r.spec.MaxWorkers = int32(len(pods))*of.PodGPUs, 0, 0
		r.spec.GPUType = typeOf(&v.State.View, of.Bound, r.spec.GPUType)
		all = append(all, r)
	}
	for i := range v.Partial {
		if p := &v.Partial[i]; int(p.Lacks) <= len(p.Free) {
			add(&p.Job, p.Free[:p.Lacks], true)
		}
	}
	for i := range v.Jobs {
		if j := &v.Jobs[i]; j.Running {
			for _, pod := range j.Free {
				add(j, []*corev1.Pod{pod}, false)
			}
		}
	}
	return all
}

// typeOf is the type of the GPUs that bound pods hold: the rest must be of the same. Without a known one it is as it was.
func typeOf(s *cluster.View, bound []*corev1.Pod, otherwise string) string {
	for i := range s.Servers() {
		v := s.Server(cluster.ServerID(i))
		if v.GPUType != "" && slices.ContainsFunc(bound, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == v.Name }) {
			return v.GPUType
		}
	}
	return otherwise
}

// complete places the rests of gangs that are bound in part, where they fit.
func (r *round) complete() {
	for i := range r.rests {
		if x := &r.rests[i]; x.part {
			x.place(r.view.State)
		}
	}
}

// surplus places what running gangs could have more in the room that all else leaves.
func (r *round) surplus() {
	changed, more := map[*mirror.Job]bool{}, map[*mirror.Job]int{}
	for _, x := range r.scale {
		changed[&r.view.Jobs[x.job]] = true
	}
	for _, id := range r.stop {
		changed[&r.view.Jobs[id]] = true
	}
	for _, b := range r.bind {
		changed[b.job] = true
	}
	for i := range r.rests {
		x := &r.rests[i]
		if x.part || changed[x.of] || len(x.of.Bound)+more[x.of] >= int(most(x.of)) {
			continue
		}
		x.place(r.view.State)
		if x.bind == nil {
			continue
		}
		now := &r.before // what is free in the end may not be so yet
		now.Submit(x.id, &x.spec)
		tx := now.Begin(nil)
		if tx.Place(x.id, r.view.State.Placement(x.id)) != nil {
			x.bind = nil
		} else {
			more[x.of]++
		}
		tx.End()
	}
	for i := range r.rests {
		if x := &r.rests[i]; len(x.bind) > 0 {
			r.bind = append(r.bind, gangBinding{key: x.of.Spec.Name, job: x.of, rest: true, pods: x.bind})
		}
	}
}

// most is how many pods a running gang can use.
func most(j *mirror.Job) int32 {
	if j.PodGPUs > 1 { // its specification is that of a rigid gang
		return int32(len(j.Bound) + len(j.Free))
	}
	return j.Spec.Most()
}

// place places the rest on a state, if it fits.
func (x *rest) place(s *cluster.State) {
	s.Submit(x.id, &x.spec)
	p, fits := s.BestFit(x.id, nil)
	tx := s.Begin(nil)
	if fits && tx.Place(x.id, p) == nil {
		x.bind = deal(&s.View, x.of, x.pods, nil, p)
	}
	tx.End()
	if x.bind == nil {
		s.Withdraw(x.id)
	}
}
