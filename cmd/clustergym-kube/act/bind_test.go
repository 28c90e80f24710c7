package act

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"pgregory.net/rapid"
)

// The possible results of a request. If the answer is lost, the server may have carried out the request or not.
var fates = []string{"done", "refused", "busy", "unavailable", "lost after", "lost before", "timeout after", "timeout before",
	"broken after", "forbidden", "conflict", "taken", "deleted", "renewed"}

var readFates = []string{"done", "done", "refused", "lost after", "unavailable", "forbidden"}

// model is an API server that has only pods. Each request gets the next of the given fates, and succeeds when no fate is left.
type model struct {
	sync.Mutex
	pods        map[string]*corev1.Pod
	binds       map[string][]string
	reads       map[string][]string
	unread      map[string]bool // the last read failed
	unprotected bool            // a binding had no UID
}

func (m *model) client() *fake.Clientset {
	client := &fake.Clientset{}
	client.AddReactor("create", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
		m.Lock()
		defer m.Unlock()
		return true, nil, m.bind(action.(ktesting.CreateAction).GetObject().(*corev1.Binding))
	})
	client.AddReactor("get", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
		m.Lock()
		defer m.Unlock()
		name := action.(ktesting.GetAction).GetName()
		err := failure(next(m.reads, name))
		m.unread[name] = err != nil
		if err != nil {
			return true, nil, err
		}
		if pod := m.pods[name]; pod != nil {
			return true, pod.DeepCopy(), nil
		}
		return true, nil, notFound(name)
	})
	return client
}

// next removes and returns the next fate of a request.
func next(fates map[string][]string, name string) string {
	if len(fates[name]) == 0 {
		return "done"
	}
	fate := fates[name][0]
	fates[name] = fates[name][1:]
	return fate
}

// failure returns the error that the client gets instead of the server's answer.
func failure(fate string) error {
	switch word, _, _ := strings.Cut(fate, " "); word {
	case "refused":
		return connectionRefused()
	case "busy":
		return busy()
	case "unavailable":
		return unavailable()
	case "lost":
		return &url.Error{Op: "Post", Err: context.DeadlineExceeded}
	case "timeout":
		return timeout()
	case "broken":
		return internal()
	case "forbidden":
		return apierrors.NewForbidden(podResource, "p", errors.New("role was taken away"))
	case "conflict":
		return conflict("p")
	}
	return nil
}

func (m *model) bind(b *corev1.Binding) error {
	fate := next(m.binds, b.Name)
	m.unprotected = m.unprotected || b.UID == ""
	pod := m.pods[b.Name]
	switch {
	case fate == "taken" && pod != nil && pod.Spec.NodeName == "":
		pod.Spec.NodeName = "other"
	case fate == "deleted":
		delete(m.pods, b.Name)
	case fate == "renewed":
		m.pods[b.Name] = testPod(b.Name, "renewed")
	}
	pod = m.pods[b.Name]
	err := failure(fate)
	if err == nil || strings.HasSuffix(fate, "after") {
		var answer error
		switch {
		case pod == nil:
			answer = notFound(b.Name)
		case pod.UID != b.UID || pod.Spec.NodeName != "":
			answer = conflict(b.Name)
		default:
			pod.Spec.NodeName = b.Target.Name
		}
		if err == nil {
			err = answer
		}
	}
	return err
}

