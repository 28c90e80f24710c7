package control

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

var twentyCPUs = corev1.ResourceRequirements{
	Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20"), corev1.ResourceMemory: resource.MustParse("64Gi")},
}

// TestUnseen checks that rounds see bindings, resizes and deletions before the watch shows them, even if an answer was lost, and no
// longer than necessary.
func TestUnseen(t *testing.T) {
	resizing := func(pod *corev1.Pod) act.Resizing {
		return act.Resizing{
			Pod: pod, Container: "c", Resources: twentyCPUs,
			Annotation: mirror.RequestedAnnotation, Value: "{}",
		}
	}
	is := func(pod *corev1.Pod) string {
		return fmt.Sprint(pod.Spec.NodeName, " ", pod.Spec.Containers[0].Resources.Requests.Cpu(), " ", pod.Annotations[mirror.RequestedAnnotation], " ",
			pod.DeletionTimestamp != nil)
	}
	for _, c := range []struct {
		name string
		note func(unseen, *corev1.Pod)
		want string
		show func(*corev1.Pod) // lets the watch show it
	}{
		{"bound", func(u unseen, p *corev1.Pod) { u.noteBind(act.Binding{Pod: p, Node: "a"}, nil) }, "a 4  false",
			func(p *corev1.Pod) { p.Spec.NodeName = "b" }},
		{"maybe bound", func(u unseen, p *corev1.Pod) { u.noteBind(act.Binding{Pod: p, Node: "a"}, act.ErrUnknown) }, "a 4  false",
			func(p *corev1.Pod) { p.Spec.NodeName = "a" }},
		{"bound elsewhere", func(u unseen, p *corev1.Pod) { u.noteBind(act.Binding{Pod: p, Node: "a"}, act.ErrElsewhere) }, " 4  false", nil},
		{"resized", func(u unseen, p *corev1.Pod) { u.noteResize(resizing(p), nil, noon) }, " 20 {} false",
			func(p *corev1.Pod) { sized([]*corev1.Pod{p}, "20", "64Gi") }},
		{"maybe resized", func(u unseen, p *corev1.Pod) { u.noteResize(resizing(p), act.ErrUnread, noon) }, " 20 {} false",
			func(p *corev1.Pod) { sized([]*corev1.Pod{p}, "20", "64Gi") }},
		{"not resized", func(u unseen, p *corev1.Pod) { u.noteResize(resizing(p), errors.New("no"), noon) }, " 4  false", nil},
		{"resized long ago", func(u unseen, p *corev1.Pod) { u.noteResize(resizing(p), nil, noon.Add(-sparing)) }, " 4  false", nil},
		{"leaving", func(u unseen, p *corev1.Pod) { u.noteLeaving([]*corev1.Pod{p}, []error{nil}, noon) }, " 4  true",
			func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }},
		{"not leaving", func(u unseen, p *corev1.Pod) { u.noteLeaving([]*corev1.Pod{p}, []error{errors.New("no")}, noon) }, " 4  false", nil},
	} {
		pods := sized(crew{name: "g", pods: 2, gpus: 2}.list(), "4", "64Gi")
		before, u := is(pods[0]), unseen{}
		c.note(u, pods[0])
		seen := u.show(pods, noon)
		if got := is(seen[0]); got != c.want || is(pods[0]) != before || seen[1] != pods[1] {
			t.Errorf("%s: the pod is %q, want %q, and the objects of the watch as they were", c.name, got, c.want)
		}
		if c.show == nil {
			if len(u) > 0 {
				t.Errorf("%s: something is stored", c.name)
			}
			continue
		}
		shown := pods[0].DeepCopy()
		if c.show(shown); u.show([]*corev1.Pod{shown}, noon)[0] != shown || len(u) > 0 {
			t.Errorf("%s: it is stored after the watch has shown it", c.name)
		}
		c.note(u, pods[0])
		if u.show(pods[1:], noon); len(u) > 0 {
			t.Errorf("%s: it is stored after the pod is gone", c.name)
		}
	}
}

// TestDoubtsOfFullNodes checks what becomes of a binding whose answer was lost: it is repeated to the same node as soon as the server
// answers. If the node takes the pod no longer, the program asks where the pod is.
func TestDoubtsOfFullNodes(t *testing.T) {
	for _, x := range []struct {
		away, takes bool
		node, want  string // where the pod is, and counts as bound to
		asks        int    // for bindings
	}{
		{true, true, "", "n1", 1}, {false, true, "", "n1", 1}, {false, true, "n1", "n1", 1}, {false, true, "n2", "", 1},
		{true, false, "", "n1", 0}, {false, false, "", "", 0}, {false, false, "n1", "n1", 0}, {false, false, "n2", "", 0},
	} {
		pod := aPod("p", "")
		l, client, _ := liveLoop(t, aPod("p", x.node))
		client.PrependReactor("*", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
			err := apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("away"))
			if action.GetSubresource() == "binding" && x.node != "" { // the fake client would bind the pod again
				return true, nil, apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("bound"))
			}
			return x.away, nil, err
		})
		l.unseen.noteBind(act.Binding{Pod: pod, Node: "n1"}, fmt.Errorf("bind: %w", act.ErrUnknown))
		err := l.unseen.repeatBindings(t.Context(), l.Actor, func(act.Binding) bool { return x.takes })
		if errors.Is(err, act.ErrUnknown) != x.away {
			t.Errorf("%+v: error %v", x, err)
		}
		if got := l.unseen.show([]*corev1.Pod{pod}, noon)[0].Spec.NodeName; got != x.want {
			t.Errorf("%+v: it counts as bound to %q", x, got)
		}
		if got := len(names(client, "create", "binding")); min(got, 1) != x.asks {
			t.Errorf("%+v: the program has asked for %d bindings", x, got)
		}
	}
}

// TestResizesAreRemembered checks that the program asks what a pod requests if the answer to a resize was lost.
func TestResizesAreRemembered(t *testing.T) {
	for holds, want := range map[string]string{"20": "20", "4": "4", "": ""} { // what the server says, "" for nothing
		synctest.Test(t, func(t *testing.T) {
			pod := sized(crew{name: "g", pods: 1, gpus: 2}.list(), "4", "64Gi")[0]
			l, client, _ := liveLoop(t, pod)
			client.PrependReactor("get", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
				if holds == "" {
					return true, nil, apierrors.NewTimeoutError("lost", 0)
				}
				return true, sized(crew{name: "g", pods: 1, gpus: 2}.list(), holds, "64Gi")[0], nil
			})
			l.unseen.noteResize(act.Resizing{Pod: pod, Container: "c", Resources: twentyCPUs}, act.ErrUnread, noon)
			if err := l.unseen.learnResizes(t.Context(), l.Actor, noon); (err != nil) != (want == "") {
				t.Fatalf("%q: error %v", holds, err)
			}
			got := l.unseen.show([]*corev1.Pod{pod}, noon.Add(time.Second))[0].Spec.Containers[0].Resources.Requests.Cpu().String()
			if want != "" && got != want {
				t.Errorf("%s CPUs, want %s", got, want)
			}
		})
	}
}
