package control

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// TestNodesThatCannotBeLent checks that no gang is bound to a node of the inference pool that could not be put on loan.
func TestNodesThatCannotBeLent(t *testing.T) {
	pool := map[string]string{mirror.PoolLabel: mirror.InferencePool}
	nodes := []*corev1.Node{node("i1", 4, pool), node("i2", 4, pool)}
	crews := []crew{{name: "a", pods: 4, least: 4, gpus: 1, asked: time.Hour}, {name: "b", pods: 4, least: 4, gpus: 1, asked: time.Hour}}
	v, o := view(t, nodes, crews, 2)
	var objects []runtime.Object
	for _, n := range nodes {
		objects = append(objects, n)
	}
	for _, pod := range o.Pods {
		objects = append(objects, pod)
	}
	l, client, _ := liveLoop(t, objects...)
	client.PrependReactor("patch", "nodes", func(action ktesting.Action) (bool, runtime.Object, error) {
		if action.(ktesting.PatchAction).GetName() == "i2" {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "i2", errors.New("no such right"))
		}
		return false, nil, nil
	})
	r := decideRound(v, decider(t, "fjf+loan"), "r", limits{})
	if !slices.Equal(r.loan, []string{"i1", "i2"}) || len(r.bind) != 2 {
		t.Fatalf("the round lends %v and binds %d gangs, want both nodes and both gangs", r.loan, len(r.bind))
	}
	if err := l.carryOut(t.Context(), r, o, noon); !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want one that says that the node cannot be lent", err)
	}
	bound := 0
	for _, action := range client.Actions() {
		if create, ok := action.(ktesting.CreateAction); ok && create.GetSubresource() == "binding" {
			bound++
			if to := create.GetObject().(*corev1.Binding).Target.Name; to != "i1" {
				t.Errorf("a pod is bound to %s, which is not on loan", to)
			}
		}
	}
	if bound != 4 {
		t.Errorf("%d pods are bound, want the 4 of the gang on i1", bound)
	}
}

// TestNodesThatGoBackGetNoPods checks that no running gang grows onto a node that the same round returns to inference.
func TestNodesThatGoBackGetNoPods(t *testing.T) {
	lent := map[string]string{mirror.PoolLabel: mirror.InferencePool, mirror.LoanedToLabel: mirror.TrainingPool}
	nodes := []*corev1.Node{node("i", 4, lent), node("n", 2, nil)}
	grows := crew{name: "grows", pods: 3, least: 2, gpus: 1, on: []string{"n", "n"}, asked: time.Hour}
	for offer, want := range map[int32]int{0: 0, 1: 1} {
		v, _ := view(t, nodes, []crew{grows}, offer)
		r := decideRound(v, decider(t, "fjf"), "r", limits{})
		if len(r.giveBack) != int(1-offer) || len(r.bind) != want {
			t.Errorf("with %d nodes offered the round returns %v and binds %d gangs, want %d", offer, r.giveBack, len(r.bind), want)
		}
	}
}
