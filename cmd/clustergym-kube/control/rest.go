package control

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
)

// rest is a set of free pods of one gang. For a partly bound gang these are the pods that it lacks, which are placed before
// everything else. For a running gang it is one pod that the gang could grow by. A rest is a job of its own in the State, with an
// id above those of the view's jobs.
type rest struct {
	id   cluster.JobID
	of   *mirror.Job
	pods []*corev1.Pod // at least one
	spec cluster.JobSpec
	part bool // the gang is partly bound
	bind []act.Binding
}

// findRests returns the rests of a view. A partly bound gang has no rest while fewer free pods exist than it lacks.
func findRests(v *mirror.View) (all []rest) {
	add := func(of *mirror.Job, pods []*corev1.Pod, part bool) {
		r := rest{id: cluster.JobID(len(v.Jobs) + len(all)), of: of, pods: pods, part: part, spec: of.Spec}
		r.spec.Name += "/" + pods[0].Name
		r.spec.Request = of.Loose // its pods are bound as they are
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

// typeOf returns the type of the GPUs that bound pods use, because the rest must use the same. It returns otherwise if that type
// is unknown.
func typeOf(s *cluster.View, bound []*corev1.Pod, otherwise string) string {
	for i := range s.Servers() {
		v := s.Server(cluster.ServerID(i))
		if v.GPUType != "" && slices.ContainsFunc(bound, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == v.Name }) {
			return v.GPUType
		}
	}
	return otherwise
}

// complete places the rests of partly bound gangs that fit.
func (r *round) complete() {
	for i := range r.rests {
		if x := &r.rests[i]; x.part {
			x.place(r.view.State)
		}
	}
}

// surplus places the rests by which running gangs could grow, on GPUs that are free after everything else.
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
		now := &r.before // GPUs that are free in the decided state may not be free yet
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

// most returns the highest number of pods that a running gang can use.
func most(j *mirror.Job) int32 {
	if j.PodGPUs > 1 || j.Group.Open { // its specification is rigid
		return int32(len(j.Bound) + len(j.Free))
	}
	return j.Spec.Most()
}

// place submits the rest to s and places it, if it fits.
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
