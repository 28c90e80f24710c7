package control

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
)

// TestResizesAreRemembered checks that rounds count a pod as resized before the watch shows that, and no longer than necessary. If
// the answer of the API server was lost, they ask what the pod requests.
func TestResizesAreRemembered(t *testing.T) {
	shown := func() []*corev1.Pod {
		return sized(crew{name: "g", pods: 1, least: 1, gpus: 2, on: []string{"a"}}.list(), "4", "64Gi")
	}
	for _, c := range []struct {
		name        string
		lost, holds string // what the server does with the resize whose answer is lost, and what the pod then has
		later       time.Duration
		want        string
	}{
		{"accepted", "", "20", 0, "20"}, {"accepted long ago", "", "20", sparing, "4"},
		{"lost, and made", "answer", "20", 0, "20"}, {"lost, and not made", "request", "4", 0, "4"}, {"not known", "both", "4", 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			pods := shown()
			l, client, _ := liveLoop(t, pods[0])
			client.PrependReactor("*", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
				switch gets := action.GetVerb() == "get"; {
				case action.GetSubresource() == "resize" && c.lost != "", gets && c.lost == "both":
					return true, nil, apierrors.NewTimeoutError("lost", 0)
				case gets:
					return true, sized(shown(), c.holds, "64Gi")[0], nil
				}
				return false, nil, nil
			})
			r := decideRound(built(t, pods), deciderAfter(t, "srsf", func(tx *cluster.Txn) { resizeTo(tx, 0, 10000, 32<<10) }), "r",
				limits{amounts: granted("*: cpu=1..20"), mirror: &reading})
			_, err := l.resize(t.Context(), r.holds, noon)
			if lost := l.resized.dispel(t.Context(), l.Actor, noon); (lost != nil) != (c.want == "") || (err != nil) != (c.lost == "request" || c.lost == "both") {
				t.Fatalf("%s: errors %v and %v", c.name, err, lost)
			}
			if c.want == "" {
				return
			}
			seen := shown()
			l.resized.show(seen, noon.Add(c.later))
			if got := seen[0].Spec.Containers[0].Resources.Requests.Cpu().String(); got != c.want {
				t.Errorf("%s: %s CPUs, want %s", c.name, got, c.want)
			}
			if note := seen[0].Annotations[mirror.RequestedAnnotation]; (note != "") != (c.want == "20") {
				t.Errorf("%s: annotation %q", c.name, note)
			}
			l.resized.show(sized(shown(), "20", "64Gi"), noon)
			if len(l.resized) > 0 {
				t.Errorf("%s: still stored after the watch has shown it", c.name)
			}
		})
	}
}
