package act

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/internal/must"
)

// TestResize checks what is written: the annotation first, unless it is there, and then the resources, for the pod of that UID.
func TestResize(t *testing.T) {
	wants := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("12")}}
	for _, c := range []struct {
		name    string
		noted   bool
		refuses string // the subresource whose patch the server refuses, or none
		writes  []string
		err     string
	}{
		{"a server without resize", true, "missing", []string{"resize"}, "resize pod ml/p: patch pod ml/p"},
		{"a pod that is gone", true, "gone", []string{"resize"}, ""},
		{"a pod", false, "none", []string{"", "resize"}, ""},
		{"a pod resized before", true, "none", []string{"resize"}, ""},
		{"the annotation is refused", false, "", []string{""}, "resize pod ml/p: patch pod ml/p"},
		{"the resize is refused", false, "resize", []string{"", "resize"}, "resize pod ml/p: patch pod ml/p"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := testPod("p", "u")
			pod.Spec.Containers = []corev1.Container{{Name: "train"}}
			if c.noted {
				pod.Annotations = map[string]string{"asked": "before"}
			}
			client := fake.NewClientset(pod)
			var writes []string
			client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				p := action.(clienttesting.PatchAction)
				writes = append(writes, p.GetSubresource())
				var body struct {
					Metadata struct {
						UID         string
						Annotations map[string]string
					}
					Spec struct {
						Containers []corev1.Container
					}
				}
				if err := json.Unmarshal(p.GetPatch(), &body); err != nil || body.Metadata.UID != "u" {
					t.Errorf("patch %s: %v", p.GetPatch(), err)
				}
				if p.GetSubresource() == "" && body.Metadata.Annotations["asked"] != "now" {
					t.Errorf("patch %s, want the annotation", p.GetPatch())
				}
				if p.GetSubresource() == "resize" && (len(body.Spec.Containers) != 1 || body.Spec.Containers[0].Name != "train" ||
					!strings.Contains(string(p.GetPatch()), `"cpu":"12"`)) {
					t.Errorf("patch %s, want 12 CPUs for train", p.GetPatch())
				}
				if p.GetSubresource() == c.refuses {
					return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "p", nil)
				}
				if c.refuses == "missing" || c.refuses == "gone" {
					return true, nil, apierrors.NewNotFound(corev1.Resource("pods"), "p")
				}
				return true, pod, nil
			})
			if c.refuses == "gone" {
				must.Do(t, client.CoreV1().Pods("ml").Delete(t.Context(), "p", metav1.DeleteOptions{}))
			}
			a := Actor{Client: client}
			err := a.Resize(t.Context(), []Resizing{{Pod: pod, Container: "train", Resources: wants, Annotation: "asked", Value: "now"}})[0]
			if got, want := strings.Join(writes, " "), strings.Join(c.writes, " "); got != want {
				t.Errorf("writes %q, want %q", got, want)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want one with %q", err, c.err)
			}
		})
	}
}

// TestResizesWhoseAnswersAreLost checks that a resize whose answer is lost counts as made if the pod requests the new resources, as
// not made if it does not, and as neither if the pod cannot be read.
func TestResizesWhoseAnswersAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for has, want := range map[string]string{"12": "", "4": "patch pod ml/p", "unread": ErrUnread.Error()} {
			pod := testPod("p", "u")
			pod.Annotations = map[string]string{"asked": "before"}
			client := fake.NewClientset(pod)
			client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewTimeoutError("lost", 0)
			})
			client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if has == "unread" {
					return true, nil, apierrors.NewTimeoutError("lost", 0)
				}
				now := pod.DeepCopy()
				now.Spec.Containers = []corev1.Container{{Name: "train", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(has)},
				}}}
				return true, now, nil
			})
			all := []Resizing{{Pod: pod, Container: "train", Annotation: "asked", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("12000m")},
			}}}
			a := Actor{Client: client}
			err, again := a.Resize(t.Context(), all)[0], a.Resized(t.Context(), all)[0]
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("the pod has %s CPUs: error %v, want one with %q", has, err, want)
			}
			if unread := has == "unread"; (again == nil) != (err == nil) || errors.Is(err, ErrUnread) != unread || errors.Is(again, ErrUnread) != unread {
				t.Errorf("the pod has %s CPUs: errors %v and %v", has, err, again)
			}
		}
	})
}
