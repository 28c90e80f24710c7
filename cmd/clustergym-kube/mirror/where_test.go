package mirror

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/env/cluster"
)

// where returns the names of the servers that a job may use, or "any" if it may use all.
func where(v *View, id int) string {
	set := v.Jobs[id].Spec.Where
	if set == nil {
		return "any"
	}
	var all []string
	for s := range cluster.ServerID(v.State.Servers()) {
		if set.Has(s) {
			all = append(all, v.State.Server(s).Name)
		}
	}
	return strings.Join(all, " ")
}

func selects(key, value string) change {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

func requires(expressions ...corev1.NodeSelectorRequirement) change {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: expressions}},
			},
		}}
	}
}

func claims(name string) change {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
}

// withVolumes adds to the objects, for each volume, a claim that has the volume's name and is bound to it.
func withVolumes(o *Objects, volumes ...*corev1.PersistentVolume) *Objects {
	known := map[string]*corev1.PersistentVolume{}
	for _, v := range volumes {
		known[v.Name] = v
	}
	o.Volume = func(name string) *corev1.PersistentVolume { return known[name] }
	o.Claim = func(namespace, name string) *corev1.PersistentVolumeClaim {
		if name == "unknown" {
			return nil
		}
		c := &corev1.PersistentVolumeClaim{}
		c.Spec.VolumeName, c.Status.Phase = name, corev1.ClaimBound
		if name == "unbound" {
			c.Spec.VolumeName, c.Status.Phase = "", corev1.ClaimPending
		}
		return c
	}
	return o
}

func aVolume(name string, hosts ...string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if len(hosts) > 0 {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: hosts}}},
		}}}
	}
	return v
}

func tainted(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func TestServersThatWillDo(t *testing.T) {
	tolerates := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "secret", Operator: corev1.TolerationOpExists}}
	}
	four := nodes(aNode("a", labelled("zone", "east")), aNode("b", labelled("zone", "west")),
		aNode("c", tainted("secret", "", corev1.TaintEffectNoSchedule), labelled("zone", "west")),
		aNode("d", tainted("secret", "", corev1.TaintEffectNoExecute)))
	for _, test := range []struct {
		name  string
		nodes []*corev1.Node
		pods  []*corev1.Pod
		want  string // servers of the first job
	}{
		{"all nodes", nodes(aNode("a"), aNode("b")), []*corev1.Pod{aPod("x")}, "any"},
		{"taints keep jobs out", four, []*corev1.Pod{aPod("x")}, "a b"},
		{"unless they tolerate them", four, []*corev1.Pod{aPod("x", tolerates)}, "any"},
		{"a preference does not", nodes(aNode("a"), aNode("b", tainted("slow", "", corev1.TaintEffectPreferNoSchedule))), []*corev1.Pod{aPod("x")}, "any"},
		{"nor does the taint of a loan", nodes(aNode("a"), aNode("b", tainted(LoanedToLabel, TrainingPool, corev1.TaintEffectNoSchedule))),
			[]*corev1.Pod{aPod("x")}, "any"},
		{"to others it does", nodes(aNode("a"), aNode("b", tainted(LoanedToLabel, "guests", corev1.TaintEffectNoSchedule))), []*corev1.Pod{aPod("x")}, "a"},
		{"a node selector", four, []*corev1.Pod{aPod("x", selects("zone", "west"))}, "b"},
		{"a node selector beside a toleration", four, []*corev1.Pod{aPod("x", selects("zone", "west"), tolerates)}, "b c"},
		{"required node affinity", four, []*corev1.Pod{aPod("x", requires(
			corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"east"}}))}, "b"},
		{"node affinity that means nothing", four, []*corev1.Pod{aPod("x", requires(corev1.NodeSelectorRequirement{Key: "zone", Operator: "Near"}))}, ""},
		{"nothing will do", four, []*corev1.Pod{aPod("x", selects("zone", "south"))}, ""},
		{"a volume that some nodes reach", four, []*corev1.Pod{aPod("x", claims("east"))}, "a"},
		{"a volume that all reach", nodes(aNode("a"), aNode("b")), []*corev1.Pod{aPod("x", claims("any"))}, "any"},
		{"volumes of different pods of a gang", nodes(aNode("a"), aNode("b")), []*corev1.Pod{
			aPod("x", inGang("g", 2), claims("east")), aPod("y", inGang("g", 2), claims("both"))}, "a"},
		{"where it runs, whatever else", four, []*corev1.Pod{aPod("x", selects("zone", "west"), on("d"))}, "b d"},
		{"where it runs, though no other may", nodes(aNode("a", cordoned), aNode("b")), []*corev1.Pod{aPod("x", on("a"))}, "any"},
		{"not where others run and none may", nodes(aNode("a", cordoned), aNode("b")), []*corev1.Pod{aPod("x"), aPod("y", on("a"))}, "b"},
		{"a node with nothing to give does not matter", nodes(aNode("a", cordoned), aNode("b")), []*corev1.Pod{aPod("x")}, "any"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := withVolumes(objects(test.nodes, test.pods...), aVolume("east", "a"), aVolume("any"), aVolume("both", "a", "b"))
			v := build(t, o)
			if len(v.Jobs) == 0 || where(v, 0) != test.want {
				t.Errorf("got %q of %s, want %q", where(v, 0), tell(v), test.want)
			}
		})
	}
}

func TestEqualSetsShareAPointer(t *testing.T) {
	v := build(t, objects(nodes(aNode("a", labelled("zone", "east")), aNode("b")),
		aPod("x", selects("zone", "east")), aPod("y", selects("kubernetes.io/hostname", "a")), aPod("z", selects("zone", "east"))))
	if x, y, z := v.Jobs[0].Spec.Where, v.Jobs[1].Spec.Where, v.Jobs[2].Spec.Where; x == nil || x != y || y != z {
		t.Errorf("sets %p, %p and %p, want the same", x, y, z)
	}
}
