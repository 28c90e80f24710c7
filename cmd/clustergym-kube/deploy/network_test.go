package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/clustergym/clustergym/internal/must"
)

// open returns the ports of the rules of a policy, and checks that it limits both directions.
func open(t *testing.T, p *networkingv1.NetworkPolicy) (in, out []string) {
	t.Helper()
	if !slices.Equal(p.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}) {
		t.Errorf("%s limits %v", p.Name, p.Spec.PolicyTypes)
	}
	of := func(ports []networkingv1.NetworkPolicyPort) (all []string) {
		if len(ports) == 0 {
			t.Errorf("%s: a rule opens all ports", p.Name)
		}
		for _, port := range ports {
			all = append(all, fmt.Sprint(*port.Protocol, " ", port.Port))
		}
		return all
	}
	for _, rule := range p.Spec.Ingress {
		in = append(in, of(rule.Ports)...)
	}
	for _, rule := range p.Spec.Egress {
		out = append(out, of(rule.Ports)...)
	}
	return in, out
}

// readPolicy reads the only NetworkPolicy of a file.
func readPolicy(t *testing.T, path string) *networkingv1.NetworkPolicy {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	for _, o := range decode(t, text) {
		if p, ok := o.(*networkingv1.NetworkPolicy); ok {
			return p
		}
	}
	t.Fatalf("%s has no NetworkPolicy", path)
	return nil
}

func selects(t *testing.T, s *metav1.LabelSelector, pod map[string]string) bool {
	t.Helper()
	by := must.Get(metav1.LabelSelectorAsSelector(s))(t)
	return !by.Empty() && by.Matches(labels.Set(pod))
}

// TestNetworkPolicy checks that the program is reached at the ports that it opens, and that it reaches only name servers and the API
// server.
func TestNetworkPolicy(t *testing.T) {
	p := readPolicy(t, "kustomize/base/networkpolicy.yaml")
	in, out := open(t, p)
	if !slices.Equal(in, []string{"TCP probes"}) || !slices.Equal(out, []string{"UDP 53", "TCP 53", "TCP 443", "TCP 6443"}) {
		t.Errorf("in %q, out %q", in, out)
	}
	if !selects(t, &p.Spec.PodSelector, map[string]string{"app.kubernetes.io/name": "clustergym", "app.kubernetes.io/instance": "clustergym"}) {
		t.Errorf("it selects %v", p.Spec.PodSelector)
	}
}

// TestNetworkPolicyOfTheChart checks that the chart's policy selects the pods, opens the ports that they have, and follows values.
func TestNetworkPolicyOfTheChart(t *testing.T) {
	const key = "NetworkPolicy clustergym-system/clustergym"
	for values, want := range map[string]string{
		"mode: live": "TCP 6443",
		withMetrics:  "TCP 443",
		"networkPolicy: {apiServerPorts: [16443]}":     "TCP 16443",
		"prometheus: {url: 'http://p:9090', query: x}": "TCP 9090",
		"prometheus: {url: 'http://p', query: x}":      "TCP 80",
		"prometheus: {url: 'https://p/a:1', query: x}": "TCP 443",
	} {
		objects := mustChart(t, values)
		p, ok := objects[key].(*networkingv1.NetworkPolicy)
		if !ok {
			t.Fatalf("%s: no NetworkPolicy", values)
		}
		pod := deployment(t, objects).Spec.Template
		in, out := open(t, p)
		if !selects(t, &p.Spec.PodSelector, pod.Labels) || len(in) != len(pod.Spec.Containers[0].Ports) || !slices.Contains(out, want) {
			t.Errorf("%s: %v, in %q, out %q, want %q", values, p.Spec.PodSelector, in, out, want)
		}
		for _, port := range pod.Spec.Containers[0].Ports {
			if !slices.Contains(in, "TCP "+port.Name) {
				t.Errorf("%s: nobody reaches %s", values, port.Name)
			}
		}
	}
	if mustChart(t, "networkPolicy: {enabled: false}")[key] != nil {
		t.Error("it is there though it is switched off")
	}
}

// TestNetworkPolicyOfTrainings checks that workers reach the learner, that others do not, and that they reach nobody else.
func TestNetworkPolicyOfTrainings(t *testing.T) {
	p := readPolicy(t, filepath.Join("training", "chart", "files", "network.yaml"))
	in, out := open(t, p)
	if !slices.Equal(in, []string{"TCP 4222"}) || !slices.Equal(out, []string{"TCP 4222", "UDP 53", "TCP 53"}) {
		t.Errorf("in %q, out %q", in, out)
	}
	jobs := trainingJobs(t)
	learner, workers := jobs["clustergym-learner"].Spec.Template, jobs["clustergym-workers"].Spec.Template
	if port := learner.Spec.Containers[0].Ports[0]; port.ContainerPort != 4222 || port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
		t.Errorf("the learner listens at %v", port)
	}
	for _, pod := range []corev1.PodTemplateSpec{learner, workers} {
		if !selects(t, &p.Spec.PodSelector, pod.Labels) {
			t.Errorf("it does not select %v", pod.Labels)
		}
	}
	from, to := p.Spec.Ingress[0].From, p.Spec.Egress[0].To
	if len(from) != 1 || !selects(t, from[0].PodSelector, workers.Labels) || selects(t, from[0].PodSelector, learner.Labels) ||
		len(to) != 1 || !selects(t, to[0].PodSelector, learner.Labels) || selects(t, to[0].PodSelector, workers.Labels) {
		t.Errorf("from %v to %v", from, to)
	}
}
