package deploy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func deployment(t *testing.T, objects map[string]metav1.Object) *appsv1.Deployment {
	t.Helper()
	d, ok := objects["Deployment clustergym-system/clustergym"].(*appsv1.Deployment)
	if !ok || len(d.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("got %v, want one Deployment with one container", d)
	}
	return d
}

// withMetrics are the values that make the chart serve metrics outside the pod.
const withMetrics = "metrics: {tlsSecret: cert, tokenSecret: scrape}"

func TestChartPassesValuesOn(t *testing.T) {
	for _, test := range []struct {
		values string
		want   []string // arguments that must exist
		not    []string // prefixes of arguments that must not exist
	}{
		{"mode: shadow", []string{"--mode=shadow", "--policy=released"},
			[]string{"--leader-elect", "--fallback", "--deadline", "--preemptions-per-hour", "--starvation", "--verify-key", "--metrics"}},
		{"mode: live", []string{"--mode=live", "--leader-elect"}, nil},
		{"{fallback: srsf, deadline: 500ms}", []string{"--fallback=srsf", "--deadline=500ms"}, nil},
		{"preemptionsPerHour: 0", []string{"--preemptions-per-hour=0"}, nil},
		{"preemptionsPerHour: 12000000", []string{"--preemptions-per-hour=12000000"}, nil},
		{"{starvation: 12h, gangDeadline: 1m30s}", []string{"--starvation=12h", "--gang-deadline=1m30s"}, nil},
		{"{schedulers: [a, b], gpuResource: amd.com/gpu}", []string{"--schedulers=a,b", "--gpu-resource=amd.com/gpu"}, nil},
		{"{gpuTypeLabel: t, rackLabel: r, estimate: 12h, extraArgs: [--verbose]}",
			[]string{"--gpu-type-label=t", "--rack-label=r", "--estimate=12h", "--verbose"}, nil},
		{withMetrics, []string{"--metrics=:8080", "--metrics-token-file=/etc/clustergym/token/token"}, nil},
		{"bundle: {existingClaim: c}", []string{"--policy=/etc/clustergym/policy"}, []string{"--policy=released"}},
		{"bundle: {configMap: c}", []string{"--policy=/etc/clustergym/policy"}, nil},
		{"bundle: {secret: c}", []string{"--policy=/etc/clustergym/policy"}, nil},
		{"verifyKey: {secret: s, key: k}", []string{"--verify-key=/etc/clustergym/verify/k"}, nil},
		{"decisionLog: {enabled: true}", []string{"--decision-log=/var/log/clustergym/decisions.jsonl"}, nil},
		{"prometheus: {url: 'https://p:9090', query: 'avg by (pod) (x{a=\"b\"})', every: 1m, caSecret: c, tokenSecret: t}", []string{
			"--prometheus=https://p:9090", `--prometheus-query=avg by (pod) (x{a="b"})`, "--prometheus-every=1m",
			"--prometheus-ca=/etc/clustergym/prometheus-ca/ca.crt", "--prometheus-token-file=/etc/clustergym/prometheus-token/token",
		}, nil},
		{"prometheus: {every: 1m}", nil, []string{"--prometheus"}},
		{"beliefs: {existingClaim: c}", []string{"--beliefs=/var/lib/clustergym/beliefs.json"}, nil},
		{"{decisionLog: {enabled: true}, verifyKey: {secret: s}, bundle: {configMap: c}, priorityClassName: high, " +
			"nodeSelector: {a: b}, tolerations: [{key: k}], affinity: {nodeAffinity: {}}, podAnnotations: {a: b}, " +
			"imagePullSecrets: [{name: s}]}", nil, nil},
	} {
		t.Run(test.values, func(t *testing.T) {
			pod := deployment(t, mustChart(t, test.values)).Spec.Template.Spec
			args := pod.Containers[0].Args
			for _, want := range test.want {
				if !slices.Contains(args, want) {
					t.Errorf("%q lacks %q", args, want)
				}
			}
			for _, not := range test.not {
				if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, not) }) {
					t.Errorf("%q has %q", args, not)
				}
			}
			mounts := pod.Containers[0].VolumeMounts
			if len(mounts) != len(pod.Volumes) {
				t.Fatalf("%d mounts of %d volumes", len(mounts), len(pod.Volumes))
			}
			for i, v := range pod.Volumes {
				if mounts[i].Name != v.Name {
					t.Errorf("mount of %s, volume %s", mounts[i].Name, v.Name)
				}
			}
			for _, arg := range args { // files in arguments must be mounted
				if _, path, ok := strings.Cut(arg, "=/"); ok && !slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool {
					return strings.HasPrefix("/"+path, m.MountPath)
				}) {
					t.Errorf("%s is not mounted", arg)
				}
			}
		})
	}
}

func TestChartRefuses(t *testing.T) {
	const image = "image: {repository: r}\n"
	for _, test := range []struct{ values, want string }{
		{"mode: shadow", "no image is published"},
		{image + "mode: dry", "mode"},
		{image + "modus: live", "modus"},
		{image + "deadline: soon", "deadline"},
		{image + "bundle: {configMap: a, secret: b}", "want one of existingClaim, configMap and secret"},
		{image + "control: {paused: 'true'}", "paused"},
		{image + "control: {mode: on}", "mode"},
		{image + "control: {reclaim-by: tomorrow}", "reclaim-by"},
		{image + "metrics: {tlsSecret: cert}", "want both tlsSecret and tokenSecret"},
		{image + "metrics: {tokenSecret: scrape}", "want both tlsSecret and tokenSecret"},
		{image + "serviceMonitor: {enabled: true}", "want metrics.tlsSecret and metrics.tokenSecret too"},
		{image + "prometheus: {url: 'https://p'}", "want both url and query"},
		{image + "prometheus: {every: often}", "every"},
		{image + "scales: [{apiGroup: '*', resource: '*'}]", "scales"},
	} {
		if _, err := chart(t, test.values); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.values, err, test.want)
		}
	}
}

