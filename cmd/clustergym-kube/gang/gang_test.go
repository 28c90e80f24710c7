package gang

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1alpha2"
	"k8s.io/client-go/tools/cache"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/must"
)

func aPod(native, label, least string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "x", Labels: map[string]string{}, Annotations: map[string]string{}}}
	if native != "" {
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &native}
	}
	if label != "" {
		p.Labels[pods.GroupLabel] = label
	}
	if least != "" {
		p.Annotations[pods.MinMemberNote] = least
	}
	return p
}

func natives(t *testing.T, policies map[string]schedulingv1alpha2.PodGroupSpec) schedulinglisters.PodGroupLister {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for name, spec := range policies {
		err := indexer.Add(&schedulingv1alpha2.PodGroup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "team", Name: name, UID: "native", Annotations: map[string]string{"a": "native"},
			},
			Spec: spec,
		})
		must.Do(t, err)
	}
	return schedulinglisters.NewPodGroupLister(indexer)
}

func crds(least map[string]any) func(namespace, name string) *unstructured.Unstructured {
	return func(namespace, name string) *unstructured.Unstructured {
		n, ok := least[name]
		if !ok || namespace != "team" {
			return nil
		}
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"minMember": n}}}
		if n == nil {
			u.Object["spec"] = "nothing"
		}
		u.SetNamespace(namespace)
		u.SetName(name)
		u.SetUID("crd")
		u.SetAnnotations(map[string]string{"a": "crd"})
		return u
	}
}

func gangOf(n int32) schedulingv1alpha2.PodGroupSpec {
	return schedulingv1alpha2.PodGroupSpec{SchedulingPolicy: schedulingv1alpha2.PodGroupSchedulingPolicy{
		Gang: &schedulingv1alpha2.GangSchedulingPolicy{MinCount: n},
	}}
}

