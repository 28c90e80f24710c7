package act

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

// budget is the server's answer when a disruption budget forbids an eviction.
func budget() error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
		metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget b needs 4 healthy pods and has 4 currently"})
	return err
}

func TestRemove(t *testing.T) {
	for _, test := range []struct {
		name     string
		now      *corev1.Pod // the pod on the server when it is read, nil for none
		errs     []error     // results of the requests; later requests succeed
		evict    error       // what Evict returns, nil for success
		delete   error
		requests int
	}{
		{"at once", testPod("p", "u"), nil, nil, nil, 1},
		{"gone", nil, []error{notFound("p")}, nil, nil, 1},
		{"another took the name", testPod("p", "v"), []error{conflict("p")}, nil, nil, 1},
		{"somebody wrote the pod meanwhile", testPod("p", "u"), []error{conflict("p")}, nil, nil, 2},
		{"lost after it was done", nil, []error{timeout(), notFound("p")}, nil, nil, 2},
		{"busy for another reason", testPod("p", "u"), []error{busy(), unavailable()}, nil, nil, 3},
		{"forbidden", testPod("p", "u"), []error{apierrors.NewForbidden(podResource, "p", nil)}, errAny, errAny, 1},
		{"in trouble for good", testPod("p", "u"), []error{internal(), internal(), internal(), internal()}, errAny, errAny, 4},
		{"a disruption budget", testPod("p", "u"), []error{budget()}, ErrBudget, nil, 1},
		{"a disruption budget of another that took the name", testPod("p", "v"), []error{budget()}, nil, nil, 1},
	} {
		for _, way := range []string{"evict", "delete"} {
			if way == "delete" && strings.Contains(test.name, "budget") {
				continue // deletion ignores disruption budgets
			}
			t.Run(way+" "+test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client := fake.NewClientset()
					if test.now != nil {
						client = fake.NewClientset(test.now)
					}
					a := Actor{Client: client}
					do, verb, resource, want := a.Evict, "create", "pods/eviction", test.evict
					if way == "delete" {
						do, verb, resource, want = a.Delete, "delete", "pods", test.delete
					}
					failing(client, verb, "pods", test.errs...)
					err := do(t.Context(), []*corev1.Pod{testPod("p", "u")})[0]
					if !agrees(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
					if n := calls(client, verb, resource); n != test.requests {
						t.Errorf("%d requests, want %d", n, test.requests)
					}
					for _, action := range client.Actions() {
						if uid := meant(action); uid != nil && *uid != "u" {
							t.Errorf("%s of UID %q", way, *uid)
						}
					}
				})
			})
		}
	}
}

// errAny stands for any error that wraps none of this package's errors.
var errAny = errors.New("any")

// agrees reports whether err is the wanted error; nil means success.
func agrees(err, want error) bool {
	if want == nil || errors.Is(want, errAny) {
		return (err == nil) == (want == nil)
	}
	return errors.Is(err, want)
}

// meant returns the UID in a deletion or an eviction, or nil for other requests.
func meant(action ktesting.Action) *types.UID {
	none := types.UID("")
	options := (*metav1.DeleteOptions)(nil)
	switch action := action.(type) {
	case ktesting.DeleteActionImpl:
		options = &action.DeleteOptions
	case ktesting.CreateActionImpl:
		options = action.Object.(*policyv1.Eviction).DeleteOptions
	default:
		return nil
	}
	if options == nil || options.Preconditions == nil || options.Preconditions.UID == nil {
		return &none
	}
	return options.Preconditions.UID
}

func TestRemoveAnswersInOrder(t *testing.T) {
	client := fake.NewClientset(testPod("a", "1"), testPod("b", "2"))
	a := Actor{Client: client}
	client.PrependReactor("create", "pods", func(action ktesting.Action) (bool, rt, error) {
		if e := action.(ktesting.CreateAction).GetObject().(*policyv1.Eviction); e.Name == "b" {
			return true, nil, budget()
		}
		return true, nil, nil
	})
	errs := a.Evict(t.Context(), []*corev1.Pod{testPod("a", "1"), testPod("b", "2"), testPod("c", "3")})
	if errs[0] != nil || !errors.Is(errs[1], ErrBudget) || errs[2] != nil {
		t.Errorf("got %v", errs)
	}
	if !strings.Contains(errs[1].Error(), "ml/b") {
		t.Errorf("%v does not name the pod", errs[1])
	}
}
