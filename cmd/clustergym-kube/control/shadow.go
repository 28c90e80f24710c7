package control

import (
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/env/cluster"
)

// shadow compares what the policy would have started with what another scheduler did start.
type shadow struct {
	waited map[string]time.Time // gangs that do not run, by the last round in which none of their pods was bound
	would  map[string]start     // gangs that the policy would have started and nobody has started yet
}

// start is when and where the policy would have started a gang.
type start struct {
	at    time.Time
	nodes []string // one for each pod, sorted
}

// The label values for who started a gang first.
const (
	firstPolicy = "policy" // the policy would have started it before the last round in which it waited
	firstOther  = "other"  // the policy had let it wait
	firstSame   = "same"   // the policy would have started it in the last round in which it waited
)

func newShadow() shadow { return shadow{map[string]time.Time{}, map[string]start{}} }

// compare logs the gangs that the other scheduler has started since the last round, and stores those that the policy would start
// now. A gang whose pods the other scheduler binds one after the other has started when enough of them are bound to run.
func (w *shadow) compare(r *round, now time.Time, m *metrics, log *slog.Logger) {
	waiting := map[string]time.Time{}
	for i := range r.view.Partial {
		if at, ok := w.waited[r.view.Partial[i].Spec.Name]; ok {
			waiting[r.view.Partial[i].Spec.Name] = at
		}
	}
	for i := range r.view.Jobs {
		j := &r.view.Jobs[i]
		key := j.Spec.Name
		if !j.Running {
			waiting[key] = now
			continue
		}
		waited, ok := w.waited[key]
		if !ok {
			continue // it ran when this began, or started between two rounds
		}
		would, decided := w.would[key]
		first, same := firstOther, false
		nodes := nodesOf(j.Bound)
		switch {
		case decided && would.at.Before(waited):
			first = firstPolicy
		case decided:
			first = firstSame
		}
		args := []any{"gang", key, "first", first, "pods", len(j.Bound), "nodes", nodes}
		if decided {
			same = slices.Equal(nodes, would.nodes)
			args = append(args, "policy_nodes", would.nodes, "same_nodes", same, "policy_earlier_s", now.Sub(would.at).Seconds())
		}
		m.compared.WithLabelValues(first).Inc()
		log.Info("compared", args...)
		delete(w.would, key)
	}
	w.waited = waiting
	for key := range w.would {
		if _, ok := waiting[key]; !ok {
			delete(w.would, key)
		}
	}
	for _, g := range r.bind {
		if _, known := w.would[g.key]; g.rest || known {
			continue
		}
		nodes := make([]string, 0, len(g.pods))
		for _, b := range g.pods {
			nodes = append(nodes, b.Node)
		}
		slices.Sort(nodes)
		w.would[g.key] = start{now, nodes}
		log.Info("would start", "gang", g.key, "nodes", nodes)
	}
	for _, id := range r.stop {
		log.Info("would stop", "gang", name(r, id))
	}
	for _, x := range r.scale {
		log.Info("would scale", "gang", name(r, x.job), "pods", x.replicas)
	}
}

func name(r *round, id cluster.JobID) string { return r.view.Jobs[id].Spec.Name }

func nodesOf(pods []*corev1.Pod) (nodes []string) {
	for _, pod := range pods {
		nodes = append(nodes, pod.Spec.NodeName)
	}
	slices.Sort(nodes)
	return nodes
}
