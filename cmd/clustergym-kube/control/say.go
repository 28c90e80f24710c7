package control

import (
	"context"
	"fmt"
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

// speak reports why gangs wait: it sets a condition of each waiting pod and emits an event for each gang.
func (l *Loop) speak(ctx context.Context, r *round, now time.Time) {
	left := mostWords
	open := map[types.UID]bool{}
	say := func(g *gang.Group, pods []*corev1.Pod, kind, reason, message string) {
		for i, pod := range pods {
			open[pod.UID] = true
			was, known := l.said.about[pod.UID]
			if known && was.reason == reason && now.Sub(was.at) < again || left == 0 {
				continue
			}
			left--
			if i == 0 {
				l.said.event(l.Actor, about(g, pods), kind, reason, "%s", message)
			}
			state := reason
			if reason == failedScheduling { // autoscalers look for another reason in conditions
				state = corev1.PodReasonUnschedulable
			}
			if err := l.Actor.Unschedulable(ctx, pod, state, message); err == nil {
				l.said.about[pod.UID] = word{reason, now}
			}
		}
	}
	for i := range r.view.Refused {
		x := &r.view.Refused[i]
		say(&gang.Group{}, []*corev1.Pod{x.Pod}, corev1.EventTypeWarning, x.Reason, x.Message)
	}
	for i := range r.view.Waiting {
		x := &r.view.Waiting[i]
		say(&x.Group, x.Pods, corev1.EventTypeNormal, "GangIncomplete", x.Why)
	}
	reasons := r.reasons()
	for i := range r.view.Jobs {
		j := &r.view.Jobs[i]
		if why, ok := reasons[j.Spec.Name]; ok && !j.Running {
			say(&j.Group, j.Free, corev1.EventTypeWarning, failedScheduling, why)
		}
		for _, pod := range j.Free {
			open[pod.UID] = true
		}
	}
	for uid := range l.said.about {
		if !open[uid] {
			delete(l.said.about, uid)
		}
	}
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
