package control

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
)

// overdue takes back nodes that inference wants and that the policy has not returned in time. It takes those first that are being
// returned already, then those with the fewest training workers, and stops the gangs on them.
func (r *round) overdue() {
	s := &r.before
	owed, by := s.Owed()
	if owed -= int32(len(r.giveBack)); owed <= 0 || s.Now() < by {
		return
	}
	var lent []cluster.ServerID
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.OnLoan(id) && !slices.Contains(r.giveBack, s.Server(id).Name) {
			lent = append(lent, id)
		}
	}
	slices.SortStableFunc(lent, func(a, b cluster.ServerID) int {
		x, y := r.returning[s.Server(a).Name], r.returning[s.Server(b).Name]
		switch {
		case x && !y:
			return -1
		case y && !x:
			return 1
		}
		return cmp.Compare(s.Server(a).GPUs-s.FreeGPUs(a), s.Server(b).GPUs-s.FreeGPUs(b))
	})
	for _, id := range lent[:min(int(owed), len(lent))] {
		name := s.Server(id).Name
		r.giveBack = append(r.giveBack, name)
		for i := range r.view.Jobs {
			job := cluster.JobID(i)
			if j := &r.view.Jobs[i]; j.Running && on(j.Bound, name) && !slices.Contains(r.stop, job) {
				r.stop, r.forced = append(r.stop, job), r.forced+1
			}
		}
	}
}

// spare binds none of the gangs that would start or grow on the node in this round.
func (r *round) spare(node string) {
	r.bind = slices.DeleteFunc(r.bind, func(g gangBinding) bool {
		return slices.ContainsFunc(g.pods, func(b act.Binding) bool { return b.Node == node })
	})
}

// returning returns the names of the nodes that are being returned.
func returning(nodes []*corev1.Node) map[string]bool {
	names := map[string]bool{}
	for _, node := range nodes {
		if node.Labels[mirror.ReturningLabel] != "" {
			names[node.Name] = true
		}
	}
	return names
}

// on reports whether one of the pods runs on the node.
func on(pods []*corev1.Pod, node string) bool {
	return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node })
}

// returned returns those of the nodes being returned on which no pod of the given schedulers runs any more.
func returned(returning map[string]bool, o *mirror.Objects, schedulers []string) []string {
	busy := map[string]bool{}
	for _, pod := range o.Pods {
		if !mirror.Ended(pod) && slices.Contains(schedulers, pod.Spec.SchedulerName) {
			busy[pod.Spec.NodeName] = true
		}
	}
	free := maps.Clone(returning)
	maps.DeleteFunc(free, func(node string, _ bool) bool { return busy[node] })
	return slices.Sorted(maps.Keys(free))
}
