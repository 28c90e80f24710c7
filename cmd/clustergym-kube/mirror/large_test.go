package mirror

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestPodsOnMissingNodesAreReadQuickly checks that the time to read a cluster is proportional to its size, even if pods name
// nodes that do not exist and use as many GPUs on each as a node can have.
func TestPodsOnMissingNodesAreReadQuickly(t *testing.T) {
	o := objects(nodes(aNode("a")))
	for i := range 128 {
		o.Pods = append(o.Pods, aPod(fmt.Sprint("x", i), asks(gpu, "16384"), on(fmt.Sprint("missing-", i))))
	}
	began := time.Now()
	v := build(t, o)
	if took := time.Since(began); took > 3*time.Second || len(v.State.Running()) != 128 {
		t.Errorf("%d pods run, read in %v, want 128 in well below a second", len(v.State.Running()), took)
	}
}

// TestListsThatAreTooLong checks that pods with lists longer than any pod needs are refused with the name of the field.
func TestListsThatAreTooLong(t *testing.T) {
	tolerates := func(n int) change {
		return func(p *corev1.Pod) {
			for i := range n {
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: fmt.Sprint("k", i), Operator: corev1.TolerationOpExists})
			}
		}
	}
	selectsMany := func(n int) change {
		return func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{}
			for i := range n {
				p.Spec.NodeSelector[fmt.Sprint("k", i)] = "v"
			}
		}
	}
	expressions := func(n int) change {
		return requires(make([]corev1.NodeSelectorRequirement, n)...)
	}
	for _, test := range []struct {
		name string
		pod  change
		want string // "" for none
	}{
		{"tolerations", tolerates(64), ""},
		{"too many tolerations", tolerates(65), "spec.tolerations has 65 entries, want at most 64"},
		{"too many labels", selectsMany(65), "spec.nodeSelector has 65 entries, want at most 64"},
		{"too many expressions", expressions(65), "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution has 65 " +
			"expressions, want at most 64"},
	} {
		v := build(t, objects(nodes(aNode("a")), aPod("x", test.pod)))
		switch {
		case test.want == "" && len(v.Refused) > 0:
			t.Errorf("%s: refused with %q", test.name, v.Refused[0].Message)
		case test.want != "" && (len(v.Refused) != 1 || v.Refused[0].Reason != "TooLong" || !strings.Contains(v.Refused[0].Message, test.want)):
			t.Errorf("%s: refused %+v, want %q", test.name, v.Refused, test.want)
		}
	}
}
