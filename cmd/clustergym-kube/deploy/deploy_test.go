// Package deploy_test checks that the Helm chart and the kustomization agree, and that their roles have the rights that each mode
// needs.
package deploy_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigyaml "sigs.k8s.io/yaml"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/needs"
)

// tool returns the path of kubectl or helm. Both are names of the binary kubeassets.
func tool(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		dir = "../../../bin/kube"
	}
	binary, err := filepath.Abs(filepath.Join(dir, "kubeassets"))
	if err == nil {
		_, err = os.Stat(binary)
	}
	if err != nil {
		needs.Missing(t, "Kubernetes", needs.Kubernetes)
	}
	link := filepath.Join(t.TempDir(), name)
	must.Do(t, os.Symlink(binary, link))
	return link
}

// kinds creates an object for each kind that may be deployed.
var kinds = map[string]func() metav1.Object{
	"Namespace":                        func() metav1.Object { return &corev1.Namespace{} },
	"ServiceAccount":                   func() metav1.Object { return &corev1.ServiceAccount{} },
	"ConfigMap":                        func() metav1.Object { return &corev1.ConfigMap{} },
	"Service":                          func() metav1.Object { return &corev1.Service{} },
	"Deployment":                       func() metav1.Object { return &appsv1.Deployment{} },
	"ClusterRole":                      func() metav1.Object { return &rbacv1.ClusterRole{} },
	"ClusterRoleBinding":               func() metav1.Object { return &rbacv1.ClusterRoleBinding{} },
	"Role":                             func() metav1.Object { return &rbacv1.Role{} },
	"RoleBinding":                      func() metav1.Object { return &rbacv1.RoleBinding{} },
	"NetworkPolicy":                    func() metav1.Object { return &networkingv1.NetworkPolicy{} },
	"PodDisruptionBudget":              func() metav1.Object { return &policyv1.PodDisruptionBudget{} },
	"ValidatingAdmissionPolicy":        func() metav1.Object { return &admissionv1.ValidatingAdmissionPolicy{} },
	"ValidatingAdmissionPolicyBinding": func() metav1.Object { return &admissionv1.ValidatingAdmissionPolicyBinding{} },
	"ServiceMonitor":                   func() metav1.Object { return &serviceMonitor{} },
}

