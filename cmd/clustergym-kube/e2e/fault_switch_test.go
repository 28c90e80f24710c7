package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

// say sets the data of the control ConfigMap; nil deletes the ConfigMap.
func say(t testing.TB, c *kubetest.Cluster, data map[string]string) {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: control.ControlName}, Data: data}
	maps := c.Client.CoreV1().ConfigMaps("default")
	if data == nil {
		if err := maps.Delete(t.Context(), m.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		return
	}
	_, err := maps.Update(t.Context(), m, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(t.Context(), m, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFaultSwitch checks that any mode but live stops all writes, even in the middle of many bindings, and that no gang stays
// partly bound.
func TestFaultSwitch(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 80)
	k := check(t, c)
	p := newTap(t, c, "scheduler", c.Config)
	s := run(t, c, "scheduler", live("--kubeconfig="+p.kubeconfig, "--parallel=1")...)
	l := &load{k: k, draw: rand.New(rand.NewPCG(4, 0))}
	x := tally{name: "kill switch"}
	made := 0
	steps := []struct {
		what string
		data map[string]string
	}{
		{"off", map[string]string{"mode": "off"}},
		{"garbage as the mode", map[string]string{"mode": "\x00lvie"}},
		{"a key that is none", map[string]string{"mode": "live", "paused": "true"}},
		{"shadow", map[string]string{"mode": "shadow"}},
		{"no ConfigMap", nil},
	}
	for _, step := range steps {
		before := p.count("bind")
		for range 12 { // 96 pods, which take a while with one request at a time
			l.add(fmt.Sprintf("s%02d", made), 8, 1)
			made++
		}
		l.tend(t.Context())
		for p.count("bind") < before+20 { // the scheduler has started to bind
			time.Sleep(time.Millisecond)
		}
		say(t, c, step.data)
		said := time.Now()
		time.Sleep(1500 * time.Millisecond)
		late := p.count("bind")
		l.add(fmt.Sprintf("w%02d", made), 2, 1)
		l.tend(t.Context())
		time.Sleep(1500 * time.Millisecond)
		if n := p.count("bind") - late; n != 0 {
			t.Errorf("%s: %d pods were bound a second and a half later", step.what, n)
		}
		last := p.acts()[len(p.acts())-1].Sub(said)
		if k.partial() {
			t.Errorf("%s: a gang is left bound in part", step.what)
		}
		say(t, c, map[string]string{"mode": "live"})
		said = time.Now()
		for p.count("bind") == late && time.Since(said) < time.Minute {
			time.Sleep(time.Millisecond)
		}
		x.row(step.what+": last binding after", max(last, 0).Round(time.Millisecond))
		x.row(step.what+": first binding after live", time.Since(said).Round(time.Millisecond))
	}
	c.AwaitPods("default", "", made*8+len(steps)*2, "are bound", bound)
	k.finish()
	if got := k.deleted(); len(got) > 0 {
		t.Errorf("pods were deleted: %v", got)
	}
	x.row("rounds while off", s.metric(t, `clustergym_kube_rounds_total{result="off"}`))
	x.rows = append(x.rows, k.rows(0, made*8+len(steps)*2)...)
	x.log(t)
}
