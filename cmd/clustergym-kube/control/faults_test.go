package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

var began = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// liveLoop returns a loop in live mode, a client of a server with the objects, and the store that contains the control ConfigMap.
func liveLoop(t *testing.T, objects ...runtime.Object) (*Loop, *fake.Clientset, cache.Store) {
	t.Helper()
	client := fake.NewClientset(objects...)
	finder := new(policy.Finder)
	source := must.Get(finder.Find("fjf"))(t)
	registry := prometheus.NewRegistry()
	decider, err := decide.New(decide.Config{
		Source: source, Fallback: finder.Fallback(""), Deadline: time.Minute, Registry: prometheus.NewRegistry(),
	})
	must.Do(t, err)
	l, err := New(Config{
		Mode: Live, Namespace: "ns", Client: client, Actor: &act.Actor{Client: client, Parallel: 1}, Decider: decider,
		GangDeadline: time.Minute, Now: func() time.Time { return began },
	}, registry)
	must.Do(t, err)
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	must.Do(t, store.Add(switchTo("live")))
	l.watch = &watch{control: corelisters.NewConfigMapLister(store).ConfigMaps("ns")}
	return l, client, store
}

// switchTo returns the control ConfigMap with a mode.
func switchTo(mode string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: ControlName}, Data: map[string]string{modeKey: mode}}
}

func aPod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}, Spec: corev1.PodSpec{NodeName: node},
	}
}

