package control

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/serve/decide"
)

// said stores what was reported about waiting pods, so that it is not repeated.
type said struct {
	about map[types.UID]word
}

type word struct {
	reason string
	at     time.Time
}

const (
	failedScheduling = "FailedScheduling" // the event's reason if a gang would start given room, or if the policy let it

	again     = 5 * time.Minute // after which the same event is emitted again
	mostWords = 200             // the most pods reported in a round; later rounds report the others
)

func newSaid() said { return said{map[types.UID]word{}} }

// event emits an event about an object, if there is a recorder and an object.
func (s *said) event(a *act.Actor, object runtime.Object, kind, reason, format string, args ...any) {
	if a.Events != nil && object != nil {
		a.Events.Eventf(object, nil, kind, reason, "Scheduling", format, args...)
	}
}

// about returns the object for the events of a gang: its group's object, or its first pod if there is none.
func about(g *gang.Group, pods []*corev1.Pod) runtime.Object {
	if g.Ref != nil {
		return g.Ref
	}
	if len(pods) > 0 {
		return pods[0]
	}
	return nil
}

// statement is what is to be reported about the pods of a gang.
type statement struct {
	group                 *gang.Group
	pods                  []*corev1.Pod
	kind, reason, message string
}

// speak reports why gangs wait: it sets a condition of each waiting pod and emits an event for each gang. The namespaces take
// turns, a pod each, so that the pods of one cannot use up the limit of a round.
func (l *Loop) speak(ctx context.Context, r *round, now time.Time) {
	open := map[types.UID]bool{}
	all := r.statements()
	turns := map[string][]turn{}
	for i := range all {
		for j, pod := range all[i].pods {
			open[pod.UID] = true
			was, known := l.said.about[pod.UID]
			if !known || was.reason != all[i].reason || now.Sub(was.at) >= again {
				turns[pod.Namespace] = append(turns[pod.Namespace], turn{&all[i], j})
			}
		}
	}
	for i := range r.view.Jobs {
		for _, pod := range r.view.Jobs[i].Free {
			open[pod.UID] = true
		}
	}
	maps.DeleteFunc(l.said.about, func(uid types.UID, _ word) bool { return !open[uid] })
	for left := mostWords; left > 0 && len(turns) > 0; {
		for _, namespace := range slices.Sorted(maps.Keys(turns)) {
			if left == 0 {
				return
			}
			l.say(ctx, turns[namespace][0], now)
			left--
			if turns[namespace] = turns[namespace][1:]; len(turns[namespace]) == 0 {
				delete(turns, namespace)
			}
		}
	}
}

// turn is one pod of a statement.
type turn struct {
	*statement
	pod int
}

// say sets the condition of a pod, and emits the event of the gang if it is the gang's first pod.
func (l *Loop) say(ctx context.Context, t turn, now time.Time) {
	if t.pod == 0 {
		l.said.event(l.Actor, about(t.group, t.pods), t.kind, t.reason, "%s", t.message)
	}
	state := t.reason
	if state == failedScheduling { // autoscalers look for another reason in conditions
		state = corev1.PodReasonUnschedulable
	}
	if err := l.Actor.Unschedulable(ctx, t.pods[t.pod], state, t.message); err == nil {
		l.said.about[t.pods[t.pod].UID] = word{t.reason, now}
	}
}

// statements returns what this round has to report, gang by gang.
func (r *round) statements() (all []statement) {
	for i := range r.view.Refused {
		x := &r.view.Refused[i]
		all = append(all, statement{&gang.Group{}, []*corev1.Pod{x.Pod}, corev1.EventTypeWarning, x.Reason, x.Message})
	}
	for i := range r.view.Waiting {
		x := &r.view.Waiting[i]
		all = append(all, statement{&x.Group, x.Pods, corev1.EventTypeNormal, "GangIncomplete", x.Why})
	}
	reasons := r.reasons()
	for i := range r.view.Jobs {
		j := &r.view.Jobs[i]
		if why, ok := reasons[j.Spec.Name]; ok && !j.Running {
			all = append(all, statement{&j.Group, j.Free, corev1.EventTypeWarning, failedScheduling, why})
		}
	}
	return all
}

// reasons returns why gangs wait, by gang name, as far as this round has found out.
func (r *round) reasons() map[string]string {
	all := map[string]string{}
	for _, a := range r.answers {
		for _, w := range a.Waiting {
			if w.Wait == nil { // nobody asked for reasons, or they were not found in time
				continue
			}
			all[w.Job] = fmt.Sprintf("%s (%s by %s)", w.Text, w.Code, a.Policy)
		}
		for i := range a.Starts {
			if why, known := all[a.Starts[i].Job]; known {
				all[a.Starts[i].Job] = fmt.Sprintf("%s; it is expected to start %s", why, a.Starts[i].When())
			}
		}
	}
	for i := range r.view.Jobs {
		j := &r.view.Jobs[i]
		if j.Never != "" {
			all[j.Spec.Name] = "cannot start even on empty nodes: " + j.Never + " (never-fits)"
		} else if _, known := all[j.Spec.Name]; !known && len(r.failed) > 0 && !j.Running {
			all[j.Spec.Name] = fmt.Sprintf("nobody decided: %v", r.failed[0])
		}
	}
	for _, h := range r.held {
		if id := int(h.Job); id < len(r.view.Jobs) && !r.view.Jobs[id].Running {
			why := fmt.Sprintf("the policy would start it, but for the limit %q", h.Reason)
			if h.Reason == decide.HeldStarving {
				first := name(r, h.For)
				why += fmt.Sprintf(": it would delay %s, which has waited for %v", first, r.waits.of[first].waited.Round(time.Minute))
			}
			all[r.view.Jobs[id].Spec.Name] = why
		}
	}
	for _, id := range r.starved {
		if why, known := all[name(r, id)]; known && r.waits.spent(name(r, id)) {
			all[name(r, id)] = fmt.Sprintf("%s; it has held others back for %v and does so no more", why, r.waits.limit)
		}
	}
	for _, id := range r.later {
		all[r.view.Jobs[id].Spec.Name] = "it starts when the pods that make room for it are gone"
	}
	for _, g := range r.bind { // these gangs no longer wait
		delete(all, g.key)
	}
	return all
}
