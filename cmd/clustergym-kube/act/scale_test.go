package act

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	scalefake "k8s.io/client-go/scale/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/internal/must"
)

// scales is a server of scale subresources, by "resource/name".
type scales struct {
	scalefake.FakeScaleClient
	of      map[string]*autoscalingv1.Scale
	updates int
	before  func(s *scales, key string) error // called before each update, nil for nothing
}

func newScales(of map[string]*autoscalingv1.Scale) *scales {
	s := &scales{of: of}
	key := func(a ktesting.Action, name string) string { return a.GetResource().Resource + "/" + name }
	s.AddReactor("get", "*", func(action ktesting.Action) (bool, rt, error) {
		k := key(action, action.(ktesting.GetAction).GetName())
		if got := s.of[k]; got != nil {
			return true, got.DeepCopy(), nil
		}
		return true, nil, notFound(k)
	})
	s.AddReactor("update", "*", func(action ktesting.Action) (bool, rt, error) {
		u := action.(ktesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
		k := key(action, u.Name)
		s.updates++
		if s.before != nil {
			if err := s.before(s, k); err != nil {
				return true, nil, err
			}
		}
		if u.ResourceVersion != s.of[k].ResourceVersion {
			return true, nil, conflict(k)
		}
		s.of[k] = u.DeepCopy()
		return true, u, nil
	})
	return s
}

func (s *scales) bump(key string, replicas int32) {
	s.of[key].ResourceVersion += "1"
	s.of[key].Spec.Replicas = replicas
}

func scaleOf(name, uid string, replicas int32, selector string) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID(uid), ResourceVersion: "5"},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
		Status:     autoscalingv1.ScaleStatus{Selector: selector},
	}
}

// under adds to an object an owner that is not its controller, and then a controller.
func under[T metav1.Object](o T, kind, version, name, uid string) T {
	yes := true
	o.SetOwnerReferences(append([]metav1.OwnerReference{{Kind: "Bystander", APIVersion: "v1", Name: "b", UID: "b"}},
		metav1.OwnerReference{Kind: kind, APIVersion: version, Name: name, UID: types.UID(uid), Controller: &yes}))
	return o
}

func objectMeta(name, uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID(uid), ResourceVersion: "5"}
}

func testMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Deployment", "ReplicaSet", "StatefulSet"} {
		m.Add(appsv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	for _, kind := range []string{"PyTorchJob", "Rollout", "Rigid", "LeaderWorkerSet"} {
		m.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind}, meta.RESTScopeNamespace)
	}
	return m
}

func job(parallelism, completions int32, mode batchv1.CompletionMode) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: objectMeta("j", "uj")}
	j.Spec.Parallelism = &parallelism
	if completions > 0 {
		j.Spec.Completions = &completions
	}
	j.Spec.CompletionMode = &mode
	return j
}