// names returns the names of the pods in the requests of a verb.
func names(client *fake.Clientset, verb, subresource string) (names []string) {
	for _, action := range client.Actions() {
		if action.GetVerb() != verb || action.GetSubresource() != subresource || action.GetResource().Resource != "pods" {
			continue
		}
		switch a := action.(type) {
		case ktesting.DeleteAction:
			names = append(names, a.GetName())
		case ktesting.CreateAction:
			switch o := a.GetObject().(type) {
			case *corev1.Binding:
				names = append(names, o.Name)
			case *policyv1.Eviction:
				names = append(names, o.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestGivingUpTakesItsTime checks that the pods of a partly bound gang that never ran are deleted one gang deadline after the
// loop first saw it so, and that those that could be bound have twice the time.
func TestGivingUpTakesItsTime(t *testing.T) {
	a, b := aPod("a", "n1"), aPod("b", "n1")
	l, client, _ := liveLoop(t, a, b)
	r := &round{view: &mirror.View{Partial: []mirror.Partial{{
		Job: mirror.Job{Spec: cluster.JobSpec{Name: "ns/g"}, Bound: []*corev1.Pod{a, b}}, Lacks: 1, Since: began.Add(-time.Minute),
	}}}}
	for _, step := range []struct {
		after time.Duration
		binds bool // the missing pod can be bound in this round
		want  int
	}{
		{0, false, 0}, {59 * time.Second, false, 0}, {61 * time.Second, true, 0}, {119 * time.Second, true, 0}, {120 * time.Second, true, 2},
	} {
		r.bind = nil
		if step.binds {
			r.bind = []gangBinding{{job: &r.view.Partial[0].Job, rest: true}}
		}
		l.incomplete.see(r.view, began.Add(step.after), 2*l.GangDeadline)
		must.Do(t, l.giveUp(t.Context(), r, began.Add(step.after)))
		if got := names(client, "delete", ""); len(got) != step.want {
			t.Errorf("after %v: deleted %v, want %d pods", step.after, got, step.want)
		}
		if binds := len(r.bind) > 0; binds != (step.binds && step.want == 0) {
			t.Errorf("after %v: the other pods are bound: %t", step.after, binds)
		}
	}
}

// TestLedgerIsReadBeforeItIsWritten checks that a process without a limit of stops, which has not read the ledger, can write to
// an existing ledger.
func TestLedgerIsReadBeforeItIsWritten(t *testing.T) {
	there := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: ledgerName, ResourceVersion: "7"},
		Data:       map[string]string{stopsKey: fmt.Sprintf("[%d]", began.Unix()-60)},
	}
	l, client, _ := liveLoop(t, there)
	must.Do(t, l.ledger.book(t.Context(), 1, began))
	now := must.Get(client.CoreV1().ConfigMaps("ns").Get(t.Context(), ledgerName, metav1.GetOptions{}))(t)
	if want := fmt.Sprintf("[%d,%d]", began.Unix()-60, began.Unix()); now.Data[stopsKey] != want {
		t.Errorf("the ledger is %s, want %s", now.Data[stopsKey], want)
	}
}

// TestSwitchStopsBindings checks that bindAll reads the mode between gangs, and stops after a complete gang if somebody sets the
// mode to off or deletes the control ConfigMap.
func TestSwitchStopsBindings(t *testing.T) {
	for name, pull := range map[string]func(cache.Store) error{
		"off":     func(s cache.Store) error { return s.Update(switchTo("off")) },
		"deleted": func(s cache.Store) error { return s.Delete(switchTo("live")) },
	} {
		l, client, store := liveLoop(t)
		bindings := 0
		client.PrependReactor("create", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
			if bindings++; bindings == 10 {
				if err := pull(store); err != nil {
					t.Error(err)
				}
			}
			return true, nil, nil
		})
		r := &round{}
		for i := range 100 {
			g := gangBinding{key: fmt.Sprint(i), job: &mirror.Job{}}
			for j := range 9 {
				g.pods = append(g.pods, act.Binding{Pod: aPod(fmt.Sprintf("g%d-%d", i, j), ""), Node: "n1"})
			}
			r.bind = append(r.bind, g)
		}
		if err := l.bindAll(context.Background(), r, began); !errors.Is(err, errOff) {
			t.Errorf("%s: error %v, want that it is off", name, err)
		}
		if bindings > atOnce || bindings%9 != 0 {
			t.Errorf("%s: %d pods were bound, want whole gangs of 9 and at most %d", name, bindings, atOnce)
		}
	}
}

// TestMissingSwitchIsTold checks that the mode is shadow while the control ConfigMap is missing, and that the log says so once,
// with the name of the ConfigMap.
func TestMissingSwitchIsTold(t *testing.T) {
	l, _, store := liveLoop(t)
	var text bytes.Buffer
	l.Log = slog.New(slog.NewJSONHandler(&text, nil))
	for _, there := range []bool{true, false, false, true} {
		do, want := store.Delete, Shadow
		if there {
			do, want = store.Add, Live
		}
		must.Do(t, do(switchTo("live")))
		if got := l.orders(began).mode; got != want {
			t.Errorf("there %t: mode %s, want %s", there, got, want)
		}
		l.setMode(within(l.Mode, l.orders(began).mode))
	}
	for _, want := range []string{`"configmap":"ns/clustergym-control"`, `"level":"WARN"`, `"mode":"shadow"`, `"mode":"live"`} {
		if n := strings.Count(text.String(), want); n < 1 || n > 2 {
			t.Errorf("the log has %s %d times:\n%s", want, n, &text)
		}
	}
}

// TestReturningNodes checks that nodes that are being returned stay so, even if others would be cheaper by now.
func TestReturningNodes(t *testing.T) {
	nodes := []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "n2", Labels: map[string]string{mirror.ReturningLabel: "true"}}},
	}
	s, err := cluster.NewState(cluster.Spec{Servers: []cluster.ServerSpec{
		{Name: "n1", GPUs: 8, Pool: cluster.Inference, CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited},
		{Name: "n2", GPUs: 8, Pool: cluster.Inference, CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited},
	}}, 1)
	must.Do(t, err)
	s.SetOffer(2, 0)
	tx := s.Begin(nil)
	for i := range s.Servers() {
		must.Do(t, tx.Loan(cluster.ServerID(i)))
	}
	tx.End()
	s.SetOffer(1, 0)
	r := &round{view: &mirror.View{State: s}}
	s.CopyTo(&r.before)
	r.returning = returning(nodes)
	r.overdue()
	if !slices.Equal(r.giveBack, []string{"n2"}) {
		t.Errorf("%v go back, want n2", r.giveBack)
	}
}