func TestChartOptions(t *testing.T) {
	if mustChart(t, "podDisruptionBudget: {enabled: true}")["PodDisruptionBudget clustergym-system/clustergym"] == nil {
		t.Error("asked for a PodDisruptionBudget in vain")
	}
	rule := rbacv1.PolicyRule{Verbs: []string{"get", "update"}, APIGroups: []string{"kubeflow.org"}, Resources: []string{"pytorchjobs/scale"}}
	want := rights([]rbacv1.PolicyRule{rule})
	for mode, there := range map[string]bool{"shadow": false, "live": true} {
		got := rights(rules(t, mustChart(t, "scales: [{apiGroup: kubeflow.org, resource: pytorchjobs}]\nmode: "+mode))[""])
		for _, right := range want {
			if slices.Contains(got, right) != there {
				t.Errorf("%s mode: right %q: %t, want %t", mode, right, !there, there)
			}
		}
	}
}

// TestMetricsStayInThePodUnlessSecured checks that the chart serves metrics outside the pod only with TLS and a token. The probes
// need neither, and their answers contain no data.
func TestMetricsStayInThePodUnlessSecured(t *testing.T) {
	const service, monitor = "Service clustergym-system/clustergym", "ServiceMonitor clustergym-system/clustergym"
	plain := mustChart(t, "mode: live")
	if ports := deployment(t, plain).Spec.Template.Spec.Containers[0].Ports; len(ports) != 1 || ports[0].Name != "probes" {
		t.Errorf("got ports %v, want that of the probes alone", ports)
	}
	if plain[service] != nil || plain[monitor] != nil {
		t.Error("metrics are offered that nobody can read")
	}
	all := mustChart(t, withMetrics+"\nserviceMonitor: {enabled: true}")
	c := deployment(t, all).Spec.Template.Spec.Containers[0]
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		if probe.HTTPGet.Port.StrVal != "probes" || probe.HTTPGet.Scheme == corev1.URISchemeHTTPS {
			t.Errorf("got probe %v, want one of the port of probes", probe.HTTPGet)
		}
	}
	s, ok := all[service].(*corev1.Service)
	if !ok || !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == s.Spec.Ports[0].TargetPort.StrVal }) {
		t.Errorf("got Service %v of ports %v", s, c.Ports)
	}
	m, ok := all[monitor].(*serviceMonitor)
	if !ok || len(m.Spec.Endpoints) != 1 {
		t.Fatalf("got %v, want a ServiceMonitor of one endpoint", m)
	}
	at := m.Spec.Endpoints[0]
	if at.Scheme != "https" || at.TLSConfig["serverName"] != "clustergym.clustergym-system.svc" || at.Port != s.Spec.Ports[0].Name ||
		at.Authorization.Type != "Bearer" || at.Authorization.Credentials.Name != "scrape" || at.Authorization.Credentials.Key != "token" {
		t.Errorf("got %+v", at)
	}
}

// TestControlIsMadeEmpty checks that the manifests always create the control ConfigMap, because nothing is written without it,
// and that they set none of its keys, so that an upgrade keeps the values that people have set.
func TestControlIsMadeEmpty(t *testing.T) {
	const control = "ConfigMap clustergym-system/clustergym-control"
	for name, objects := range map[string]map[string]metav1.Object{
		"chart, shadow": mustChart(t, "mode: shadow"), "chart, live": mustChart(t, "mode: live"),
		"kustomize, shadow": kustomize(t, "kustomize/base"), "kustomize, live": kustomize(t, "kustomize/overlays/live"),
	} {
		if m, ok := objects[control].(*corev1.ConfigMap); !ok || len(m.Data) != 0 {
			t.Errorf("%s: got %v, want a ConfigMap without data", name, objects[control])
		}
	}
	want := map[string]string{"mode": "off", "offer": "3", "reclaim-by": "2030-01-02T15:04:05Z"}
	m := mustChart(t, "control: {mode: 'off', offer: '3', reclaim-by: '2030-01-02T15:04:05Z'}")[control].(*corev1.ConfigMap)
	if !maps.Equal(m.Data, want) {
		t.Errorf("got %v, want %v", m.Data, want)
	}
}

// TestPodIsRestricted checks that the pod satisfies the restricted Pod Security Standard, so that it has no rights on its node.
func TestPodIsRestricted(t *testing.T) {
	pod := deployment(t, mustChart(t, "mode: live")).Spec.Template.Spec
	c := pod.Containers[0].SecurityContext
	if p := pod.SecurityContext; !*p.RunAsNonRoot || p.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("pod: %+v", p)
	}
	if *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem || !slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("container: %+v", c)
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		t.Error("pod shares a namespace of its host")
	}
}

// TestChartSetsAmounts checks that the values may set the bounds of amounts, which the program reads from its ConfigMap.
func TestChartSetsAmounts(t *testing.T) {
	steers, ok := mustChart(t, "control: {amounts: 'a: cpu=1..2'}")["ConfigMap clustergym-system/clustergym-control"].(*corev1.ConfigMap)
	if !ok || steers.Data["amounts"] != "a: cpu=1..2" {
		t.Errorf("got %v, want a ConfigMap with the amounts", steers)
	}
}