func TestScaleFindsWhatGoverns(t *testing.T) {
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: objectMeta("rs", "urs")}
	set := &appsv1.StatefulSet{ObjectMeta: objectMeta("ss", "uss")}
	pod := func() *corev1.Pod {
		p := testPod("p", "u")
		p.Labels = map[string]string{"app": "x"}
		return p
	}
	for _, test := range []struct {
		name     string
		pod      *corev1.Pod
		objects  []rt
		scale    string // the object whose scale exists, with 4 replicas
		uid      string
		selector string
		want     error
	}{
		{"a ReplicaSet's own", under(pod(), "ReplicaSet", "apps/v1", "rs", "urs"),
			[]rt{replicaSet}, "replicasets/rs", "urs", "app=x", nil},
		{"a Deployment above a ReplicaSet", under(pod(), "ReplicaSet", "apps/v1", "rs", "urs"),
			[]rt{under(replicaSet.DeepCopy(), "Deployment", "apps/v1", "d", "ud")}, "deployments/d", "ud", "app=x", nil},
		{"a resource of its own kind above a ReplicaSet", under(pod(), "ReplicaSet", "apps/v1", "rs", "urs"),
			[]rt{under(replicaSet.DeepCopy(), "Rollout", "example.com/v1", "r", "ur")}, "rollouts/r", "ur", "", nil},
		{"a StatefulSet", under(pod(), "StatefulSet", "apps/v1", "ss", "uss"),
			[]rt{set}, "statefulsets/ss", "uss", "app=x", nil},
		{"a custom resource", under(pod(), "PyTorchJob", "example.com/v1", "pj", "upj"),
			nil, "pytorchjobs/pj", "upj", "app=x", nil},
		{"a custom resource without scale", under(pod(), "Rigid", "example.com/v1", "r", "ur"), nil, "", "", "", ErrRigid},
		{"a kind that the server does not know", under(pod(), "Unheard", "example.com/v1", "r", "ur"), nil, "", "", "", ErrRigid},
		{"a pod alone", pod(), nil, "", "", "", ErrRigid},
		{"a StatefulSet that is made by what counts groups", under(pod(), "StatefulSet", "apps/v1", "ss", "uss"),
			[]rt{under(set.DeepCopy(), "LeaderWorkerSet", "example.com/v1", "l", "ul")}, "leaderworkersets/l", "ul", "index=0", ErrRigid},
		{"a StatefulSet that is made by what has no scale", under(pod(), "StatefulSet", "apps/v1", "ss", "uss"),
			[]rt{under(set.DeepCopy(), "Rigid", "example.com/v1", "r", "ur")}, "statefulsets/ss", "uss", "", ErrRigid},
		{"a ReplicaSet that is gone", under(pod(), "ReplicaSet", "apps/v1", "rs", "urs"), nil, "", "", "", ErrGone},
		{"a ReplicaSet made anew", under(pod(), "ReplicaSet", "apps/v1", "rs", "old"), []rt{replicaSet}, "", "", "", ErrGone},
		{"a Deployment made anew", under(pod(), "ReplicaSet", "apps/v1", "rs", "urs"),
			[]rt{under(replicaSet.DeepCopy(), "Deployment", "apps/v1", "d", "old")}, "deployments/d", "ud", "", ErrGone},
	} {
		t.Run(test.name, func(t *testing.T) {
			of := map[string]*autoscalingv1.Scale{}
			if test.scale != "" {
				_, name, _ := strings.Cut(test.scale, "/")
				of[test.scale] = scaleOf(name, test.uid, 4, test.selector)
			}
			s := newScales(of)
			a := Actor{Client: fake.NewClientset(test.objects...), Scales: s, Mapper: testMapper()}
			err := a.Scale(t.Context(), test.pod, 6, nil)
			if !agrees(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if test.want != nil {
				if s.updates != 0 {
					t.Errorf("%d updates", s.updates)
				}
				return
			}
			if got := of[test.scale].Spec.Replicas; got != 6 || s.updates != 1 {
				t.Errorf("%d replicas after %d updates", got, s.updates)
			}
			if err := a.Scale(t.Context(), test.pod, 6, nil); err != nil || s.updates != 1 {
				t.Errorf("again: %v, %d updates", err, s.updates)
			}
		})
	}
}

func TestScaleMeetsOthers(t *testing.T) {
	const key = "deployments/d"
	for _, test := range []struct {
		name     string
		before   func(s *scales, key string) error
		want     error
		replicas int32
		updates  int
	}{
		{"the status changed meanwhile", once(func(s *scales, key string) error { s.bump(key, 4); return nil }), nil, 2, 2},
		{"another scaled it to something else", once(func(s *scales, key string) error { s.bump(key, 9); return nil }), errConflict, 9, 1},
		{"another scaled it to the same", once(func(s *scales, key string) error { s.bump(key, 2); return nil }), nil, 2, 1},
		{"the answer is lost after it was done", once(func(s *scales, key string) error { s.bump(key, 2); return timeout() }), nil, 2, 1},
		{"the server is away for a while", once(func(*scales, string) error { return connectionRefused() }), nil, 2, 2},
		{"forbidden", func(*scales, string) error { return apierrors.NewForbidden(podResource, "d", nil) }, errAny, 4, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScales(map[string]*autoscalingv1.Scale{key: scaleOf("d", "ud", 4, "")})
				s.before = test.before
				replicaSet := under(&appsv1.ReplicaSet{ObjectMeta: objectMeta("rs", "urs")}, "Deployment", "apps/v1", "d", "ud")
				a := Actor{Client: fake.NewClientset(replicaSet), Scales: s, Mapper: testMapper()}
				err := a.Scale(t.Context(), under(testPod("p", "u"), "ReplicaSet", "apps/v1", "rs", "urs"), 2, nil)
				if !agrees(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if got := s.of[key].Spec.Replicas; got != test.replicas || s.updates != test.updates {
					t.Errorf("%d replicas after %d updates, want %d after %d", got, s.updates, test.replicas, test.updates)
				}
			})
		})
	}
}