// TestBindSaysWhatTheServerHas checks that, whatever happens to the requests, Bind returns nil for a binding exactly if the
// server has the pod on that node, and that the result is known unless the last read failed.
func TestBindSaysWhatTheServerHas(test *testing.T) {
	rapid.Check(test, func(t *rapid.T) {
		m := &model{
			pods: map[string]*corev1.Pod{}, binds: map[string][]string{}, reads: map[string][]string{}, unread: map[string]bool{},
		}
		var bindings []Binding
		for i := range rapid.IntRange(1, 6).Draw(t, "pods") {
			name := fmt.Sprint("p", i)
			m.pods[name] = testPod(name, "u"+name)
			m.pods[name].Spec.NodeName = rapid.SampledFrom([]string{"", "", "", "n", "other"}).Draw(t, "node")
			m.binds[name] = rapid.SliceOfN(rapid.SampledFrom(fates), 0, 6).Draw(t, name)
			m.reads[name] = rapid.SliceOfN(rapid.SampledFrom(readFates), 0, 6).Draw(t, "read "+name)
			bindings = append(bindings, Binding{testPod(name, "u"+name), "n"})
		}
		a := Actor{Client: m.client(), Parallel: rapid.IntRange(1, 4).Draw(t, "parallel")}
		var errs []error
		synctest.Test(test, func(t *testing.T) { errs = a.Bind(t.Context(), bindings) })
		for i, err := range errs {
			name, uid := bindings[i].Pod.Name, bindings[i].Pod.UID
			pod := m.pods[name]
			gone := pod == nil || pod.UID != uid
			there := !gone && pod.Spec.NodeName == "n"
			switch {
			case errors.Is(err, ErrUnknown):
				if !m.unread[name] {
					t.Errorf("pod %s: got %v, though the last read was answered", name, err)
				}
			case (err == nil) != there:
				t.Errorf("pod %s: got %v, server has it there: %t", name, err, there)
			case errors.Is(err, ErrGone) && !gone:
				t.Errorf("pod %s: got %v, pod gone: %t", name, err, gone)
			case errors.Is(err, ErrElsewhere) && (gone || pod.Spec.NodeName != "other"):
				t.Errorf("pod %s: got %v, pod gone: %t", name, err, gone)
			}
		}
		if m.unprotected {
			t.Error("a binding came without the UID of its pod")
		}
	})
}

func TestBind(t *testing.T) {
	for _, test := range []struct {
		name  string
		has   *corev1.Pod // nil for none
		fates []string
		want  error // nil for success
	}{
		{"a pod that waits", testPod("p", "u"), nil, nil},
		{"a pod that is there already", on("n"), nil, nil},
		{"a timeout after it was done", testPod("p", "u"), []string{"timeout after"}, nil},
		{"all attempts lost, the last one after it was done", testPod("p", "u"),
			[]string{"lost before", "lost before", "lost before", "lost after"}, nil},
		{"another scheduler was faster", on("other"), nil, ErrElsewhere},
		{"no pod", nil, nil, ErrGone},
		{"a pod made anew under the name", testPod("p", "v"), nil, ErrGone},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &model{pods: map[string]*corev1.Pod{}, binds: map[string][]string{"p": test.fates}, unread: map[string]bool{}}
			if test.has != nil {
				m.pods["p"] = test.has
			}
			a := Actor{Client: m.client()}
			err := a.Bind(t.Context(), []Binding{{testPod("p", "u"), "n"}})[0]
			if !agrees(err, test.want) {
				t.Errorf("%s: got %v, want %v", test.name, err, test.want)
			}
			if errors.Is(err, ErrElsewhere) && !strings.Contains(err.Error(), "other") {
				t.Errorf("%s: %v does not name the node", test.name, err)
			}
		})
	}
}

func on(node string) *corev1.Pod {
	pod := testPod("p", "u")
	pod.Spec.NodeName = node
	return pod
}

// TestWhere checks what Where returns, and that it binds nothing.
func TestWhere(t *testing.T) {
	for node, want := range map[string]error{"n1": nil, "n2": ErrElsewhere, "": ErrNowhere} {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name, pod.UID = "ns", "p", "u"
		there := pod.DeepCopy()
		there.Spec.NodeName = node
		client := fake.NewClientset(there)
		a := &Actor{Client: client}
		if got := a.Where(t.Context(), []Binding{{Pod: pod, Node: "n1"}})[0]; !errors.Is(got, want) {
			t.Errorf("the pod is on %q: error %v, want %v", node, got, want)
		}
		for _, action := range client.Actions() {
			if action.GetVerb() != "get" {
				t.Errorf("Where sent %s %s", action.GetVerb(), action.GetSubresource())
			}
		}
	}
}
