package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// TestNamespacesShareTheReports checks that a thousand refused pods of one namespace do not keep the pods of other namespaces
// from being reported in the same round, and that the following rounds report those left over.
func TestNamespacesShareTheReports(t *testing.T) {
	l, client, _ := liveLoop(t)
	client.PrependReactor("patch", "pods", func(ktesting.Action) (bool, runtime.Object, error) { return true, &corev1.Pod{}, nil })
	v := &mirror.View{}
	for i := range 1000 {
		pod := aPod(fmt.Sprintf("spam-%d", i), "")
		pod.Namespace = "spam"
		v.Refused = append(v.Refused, mirror.Refusal{Pod: pod, Reason: "NoGPU", Message: "no GPU"})
	}
	for i := range 150 {
		pod := aPod(fmt.Sprintf("honest-%d", i), "")
		pod.Namespace = fmt.Sprintf("team-%d", i%3)
		v.Waiting = append(v.Waiting, mirror.Incomplete{Pods: []*corev1.Pod{pod}, Why: "pods are missing"})
	}
	told := 0
	for n, want := range []int{150, 0, 0} {
		client.ClearActions()
		l.speak(t.Context(), &round{view: v}, began.Add(time.Duration(n)*time.Second))
		honest, all := 0, 0
		for _, action := range client.Actions() {
			if patch, ok := action.(ktesting.PatchAction); ok {
				all++
				if strings.HasPrefix(patch.GetName(), "honest-") {
					honest++
				}
			}
		}
		if all != mostWords || honest != want {
			t.Errorf("round %d: %d pods reported, %d of them of other namespaces; want %d and %d", n, all, honest, mostWords, want)
		}
		told += all
	}
	if told != len(l.said.about) {
		t.Errorf("%d reports, and %d pods remembered", told, len(l.said.about))
	}
}