// once returns a function that calls do for the first update and does nothing for later ones.
func once(do func(s *scales, key string) error) func(s *scales, key string) error {
	done := false
	return func(s *scales, key string) error {
		if done {
			return nil
		}
		done = true
		return do(s, key)
	}
}

// TestScaleShedsWhatItIsTold checks that the pods to shed become the cheapest to delete before a ReplicaSet shrinks, and in no
// other case.
func TestScaleShedsWhatItIsTold(t *testing.T) {
	for _, test := range []struct {
		name     string
		kind     string
		replicas int32
		marked   bool
	}{
		{"a ReplicaSet shrinks", "ReplicaSet", 2, true},
		{"a ReplicaSet grows", "ReplicaSet", 6, false},
		{"a StatefulSet shrinks by number", "StatefulSet", 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects := []rt{
				&appsv1.ReplicaSet{ObjectMeta: objectMeta("o", "uo")}, &appsv1.StatefulSet{ObjectMeta: objectMeta("o", "uo")},
			}
			var pods []*corev1.Pod
			for i := range 4 {
				p := under(testPod(fmt.Sprint("p", i), fmt.Sprint("u", i)), test.kind, "apps/v1", "o", "uo")
				p.Annotations = map[string]string{"kept": "yes"}
				pods, objects = append(pods, p), append(objects, p.DeepCopy())
			}
			client := fake.NewClientset(objects...)
			s := newScales(map[string]*autoscalingv1.Scale{
				"replicasets/o": scaleOf("o", "uo", 4, ""), "statefulsets/o": scaleOf("o", "uo", 4, ""),
			})
			s.before = func(*scales, string) error {
				for i := range pods {
					p, err := client.CoreV1().Pods("ml").Get(t.Context(), pods[i].Name, metav1.GetOptions{})
					if err != nil {
						return err
					}
					want := ""
					if test.marked && i >= 2 {
						want = "-1000"
					}
					if got := p.Annotations[corev1.PodDeletionCost]; got != want || p.Annotations["kept"] != "yes" {
						t.Errorf("pod %d: cost %q, want %q (%v)", i, got, want, p.Annotations)
					}
				}
				return nil
			}
			a := Actor{Client: client, Scales: s, Mapper: testMapper()}
			gone := under(testPod("gone", "ug"), test.kind, "apps/v1", "o", "uo")
			if err := a.Scale(t.Context(), pods[0], test.replicas, append(pods[2:4:4], gone)); err != nil || s.updates != 1 {
				t.Errorf("got %v, %d updates", err, s.updates)
			}
		})
	}
}

// TestScaleDoesNotShedOthers checks that a ReplicaSet does not shrink if the pods to shed could not be marked, because it would
// delete others.
func TestScaleDoesNotShedOthers(t *testing.T) {
	pod := under(testPod("p", "u"), "ReplicaSet", "apps/v1", "o", "uo")
	client := fake.NewClientset(pod, &appsv1.ReplicaSet{ObjectMeta: objectMeta("o", "uo")})
	failing(client, "patch", "pods", apierrors.NewForbidden(podResource, "p", nil))
	s := newScales(map[string]*autoscalingv1.Scale{"replicasets/o": scaleOf("o", "uo", 4, "")})
	a := Actor{Client: client, Scales: s, Mapper: testMapper()}
	if err := a.Scale(t.Context(), pod, 3, []*corev1.Pod{pod}); !apierrors.IsForbidden(err) || s.updates != 0 {
		t.Errorf("got %v, %d updates", err, s.updates)
	}
}

