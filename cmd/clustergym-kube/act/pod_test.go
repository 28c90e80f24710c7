package act

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/clustergym/clustergym/internal/must"
)

func containsOnce(s, part string) bool { return strings.Count(s, part) == 1 }

func TestUnschedulable(t *testing.T) {
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	waits := func(reason, message string) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
			LastTransitionTime: metav1.Unix(1000, 0)}
	}
	for _, test := range []struct {
		name            string
		node            string
		has             []corev1.PodCondition
		reason, message string
		patches         int
		since           int64 // LastTransitionTime, 0 for now
	}{
		{"a new pod", "", nil, "", "too few GPUs", 1, 0},
		{"another message", "", []corev1.PodCondition{ready, waits("Unschedulable", "old")}, "", "too few GPUs", 1, 1000},
		{"another reason", "", []corev1.PodCondition{waits("Unschedulable", "too few GPUs")}, "Incomplete", "too few GPUs", 1, 1000},
		{"the same", "", []corev1.PodCondition{waits("Unschedulable", "too few GPUs"), ready}, "", "too few GPUs", 0, 1000},
		{"a pod that has a node", "n", nil, "", "too few GPUs", 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := testPod("p", "u")
			pod.Spec.NodeName = test.node
			pod.Status.Conditions = test.has
			client := fake.NewClientset(pod)
			a := Actor{Client: client}
			before := time.Now().Add(-time.Second)
			must.Do(t, a.Unschedulable(t.Context(), pod, test.reason, test.message))
			if n := calls(client, "patch", "pods/status"); n != test.patches {
				t.Fatalf("%d patches, want %d", n, test.patches)
			}
			if test.patches == 0 {
				return
			}
			now := must.Get(client.CoreV1().Pods("ml").Get(t.Context(), "p", metav1.GetOptions{}))(t)
			found := 0
			for _, c := range now.Status.Conditions {
				if c.Type != corev1.PodScheduled {
					continue
				}
				found++
				reason := test.reason
				if reason == "" {
					reason = "Unschedulable"
				}
				if c.Status != corev1.ConditionFalse || c.Reason != reason || c.Message != test.message {
					t.Errorf("got %+v", c)
				}
				if at := c.LastTransitionTime; test.since != 0 && at.Unix() != test.since || test.since == 0 && at.Time.Before(before) {
					t.Errorf("last transition at %v", at)
				}
			}
			if found != 1 || len(now.Status.Conditions) != max(1, len(test.has)) {
				t.Errorf("conditions %+v", now.Status.Conditions)
			}
		})
	}
}

func TestUnschedulableOfAPodThatIsGone(t *testing.T) {
	a := Actor{Client: fake.NewClientset()}
	if err := a.Unschedulable(t.Context(), testPod("p", "u"), "", "m"); err != nil {
		t.Errorf("no pod: %v", err)
	}
	client := fake.NewClientset(testPod("p", "v"))
	failing(client, "patch", "pods", apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "p", nil))
	a.Client = client
	if err := a.Unschedulable(t.Context(), testPod("p", "u"), "", "m"); err != nil {
		t.Errorf("another of the name: %v", err)
	}
}

func TestWritesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := &model{pods: map[string]*corev1.Pod{"p": testPod("p", "u"), "q": on("other")}, unread: map[string]bool{}}
		a := Actor{Client: m.client(), Parallel: 1, Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		a.Bind(t.Context(), []Binding{{testPod("p", "u"), "n"}, {testPod("q", "u"), "n"}})
		lines := strings.Split(out.String(), "\n")
		if !strings.Contains(lines[0], "level=DEBUG msg=bind pod=ml/p node=n") ||
			!strings.Contains(lines[1], `level=WARN msg="bind failed" pod=ml/q node=n error="`) {
			t.Errorf("got %s", out.String())
		}
	})
}