func TestGroups(t *testing.T) {
	basic := schedulingv1alpha2.PodGroupSpec{SchedulingPolicy: schedulingv1alpha2.PodGroupSchedulingPolicy{
		Basic: &schedulingv1alpha2.BasicSchedulingPolicy{},
	}}
	spread := gangOf(2)
	spread.SchedulingConstraints = &schedulingv1alpha2.PodGroupSchedulingConstraints{}
	native := natives(t, map[string]schedulingv1alpha2.PodGroupSpec{
		"four": gangOf(4), "none": gangOf(0), "basic": basic, "empty": {}, "spread": spread,
	})
	crd := crds(map[string]any{"three": int64(3), "five": 5.0, "half": 2.5, "less": int64(-1), "word": "3", "nothing": nil, "huge": 1e300})
	volcano, kai := crds(map[string]any{"v": int64(4), "zero": int64(0)}), crds(map[string]any{"k": int64(2)})
	all, labels := &Groups{Native: native, Defined: map[string]func(namespace, name string) *unstructured.Unstructured{
		pods.Plugins: crd, pods.Volcano: volcano, pods.KAI: kai,
	}}, &Groups{}
	says := func(key, value string) *corev1.Pod {
		p := aPod("", "", "")
		p.Annotations[key] = value
		return p
	}
	for _, test := range []struct {
		name   string
		source *Groups
		pod    *corev1.Pod
		ok     bool
		group  string // name of the group and version of its object
		least  int32
		err    string // part of it
	}{
		{"a pod that names no group has none", all, aPod("", "", ""), false, "", 0, ""},
		{"a native gang", all, aPod("four", "", ""), true, "four " + pods.Native, 4, ""},
		{"a native group of the policy basic is none", all, aPod("basic", "", ""), false, "", 0, ""},
		{"a native group that is not there", all, aPod("gone", "", ""), true, "gone ", 1,
			`pod team/x: spec.schedulingGroup.podGroupName is "gone", want the name of a PodGroup`},
		{"a native gang of none", all, aPod("none", "", ""), true, "none " + pods.Native, 1, "PodGroup team/none: spec.schedulingPolicy.gang.minCount is 0"},
		{"a native group without a policy", all, aPod("empty", "", ""), true, "empty " + pods.Native, 1, "want one of them"},
		{"a native group with topology", all, aPod("spread", "", ""), true, "spread " + pods.Native, 1, "spec.schedulingConstraints"},
		{"a PodGroup of the project", all, aPod("", "three", ""), true, "three " + pods.Plugins, 3, ""},
		{"read from JSON", all, aPod("", "five", ""), true, "five " + pods.Plugins, 5, ""},
		{"of two and a half", all, aPod("", "half", ""), true, "half " + pods.Plugins, 1, "spec.minMember is 2.5"},
		{"of far too many", all, aPod("", "huge", ""), true, "huge " + pods.Plugins, 1, "spec.minMember is 1e+300"},
		{"of less than none", all, aPod("", "less", ""), true, "less " + pods.Plugins, 1, "PodGroup team/less: spec.minMember is -1"},
		{"of a word", all, aPod("", "word", ""), true, "word " + pods.Plugins, 1, "spec.minMember is 3"},
		{"of nothing", all, aPod("", "nothing", ""), true, "nothing " + pods.Plugins, 1, "spec.minMember is missing"},
		{"that is not there", all, aPod("", "gone", ""), true, "gone ", 1, "want the name of a PodGroup of " + pods.Plugins},
		{"a PodGroup of Volcano", all, says("scheduling.k8s.io/group-name", "v"), true, "v " + pods.Volcano, 4, ""},
		{"of no size", all, says("scheduling.k8s.io/group-name", "zero"), true, "zero " + pods.Volcano, 1, ""},
		{"a PodGroup of KAI Scheduler", all, says("pod-group-name", "k"), true, "k " + pods.KAI, 2, ""},
		{"labels alone", labels, aPod("", "three", "2"), true, "three ", 2, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := test.source.Of(test.pod)
			ok, err := g.API != pods.Alone, g.Err
			if ok != test.ok || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("ok %t, error %v, want %t with %q", ok, err, test.ok, test.err)
			}
			if !ok {
				return
			}
			version := ""
			if g.Ref != nil {
				version = g.Ref.APIVersion
				if g.Ref.Kind != "PodGroup" || g.Ref.Namespace != "team" || g.Ref.Name != g.Name || g.Ref.UID == "" || g.Annotations["a"] != string(g.Ref.UID) {
					t.Errorf("got %+v of %+v", g, g.Ref)
				}
			}
			if g.Namespace != "team" || g.Name+" "+version != test.group || g.Least != test.least {
				t.Errorf("got %+v, want %s of %d", g, test.group, test.least)
			}
		})
	}
}

// server implements discovery with fixed resources for each version, or an error.
type server struct {
	has map[string]string
	err error
}

func (s server) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	if s.err != nil {
		return nil, s.err
	}
	name, ok := s.has[version]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, version)
	}
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: name}}}, nil
}

func (server) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return nil, nil, nil
}
func (server) ServerPreferredResources() ([]*metav1.APIResourceList, error) { return nil, nil }
func (server) ServerPreferredNamespacedResources() ([]*metav1.APIResourceList, error) {
	return nil, nil
}

func TestDiscover(t *testing.T) {
	for _, test := range []struct {
		name   string
		server server
		want   string
		fails  bool
	}{
		{"neither", server{}, "", false},
		{"native", server{has: map[string]string{pods.Native: "podgroups"}}, pods.Native, false},
		{"both", server{has: map[string]string{pods.Native: "podgroups", pods.Plugins: "podgroups"}}, pods.Native + " " + pods.Plugins, false},
		{"those of other schedulers", server{has: map[string]string{pods.Volcano: "podgroups", pods.KAI: "podgroups"}}, pods.Volcano + " " + pods.KAI, false},
		{"the version without the resource", server{has: map[string]string{pods.Plugins: "others"}}, "", false},
		{"a server that fails", server{err: errors.New("down")}, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Discover(test.server)
			if strings.Join(got, " ") != test.want || (err != nil) != test.fails {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
