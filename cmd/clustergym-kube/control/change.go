package control

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/serve/decide"
)

// changes lists what a round has to change in the cluster. Only starts and growth that fit into the GPUs that are free now are
// carried out; those that need GPUs of other gangs follow in a later round, when the GPUs are free.
type changes struct {
	loan, giveBack []string // nodes
	stop           []cluster.JobID
	scale          []scaling
	bind           []gangBinding
	holds          []holding // of running gangs
	undo           []undoing
	later          []cluster.JobID // gangs that start when other pods have made room
	forced         int             // the number of gangs in stop that stop because inference wants their nodes back
}

// scaling changes the number of pods of a running gang.
type scaling struct {
	job      cluster.JobID
	replicas int32
	shed     []*corev1.Pod // the pods to end, if the gang shrinks
}

// gangBinding lists the pods of one gang to bind.
type gangBinding struct {
	key  string // namespace/name
	job  *mirror.Job
	rest bool // other pods of the gang are bound already
	pods []act.Binding
	hold []holding // before they are bound
}

// compare sets the changes between the cluster and the decided state. It stops at most the given number of gangs. That limit is
// needed here because proposals that each stop no gang may do so together: for example, to shrink a gang on one server and then
// grow it on another.
func (r *round) compare(most int) {
	v, s, now := r.view, r.view.State, &r.before
	tx := now.Begin(nil)
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		switch {
		case s.OnLoan(id) && !now.OnLoan(id) && tx.Loan(id) == nil:
			r.loan = append(r.loan, s.Server(id).Name)
		case !s.OnLoan(id) && now.OnLoan(id):
			r.giveBack = append(r.giveBack, s.Server(id).Name)
		}
	}
	for i := range v.Jobs {
		id, j := cluster.JobID(i), &v.Jobs[i]
		is := s.Placement(id)
		switch {
		case !j.Running && is == nil:
		case !j.Running && tx.Place(id, is) != nil:
			r.later = append(r.later, id)
		case !j.Running:
			r.bind = append(r.bind, r.binding(j, nil, is))
		default:
			r.resize(tx, id, slices.Clone(now.Placement(id)), is, most)
		}
	}
	tx.End()
}

// resize adds the change of a running gang from its old placement (was) to its new one (is).
func (r *round) resize(tx *cluster.Txn, id cluster.JobID, was, is cluster.Placement, most int) {
	j, s := &r.view.Jobs[id], r.view.State
	pods := is.Workers() / max(j.PodGPUs, 1)
	wants := is
	is = decide.Reshape(was, wants)
	switch {
	case slices.Equal(was, is):
		if !slices.Equal(was, wants) && tx.Resize(id, meanwhile(was, wants)) == nil {
			for _, pod := range j.Bound {
				r.holds = append(r.holds, r.hold(j, pod, pod.Spec.NodeName, wants)...)
			}
		}
	case decide.Stops(was, is) && len(r.stop) >= most:
		move := cluster.Proposal{Kind: cluster.OpResize, Job: id, Placement: slices.Clone(is)}
		r.held = append(r.held, decide.Held{Proposal: move, Reason: decide.HeldStops})
	case decide.Stops(was, is):
		r.stop = append(r.stop, id)
	case decide.Within(was, is):
		if more := int(pods) - len(j.Bound); more > len(j.Free) {
			r.scale = append(r.scale, scaling{job: id, replicas: pods})
		}
		if len(j.Free) > 0 && tx.Resize(id, is) == nil {
			r.bind = append(r.bind, r.binding(j, was, is))
		}
	default:
		r.scale = append(r.scale, scaling{job: id, replicas: pods, shed: shed(&s.View, j, was, is)})
	}
}

// meanwhile returns what a gang holds until its kubelets have changed what it holds from the one placement to the other.
func meanwhile(was, is cluster.Placement) cluster.Placement {
	out := slices.Clone(is)
	for i := range out {
		out[i].Amount = larger(was[i].Amount, is[i].Amount)
	}
	return out
}

// binding binds free pods of a gang to what its new placement (is) has beyond the old one (was, nil for none).
func (r *round) binding(j *mirror.Job, was, is cluster.Placement) gangBinding {
	pods := deal(&r.view.State.View, j, j.Free, was, is)
	return gangBinding{key: j.Spec.Name, job: j, rest: was != nil, pods: pods, hold: r.holdings(j, pods, is)}
}

// deal assigns pods, in order, to the workers that the new placement (is) has beyond the old one (was). It stops when the pods
// run out.
func deal(s *cluster.View, j *mirror.Job, pods []*corev1.Pod, was, is cluster.Placement) (list []act.Binding) {
	for _, p := range is {
		n := p.Workers
		if at := slices.IndexFunc(was, func(q cluster.Piece) bool { return q.Server == p.Server }); at >= 0 {
			n -= was[at].Workers
		}
		for n /= max(j.PodGPUs, 1); n > 0 && len(pods) > 0; n-- {
			list, pods = append(list, act.Binding{Pod: pods[0], Node: s.Server(p.Server).Name}), pods[1:]
		}
	}
	return list
}

// shed returns the pods to end so that the old placement (was) becomes the smaller new one (is): on each server, those with the
// last names.
func shed(s *cluster.View, j *mirror.Job, was, is cluster.Placement) (pods []*corev1.Pod) {
	for _, p := range was {
		n := p.Workers
		if at := slices.IndexFunc(is, func(q cluster.Piece) bool { return q.Server == p.Server }); at >= 0 {
			n -= is[at].Workers
		}
		n /= max(j.PodGPUs, 1)
		for _, pod := range slices.Backward(j.Bound) {
			if n > 0 && pod.Spec.NodeName == s.Server(p.Server).Name {
				pods, n = append(pods, pod), n-1
			}
		}
	}
	return pods
}
