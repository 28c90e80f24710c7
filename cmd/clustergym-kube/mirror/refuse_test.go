package mirror

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/pods"
	corev1 "k8s.io/api/core/v1"
)

func TestRefusals(t *testing.T) {
	terms := []corev1.PodAffinityTerm{{TopologyKey: "zone"}}
	for _, test := range []struct {
		name    string
		change  change
		reason  string // "" for a pod that becomes a job
		message string // part of the message
	}{
		{"no GPU", asks("cpu", "1"), reasonNoGPU, "nvidia.com/gpu is 0"},
		{"part of a GPU", asks(gpu, "500m"), reasonRequest, "500m"},
		{"more than a GPU, but no whole number", asks(gpu, "1500m"), reasonRequest, "1500m"},
		{"fewer than none", asks(gpu, "-1"), reasonRequest, "-1"},
		{"absurdly many GPUs", asks(gpu, "9E"), reasonRequest, "9E"},
		{"absurdly much CPU", asks(gpu, "1", "cpu", "9E"), reasonRequest, "thousandths of a core"},
		{"absurdly much memory", asks(gpu, "1", "memory", "9E"), reasonRequest, "MiB"},
		{"another device", asks(gpu, "1", "example.com/nic", "1"), reasonResource, "example.com/nic is 1"},
		{"none of another device", asks(gpu, "1", "example.com/nic", "0"), "", ""},
		{"ephemeral storage", asks(gpu, "1", "ephemeral-storage", "1Gi"), reasonResource, "ephemeral-storage is 1Gi"},
		{"huge pages", asks(gpu, "1", "hugepages-2Mi", "4Mi"), reasonResource, "hugepages-2Mi is 4Mi"},
		{"required pod affinity", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
		}, reasonPodAffinity, "spec.affinity.podAffinity"},
		{"required pod anti-affinity", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
		}, reasonPodAffinity, "spec.affinity.podAntiAffinity"},
		{"preferred affinities", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{
				NodeAffinity:    &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1}}},
				PodAffinity:     &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1}}},
				PodAntiAffinity: &corev1.PodAntiAffinity{},
			}
		}, "", ""},
		{"topology spread that must hold", func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{WhenUnsatisfiable: corev1.ScheduleAnyway}, {WhenUnsatisfiable: corev1.DoNotSchedule},
			}
		}, reasonTopologySpread, "spec.topologySpreadConstraints[1]"},
		{"topology spread that need not", func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.ScheduleAnyway}}
		}, "", ""},
		{"resource claims", func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "x"}} }, reasonResourceClaims, "1 entries"},
		{"a host port", func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{}, {HostPort: 80}} },
			reasonHostPort, "spec.containers[0].ports[1].hostPort is 80"},
		{"a host port of a sidecar", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Ports: []corev1.ContainerPort{{HostPort: 81}}}}
		}, reasonHostPort, "spec.initContainers[0].ports[0].hostPort is 81"},
		{"an ephemeral volume", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
		}, reasonVolume, "scratch"},
		{"a claim that is not known", claims("unknown"), reasonClaim, `"unknown", which is not known`},
		{"a claim that is not bound", claims("unbound"), reasonClaim, `"unbound", which is in phase "Pending"`},
		{"a claim of a volume that is not known", claims("lost"), reasonClaim, `volume "lost" is not known`},
		{"a claim that is bound", claims("any"), "", ""},
		{"a volume of no claim", func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: "tmp"}} }, "", ""},
		{"an estimate that is no duration", annotated(pods.EstimateNote, "soon"), reasonAnnotation, `pod team/x: annotation clustergym.dev/estimate is "soon"`},
		{"an estimate of nothing", annotated(pods.EstimateNote, "0s"), reasonAnnotation, `"0s"`},
		{"an estimate beyond all bounds", annotated(pods.EstimateNote, "2000000h"), reasonAnnotation, `"2000000h"`},
		{"a part of a GPU", func(p *corev1.Pod) {
			asks("cpu", "1")(p)
			annotated("gpu-fraction", "0.5")(p)
		}, reasonResource, "ask for a part of a GPU, want whole GPUs"},
		{"a model that cannot be printed", annotated(pods.ModelNote, "a\nb"), reasonAnnotation, `"a\nb"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := build(t, withVolumes(objects(nodes(aNode("a")), aPod("x", test.change)), aVolume("any")))
			if test.reason == "" {
				if len(v.Jobs) != 1 {
					t.Errorf("got %s, want a job", tell(v))
				}
				return
			}
			if len(v.Refused) != 1 || v.Refused[0].Reason != test.reason || !strings.Contains(v.Refused[0].Message, test.message) {
				t.Errorf("got %+v, want %s with %q", v.Refused, test.reason, test.message)
			}
		})
	}
}

func TestPodsOfAGangAreAlike(t *testing.T) {
	high := int32(5)
	g := inGang("g", 2)
	for _, test := range []struct {
		name   string
		change change
		field  string
	}{
		{"GPUs", asks(gpu, "2", "cpu", "4", "memory", "16Gi"), "GPUs (1 and 2)"},
		{"CPU", asks(gpu, "1", "cpu", "5", "memory", "16Gi"), "CPU for each GPU (4000m and 5000m)"},
		{"memory", asks(gpu, "1", "cpu", "4", "memory", "17Gi"), "memory for each GPU (16384Mi and 17408Mi)"},
		{"priority", func(p *corev1.Pod) { p.Spec.Priority = &high }, "spec.priority (0 and 5)"},
		{"selector", selects("zone", "east"), "spec.nodeSelector"},
		{"affinity", requires(corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpExists}), "required node affinity"},
		{"tolerations", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "a"}} }, "spec.tolerations"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := build(t, objects(nodes(aNode("a")), aPod("x", g), aPod("y", g, test.change)))
			if len(v.Refused) != 2 || v.Refused[0].Reason != reasonPodsDiffer || !strings.Contains(v.Refused[1].Message, test.field) {
				t.Errorf("got %s: %+v, want both refused for %s", tell(v), v.Refused, test.field)
			}
		})
	}
}

func TestPriorityIsThatOfThePods(t *testing.T) {
	high := int32(5)
	v := build(t, objects(nodes(aNode("a")), aPod("x", func(p *corev1.Pod) { p.Spec.Priority = &high })))
	if v.Jobs[0].Priority != 5 {
		t.Errorf("priority %d, want 5", v.Jobs[0].Priority)
	}
}