func TestScaleJob(t *testing.T) {
	pod := under(testPod("p", "u"), "Job", "batch/v1", "j", "uj")
	for _, test := range []struct {
		name                     string
		job                      *batchv1.Job
		parallelism, completions int32
		want                     error
	}{
		{"an elastic Indexed Job", job(4, 4, batchv1.IndexedCompletion), 2, 2, nil},
		{"an Indexed Job with more to complete", job(4, 8, batchv1.IndexedCompletion), 2, 8, nil},
		{"a Job without indexes", job(4, 4, batchv1.NonIndexedCompletion), 2, 4, nil},
		{"a work queue", job(4, 0, batchv1.NonIndexedCompletion), 2, 0, nil},
		{"a Job that has it already", job(2, 2, batchv1.IndexedCompletion), 2, 2, nil},
		{"a Job made anew", &batchv1.Job{ObjectMeta: objectMeta("j", "other")}, 0, 0, ErrGone},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := fake.NewClientset(test.job)
			a := Actor{Client: client}
			err := a.Scale(t.Context(), pod, 2, []*corev1.Pod{pod})
			if !agrees(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if test.want != nil {
				return
			}
			now := must.Get(client.BatchV1().Jobs("ml").Get(t.Context(), "j", metav1.GetOptions{}))(t)
			completions := int32(0)
			if now.Spec.Completions != nil {
				completions = *now.Spec.Completions
			}
			if *now.Spec.Parallelism != test.parallelism || completions != test.completions {
				t.Errorf("parallelism %d, completions %d", *now.Spec.Parallelism, completions)
			}
		})
	}
	a := Actor{Client: fake.NewClientset()}
	if err := a.Scale(t.Context(), pod, 2, nil); !errors.Is(err, ErrGone) {
		t.Errorf("no Job: got %v", err)
	}
	client := fake.NewClientset(job(4, 4, batchv1.IndexedCompletion))
	failing(client, "patch", "jobs", apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "j",
		errors.New("cannot change parallelism for a Job referencing gang-scheduled PodGroup")))
	a = Actor{Client: client}
	if err := a.Scale(t.Context(), pod, 2, nil); !errors.Is(err, ErrRigid) {
		t.Errorf("a Job that Kubernetes has made a group for: got %v, want %v", err, ErrRigid)
	}
}

func TestScaleJobMeetsOthers(t *testing.T) {
	for _, test := range []struct {
		name    string
		by      int32 // the parallelism that somebody else sets
		want    error
		patches int
	}{
		{"its status changed", 4, nil, 2}, {"another scaled it", 8, errConflict, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset(job(4, 4, batchv1.IndexedCompletion))
			late := true
			client.PrependReactor("patch", "jobs", func(action ktesting.Action) (bool, rt, error) {
				patch := string(action.(ktesting.PatchAction).GetPatch())
				if late {
					late = false
					j := job(test.by, test.by, batchv1.IndexedCompletion)
					j.ResourceVersion = "6"
					return true, nil, errors.Join(client.Tracker().Update(action.GetResource(), j, "ml"), conflict("j"))
				}
				if !containsOnce(patch, `"resourceVersion":"6"`) {
					t.Errorf("%s: patch %s is not of version 6", test.name, patch)
				}
				return false, nil, nil
			})
			a := Actor{Client: client}
			err := a.Scale(t.Context(), under(testPod("p", "u"), "Job", "batch/v1", "j", "uj"), 2, nil)
			if !agrees(err, test.want) || calls(client, "patch", "jobs") != test.patches {
				t.Errorf("%s: got %v after %d patches", test.name, err, calls(client, "patch", "jobs"))
			}
		})
	}
}