// serviceMonitor contains the fields of the Prometheus operator's type that the chart uses.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port          string         `json:"port"`
			Interval      string         `json:"interval"`
			Scheme        string         `json:"scheme"`
			TLSConfig     map[string]any `json:"tlsConfig"`
			Authorization struct {
				Type        string                   `json:"type"`
				Credentials corev1.SecretKeySelector `json:"credentials"`
			} `json:"authorization"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// decode reads objects strictly: an unknown or repeated field is an error. The keys are "Kind namespace/name".
func decode(t *testing.T, text []byte) map[string]metav1.Object {
	t.Helper()
	objects := map[string]metav1.Object{}
	for docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		must.Do(t, err)
		var kind metav1.TypeMeta
		if err := sigyaml.Unmarshal(doc, &kind); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if kind.Kind == "" {
			continue
		}
		if kinds[kind.Kind] == nil {
			t.Fatalf("got kind %q, want one of %v in:\n%s", kind.Kind, slices.Sorted(maps.Keys(kinds)), doc)
		}
		o := kinds[kind.Kind]()
		if err := sigyaml.UnmarshalStrict(doc, o); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if strings.HasPrefix(kind.Kind, "ValidatingAdmissionPolicy") {
			o.SetNamespace("") // kustomize sets one; the API server ignores it, since these are of the whole cluster
		}
		key := kind.Kind + " " + o.GetNamespace() + "/" + o.GetName()
		if objects[key] != nil {
			t.Fatalf("%s is there twice", key)
		}
		objects[key] = o
	}
}

// read opens all files of a folder, so that go test does not reuse an old result after one of them has changed: it does not
// notice files that only a child process opens.
func read(t *testing.T, dir string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			_, err = os.ReadFile(filepath.Join(dir, path))
		}
		return err
	})
	must.Do(t, err)
}

// chart renders the chart with values. mustChart adds an image to them.
func chart(t *testing.T, values ...string) (map[string]metav1.Object, error) {
	t.Helper()
	return render(t, "chart", "clustergym-system", values...)
}

// render renders the chart in a folder with values.
func render(t *testing.T, dir, namespace string, values ...string) (map[string]metav1.Object, error) {
	t.Helper()
	read(t, dir)
	args := []string{"template", "clustergym", dir, "-n", namespace}
	for _, text := range values {
		file := filepath.Join(t.TempDir(), "values.yaml")
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		args = append(args, "-f", file)
	}
	cmd := exec.Command(tool(t, "helm"), args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.New(stderr.String())
	}
	return decode(t, out), nil
}

func mustChart(t *testing.T, values string) map[string]metav1.Object {
	t.Helper()
	objects := must.Get(chart(t, "image: {repository: clustergym-kube}", values))(t)
	return objects
}

func kustomize(t *testing.T, dir string) map[string]metav1.Object {
	t.Helper()
	read(t, strings.Split(dir, "/")[0])
	out, err := exec.Command(tool(t, "kubectl"), "kustomize", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return decode(t, out)
}

// helmLabels are the labels of objects and pods that only the chart sets.
var helmLabels = []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"}

// onlyKustomize lists the objects that only the kustomization creates; with helm, --create-namespace does.
var onlyKustomize = []string{"Namespace /clustergym-system"}

func TestChartAndKustomizeAgree(t *testing.T) {
	for _, test := range []struct{ values, dir string }{
		{"mode: shadow", "kustomize/base"}, {"mode: live", "kustomize/overlays/live"},
	} {
		t.Run(test.values, func(t *testing.T) {
			helm, kust := mustChart(t, test.values), kustomize(t, test.dir)
			for _, key := range onlyKustomize {
				delete(kust, key)
			}
			for _, o := range helm {
				without(o.GetLabels())
				if d, ok := o.(*appsv1.Deployment); ok {
					without(d.Spec.Template.Labels)
				}
			}
			if got, want := slices.Sorted(maps.Keys(helm)), slices.Sorted(maps.Keys(kust)); !slices.Equal(got, want) {
				t.Fatalf("chart has\n%q\nkustomize\n%q", got, want)
			}
			for key := range helm {
				if !reflect.DeepEqual(helm[key], kust[key]) {
					h, _ := sigyaml.Marshal(helm[key])
					k, _ := sigyaml.Marshal(kust[key])
					t.Errorf("%s of the chart:\n%s\nof kustomize:\n%s", key, h, k)
				}
			}
		})
	}
}

func without(labels map[string]string) {
	for _, label := range helmLabels {
		delete(labels, label)
	}
}

// rules returns the rules of the roles that are bound to the program's account, by namespace; the namespace of cluster-wide rules
// is "".
func rules(t *testing.T, objects map[string]metav1.Object) map[string][]rbacv1.PolicyRule {
	t.Helper()
	of, roles := map[string][]rbacv1.PolicyRule{}, 0
	bound := func(key, ref string, subjects []rbacv1.Subject) {
		if len(subjects) != 1 || subjects[0].Kind != "ServiceAccount" ||
			objects["ServiceAccount "+subjects[0].Namespace+"/"+subjects[0].Name] == nil {
			t.Errorf("%s: subjects %v", key, subjects)
		}
		if objects[ref] == nil {
			t.Errorf("%s: there is no %s", key, ref)
		}
	}
	for key, o := range objects {
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			of[""], roles = append(of[""], o.Rules...), roles+1
		case *rbacv1.Role:
			of[o.Namespace], roles = append(of[o.Namespace], o.Rules...), roles+1
		case *rbacv1.ClusterRoleBinding:
			bound(key, o.RoleRef.Kind+" /"+o.RoleRef.Name, o.Subjects)
			roles--
		case *rbacv1.RoleBinding:
			bound(key, o.RoleRef.Kind+" "+o.Namespace+"/"+o.RoleRef.Name, o.Subjects)
			roles--
		}
	}
	if roles != 0 {
		t.Errorf("%d roles more than bindings", roles)
	}
	return of
}

// rights returns the single rights in rules as "verb group/resource[name]", sorted. The right to patch pods is listed once: the roles
// elastic and amounts both need it, because each can be left out.
func rights(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, r := range rules {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range r.Verbs {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, name := range names {
						right := verb + " " + group + "/" + resource
						if name != "" {
							right += "[" + name + "]"
						}
						if right != "patch /pods" || !slices.Contains(all, right) {
							all = append(all, right)
						}
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

func TestRoles(t *testing.T) {
	shadow, live := rules(t, mustChart(t, "mode: shadow")), rules(t, mustChart(t, "mode: live"))
	for _, mode := range []map[string][]rbacv1.PolicyRule{shadow, live} {
		for namespace, rules := range mode {
			all := rights(rules)
			for _, right := range all {
				if strings.Contains(right, "*") {
					t.Errorf("in namespace %q: right %q to anything", namespace, right)
				}
			}
			if len(slices.Compact(slices.Clone(all))) != len(all) {
				t.Errorf("in namespace %q: rights given twice in %q", namespace, all)
			}
		}
	}
	for namespace, rules := range shadow {
		for _, right := range rights(rules) {
			if verb, _, _ := strings.Cut(right, " "); verb != "get" && verb != "list" && verb != "watch" {
				t.Errorf("shadow mode has the right %q in namespace %q", right, namespace)
			}
			if !slices.Contains(rights(live[namespace]), right) {
				t.Errorf("live mode lacks the right %q in namespace %q", right, namespace)
			}
		}
	}
	for namespace, want := range map[string][]string{
		"": { // of which elastic, amounts and lending take some
			"create /events", "create /pods/binding", "create /pods/eviction", "create events.k8s.io/events", "delete /pods",
			"get apps/deployments/scale", "get apps/replicasets", "get apps/replicasets/scale", "get apps/statefulsets",
			"get apps/statefulsets/scale", "get batch/jobs", "patch /nodes", "patch /pods", "patch /pods/resize", "patch /pods/status", "patch batch/jobs",
			"patch events.k8s.io/events", "update apps/deployments/scale", "update apps/replicasets/scale",
			"update apps/statefulsets/scale",
		},
		"clustergym-system": {
			"create /configmaps", "create coordination.k8s.io/leases", "get /configmaps[clustergym-ledger]",
			"get coordination.k8s.io/leases[clustergym]", "update /configmaps[clustergym-ledger]",
			"update coordination.k8s.io/leases[clustergym]",
		},
	} {
		read := rights(shadow[namespace])
		got := slices.DeleteFunc(rights(live[namespace]), func(right string) bool { return slices.Contains(read, right) })
		if !slices.Equal(got, want) {
			t.Errorf("live mode has beyond reading in namespace %q\n%q, want\n%q", namespace, got, want)
		}
	}
}

// TestRolesCanBeLeftOut checks that a program that neither scales nor resizes nor lends need not have the rights to patch pods, jobs and
// nodes.
func TestRolesCanBeLeftOut(t *testing.T) {
	for _, test := range []struct{ values, lacks string }{
		{"{mode: live, elastic: false, amounts: false}", "patch /pods, patch /pods/resize, patch batch/jobs, update apps/deployments/scale"},
		{"{mode: live, lending: false}", "patch /nodes"},
		{"{mode: live, amounts: false}", "patch /pods/resize"},
	} {
		all := rights(rules(t, mustChart(t, test.values))[""])
		for right := range strings.SplitSeq(test.lacks, ", ") {
			if slices.Contains(all, right) {
				t.Errorf("%s: has the right %q", test.values, right)
			}
		}
	}
}
