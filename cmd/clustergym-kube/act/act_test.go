package act

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/internal/must"
)

var podResource = schema.GroupResource{Resource: "pods"}

// These functions return errors in the form in which a client gets them.
func conflict(name string) error {
	return apierrors.NewConflict(podResource, name, errors.New("is already assigned, or its UID is another"))
}
func notFound(name string) error { return apierrors.NewNotFound(podResource, name) }
func unavailable() error         { return apierrors.NewServiceUnavailable("starting") }
func internal() error            { return apierrors.NewInternalError(errors.New("etcd")) }
func busy() error                { return apierrors.NewTooManyRequests("busy", 2) }
func timeout() error             { return apierrors.NewTimeoutError("request did not complete", 1) }
func connectionRefused() error {
	return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func testPod(name, uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID(uid)}}
}

// failing makes the first len(errs) calls of a verb return errs in order. A nil error lets the call through.
func failing(client *fake.Clientset, verb, resource string, errs ...error) {
	client.PrependReactor(verb, resource, func(ktesting.Action) (bool, runtime.Object, error) {
		if len(errs) == 0 {
			return false, nil, nil
		}
		err := errs[0]
		errs = errs[1:]
		return err != nil, nil, err
	})
}

// calls returns the number of requests of a verb for a resource, such as "pods/eviction".
func calls(client *fake.Clientset, verb, resource string) (n int) {
	for _, action := range client.Actions() {
		path := action.GetResource().Resource
		if action.GetSubresource() != "" {
			path += "/" + action.GetSubresource()
		}
		if action.GetVerb() == verb && path == resource {
			n++
		}
	}
	return n
}

// slow is a client that takes a second for each binding and stores the highest number of concurrent bindings.
type slow struct {
	kubernetes.Interface
	now, most atomic.Int32
}

type slowCore struct {
	typed.CoreV1Interface
	*slow
}

type slowPods struct {
	typed.PodInterface
	*slow
}

func (s *slow) CoreV1() typed.CoreV1Interface { return slowCore{s.Interface.CoreV1(), s} }
func (s slowCore) Pods(namespace string) typed.PodInterface {
	return slowPods{s.CoreV1Interface.Pods(namespace), s.slow}
}

func (s slowPods) Bind(ctx context.Context, _ *corev1.Binding, _ metav1.CreateOptions) error {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
		return nil
	}
}

func TestBindKeepsToParallel(t *testing.T) {
	for _, test := range []struct{ parallel, pods, want, seconds int }{
		{0, 40, 16, 3}, {1, 3, 1, 3}, {5, 5, 5, 1}, {-1, 2, 2, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &slow{Interface: &fake.Clientset{}}
			a := Actor{Client: client, Parallel: test.parallel}
			var bindings []Binding
			for i := range test.pods {
				bindings = append(bindings, Binding{testPod(fmt.Sprint("p", i), "u"), "n"})
			}
			begin := time.Now()
			must.Do(t, errors.Join(a.Bind(t.Context(), bindings)...))
			if got := int(client.most.Load()); got != test.want {
				t.Errorf("%+v: %d bindings in flight", test, got)
			}
			if took := time.Since(begin); took != time.Duration(test.seconds)*time.Second {
				t.Errorf("%+v: took %v", test, took)
			}
		})
	}
}

func TestTryPausesAsAsked(t *testing.T) {
	for _, test := range []struct {
		name  string
		errs  []error
		calls int
		took  time.Duration
		fails bool
	}{
		{"success at once", []error{nil}, 1, 0, false},
		{"a refusal is final", []error{apierrors.NewForbidden(podResource, "p", nil)}, 1, 0, true},
		{"two failures that pass", []error{unavailable(), connectionRefused(), nil}, 3, 150 * time.Millisecond, false},
		{"the server asks for two seconds", []error{busy(), nil}, 2, 2 * time.Second, false},
		{"the server asks for an hour", []error{apierrors.NewTooManyRequests("busy", 3600), nil}, 2, longestPause, false},
		{"it does not pass", []error{internal(), internal(), internal(), internal(), nil}, 4, 350 * time.Millisecond, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin, n := time.Now(), 0
			err := try(t.Context(), func() error { n++; return test.errs[n-1] })
			if n != test.calls || time.Since(begin) != test.took || (err != nil) != test.fails {
				t.Errorf("%s: %d calls, %v, error %v", test.name, n, time.Since(begin), err)
			}
		})
	}
}

func TestTryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin, n := time.Now(), 0
		err := try(ctx, func() error { n++; return busy() })
		if !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsTooManyRequests(err) || n != 1 || time.Since(begin) != time.Second {
			t.Errorf("got %v after %d calls and %v", err, n, time.Since(begin))
		}
		if err := try(ctx, func() error { n++; return nil }); !errors.Is(err, context.DeadlineExceeded) || n != 1 {
			t.Errorf("got %v, %d calls, want none with a context that is over", err, n)
		}
	})
}
