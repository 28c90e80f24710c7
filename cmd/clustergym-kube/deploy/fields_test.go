package deploy_test

import (
	"os"
	"testing"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	sigyaml "sigs.k8s.io/yaml"

	"github.com/clustergym/clustergym/internal/must"
)

// admission is the policy of the live overlay, compiled.
type admission struct {
	variables, checks map[string]cel.Program
	order             []string // of variables
	matches           []cel.Program
}

// compile reads a policy. It has the variables and functions of CEL's standard library, of which the policy uses no others.
func compile(t *testing.T, name string) *admission {
	t.Helper()
	text := must.Get(os.ReadFile("kustomize/overlays/live/fields.yaml"))(t)
	policy, ok := decode(t, text)["ValidatingAdmissionPolicy /"+name].(*admissionv1.ValidatingAdmissionPolicy)
	if !ok {
		t.Fatalf("no policy %s", name)
	}
	env, err := cel.NewEnv(cel.Variable("request", cel.DynType), cel.Variable("object", cel.DynType),
		cel.Variable("oldObject", cel.DynType), cel.Variable("variables", cel.DynType))
	must.Do(t, err)
	program := func(text string) cel.Program {
		ast, issues := env.Compile(text)
		if issues.Err() != nil {
			t.Fatalf("%s: %v", text, issues.Err())
		}
		p := must.Get(env.Program(ast))(t)
		return p
	}
	a := &admission{variables: map[string]cel.Program{}, checks: map[string]cel.Program{}}
	for _, v := range policy.Spec.Variables {
		a.order, a.variables[v.Name] = append(a.order, v.Name), program(v.Expression)
	}
	for _, v := range policy.Spec.Validations {
		a.checks[v.Message] = program(v.Expression)
	}
	for _, c := range policy.Spec.MatchConditions {
		a.matches = append(a.matches, program(c.Expression))
	}
	return a
}

// allows reports whether the policy lets a user change an object, or create one if old is nil.
func (a *admission) allows(t *testing.T, user, resource, part string, old, now map[string]any) bool {
	t.Helper()
	request := map[string]any{"userInfo": map[string]any{"username": user}, "resource": map[string]any{"resource": resource}}
	if part != "" {
		request["subResource"] = part
	}
	variables := map[string]any{}
	in := map[string]any{"request": request, "object": now, "oldObject": old, "variables": variables}
	if old == nil {
		in["oldObject"] = nil
	}
	eval := func(p cel.Program) any {
		out, _, err := p.Eval(in)
		if err != nil {
			t.Fatalf("%s %s: %v", resource, part, err)
		}
		return out.Value()
	}
	for _, m := range a.matches {
		if eval(m) != true {
			return true
		}
	}
	for _, name := range a.order {
		variables[name] = eval(a.variables[name])
	}
	for _, check := range a.checks {
		if eval(check) != true {
			return false
		}
	}
	return true
}

// own is the user name of the program.
const own = "system:serviceaccount:clustergym-system:clustergym"

// object reads an object in YAML; it is nil if the text is "".
func object(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	must.Do(t, sigyaml.Unmarshal([]byte(text), &o))
	return o
}

// TestFieldsThatMayChange checks that the admission policy of live mode lets the program change what it changes, and nothing
// else, and that it does not concern others.
func TestFieldsThatMayChange(t *testing.T) {
	a := compile(t, "clustergym")
	read := func(text string) map[string]any { return object(t, text) }
	const (
		pod       = "{metadata: {labels: {a: b}, annotations: {c: d}}, spec: {nodeName: n}, status: {phase: Pending, conditions: [{type: Ready, status: 'True'}]}}"
		bare      = "{metadata: {}, spec: {nodeName: n}, status: {phase: Pending}}"
		contained = "{metadata: {labels: {a: b}}, spec: {containers: [" +
			"{name: x, image: i, resources: {requests: {cpu: 1}}, resizePolicy: [{resourceName: cpu}]}, {name: y, image: j}]}}"
		node      = "{metadata: {labels: {clustergym.dev/pool: inference}}, spec: {taints: [{key: x, effect: NoSchedule}]}}"
		lent      = "{metadata: {labels: {clustergym.dev/pool: inference, clustergym.dev/loaned-to: training}}, spec: {taints: [{key: x, effect: NoSchedule}, {key: clustergym.dev/loaned-to, effect: NoSchedule}]}}"
		training  = "{metadata: {labels: {}}, spec: {}}"
		job       = "{metadata: {}, spec: {parallelism: 2, template: {spec: {image: i}}}}"
		dear      = "controller.kubernetes.io/pod-deletion-cost: '-1'"
		scheduled = "{type: PodScheduled, status: 'False'}"
	)
	for _, c := range []struct {
		name, resource, part, old, now string
		allowed                        bool
	}{
		{"the deletion cost", "pods", "", pod, "{metadata: {labels: {a: b}, annotations: {c: d, " + dear + "}}, spec: {nodeName: n}}", true},
		{"the deletion cost of a bare pod", "pods", "", bare, "{metadata: {annotations: {" + dear + "}}, spec: {nodeName: n}}", true},
		{"another annotation", "pods", "", pod, "{metadata: {labels: {a: b}, annotations: {c: e}}, spec: {nodeName: n}}", false},
		{"an annotation taken away", "pods", "", pod, "{metadata: {labels: {a: b}}, spec: {nodeName: n}}", false},
		{"a label", "pods", "", pod, "{metadata: {labels: {a: c}, annotations: {c: d}}, spec: {nodeName: n}}", false},
		{"the image", "pods", "", pod, "{metadata: {labels: {a: b}, annotations: {c: d}}, spec: {nodeName: n, image: evil}}", false},
		{"a finalizer", "pods", "", pod, "{metadata: {labels: {a: b}, annotations: {c: d}, finalizers: [x]}, spec: {nodeName: n}}", false},
		{"the condition PodScheduled", "pods", "status", pod,
			"{status: {phase: Pending, conditions: [{type: Ready, status: 'True'}, " + scheduled + "]}, metadata: {}}", true},
		{"the first condition", "pods", "status", bare, "{status: {phase: Pending, conditions: [" + scheduled + "]}, metadata: {}}", true},
		{"another condition", "pods", "status", pod, "{status: {phase: Pending, conditions: [{type: Ready, status: 'False'}]}, metadata: {}}", false},
		{"the phase", "pods", "status", pod, "{status: {phase: Failed, conditions: [{type: Ready, status: 'True'}]}, metadata: {}}", false},
		{"what it requested", "pods", "", pod,
			"{metadata: {labels: {a: b}, annotations: {c: d, clustergym.dev/requested: '{}'}}, spec: {nodeName: n}}", true},
		{"what it requested, again", "pods", "", "{metadata: {annotations: {clustergym.dev/requested: a}}, spec: {nodeName: n}}",
			"{metadata: {annotations: {clustergym.dev/requested: b}}, spec: {nodeName: n}}", false},
		{"its resources", "pods", "resize", contained, "{metadata: {labels: {a: b}}, spec: {containers: [" +
			"{name: x, image: i, resources: {requests: {cpu: 2}}, resizePolicy: [{resourceName: cpu}]}, {name: y, image: j}]}}", true},
		{"its image while it is resized", "pods", "resize", contained, "{metadata: {labels: {a: b}}, spec: {containers: [" +
			"{name: x, image: evil, resizePolicy: [{resourceName: cpu}]}, {name: y, image: j}]}}", false},
		{"how it is resized", "pods", "resize", contained, "{metadata: {labels: {a: b}}, spec: {containers: [" +
			"{name: x, image: i, resources: {requests: {cpu: 2}}}, {name: y, image: j}]}}", false},
		{"a label while it is resized", "pods", "resize", contained, "{metadata: {labels: {a: c}}, spec: {containers: [" +
			"{name: x, image: i, resizePolicy: [{resourceName: cpu}]}, {name: y, image: j}]}}", false},
		{"a loan", "nodes", "", node, lent, true},
		{"a return", "nodes", "", lent, node, true},
		{"a loan of a training node", "nodes", "", training, "{metadata: {labels: {clustergym.dev/loaned-to: training}}, spec: {}}", false},
		{"another label", "nodes", "", node,
			"{metadata: {labels: {clustergym.dev/pool: inference, x: y}}, spec: {taints: [{key: x, effect: NoSchedule}]}}", false},
		{"another taint", "nodes", "", node, "{metadata: {labels: {clustergym.dev/pool: inference}}, spec: {}}", false},
		{"a cordon", "nodes", "", node,
			"{metadata: {labels: {clustergym.dev/pool: inference}}, spec: {unschedulable: true, taints: [{key: x, effect: NoSchedule}]}}", false},
		{"the parallelism", "jobs", "", job, "{metadata: {}, spec: {parallelism: 4, completions: 4, template: {spec: {image: i}}}}", true},
		{"a job's image", "jobs", "", job, "{metadata: {}, spec: {parallelism: 2, template: {spec: {image: evil}}}}", false},
		{"a job's suspension", "jobs", "", job, "{metadata: {}, spec: {suspend: true, parallelism: 2, template: {spec: {image: i}}}}", false},
		{"a container's command while it is resized", "pods", "resize", contained, "{metadata: {labels: {a: b}}, spec: {containers: [" +
			"{name: x, image: i, command: [evil], resizePolicy: [{resourceName: cpu}]}, {name: y, image: j}]}}", false},
		{"the priority while it is resized", "pods", "resize", contained, "{metadata: {labels: {a: b}}, spec: {priority: 9, containers: [" +
			"{name: x, image: i, resizePolicy: [{resourceName: cpu}]}, {name: y, image: j}]}}", false},
		{"the reason", "pods", "status", pod,
			"{status: {phase: Pending, reason: Evicted, conditions: [{type: Ready, status: 'True'}]}, metadata: {}}", false},
		{"a label with the status", "pods", "status", pod,
			"{status: {phase: Pending, conditions: [{type: Ready, status: 'True'}]}, metadata: {labels: {a: b, x: y}}}", false},
		{"where a node is", "nodes", "", node,
			"{metadata: {labels: {clustergym.dev/pool: inference}}, spec: {providerID: x, taints: [{key: x, effect: NoSchedule}]}}", false},
		{"a field of a job that nobody knows", "jobs", "", job, "{metadata: {}, spec: {new: 1, parallelism: 2, template: {spec: {image: i}}}}", false},
	} {
		if got := a.allows(t, own, c.resource, c.part, read(c.old), read(c.now)); got != c.allowed {
			t.Errorf("%s: allowed %t, want %t", c.name, got, c.allowed)
		}
		if !a.allows(t, "system:admin", c.resource, c.part, read(c.old), read(c.now)) {
			t.Errorf("%s: refused to another user", c.name)
		}
	}
}

// TestFieldsOfJobs checks that of a job's specification the program may change the number of pods and nothing else, set or unset.
func TestFieldsOfJobs(t *testing.T) {
	a := compile(t, "clustergym")
	const full = `{parallelism: 2, completions: 2, completionMode: Indexed, activeDeadlineSeconds: 60, backoffLimit: 6, backoffLimitPerIndex: 1,
  maxFailedIndexes: 1, ttlSecondsAfterFinished: 60, suspend: false, manualSelector: false, podReplacementPolicy: Failed, managedBy: a,
  selector: {matchLabels: {a: b}}, successPolicy: {rules: [{succeededCount: 1}]}, podFailurePolicy: {rules: []}, template: {spec: {image: i}}}`
	job := func(change func(spec map[string]any)) map[string]any {
		spec := object(t, full)
		change(spec)
		return map[string]any{"metadata": map[string]any{}, "spec": spec}
	}
	before := job(func(map[string]any) {})
	for key := range object(t, full) {
		for name, change := range map[string]func(map[string]any){
			"changed": func(spec map[string]any) { spec[key] = "other" }, "removed": func(spec map[string]any) { delete(spec, key) },
		} {
			want := key == "parallelism" || key == "completions"
			if got := a.allows(t, own, "jobs", "", before, job(change)); got != want {
				t.Errorf("%s %s: allowed %t, want %t", key, name, got, want)
			}
		}
		added := map[string]any{"metadata": map[string]any{}, "spec": map[string]any{key: object(t, full)[key]}}
		none := map[string]any{"metadata": map[string]any{}, "spec": map[string]any{}}
		if want := key == "parallelism" || key == "completions"; a.allows(t, own, "jobs", "", none, added) != want {
			t.Errorf("%s set: allowed %t, want %t", key, !want, want)
		}
	}
}

// TestWhoSaysWhatWasRequested checks that the admission policy of live mode lets only the program set, change and remove the
// annotation with what a pod requested first, on the pods that it schedules.
func TestWhoSaysWhatWasRequested(t *testing.T) {
	a := compile(t, "clustergym-requested")
	pod := func(scheduler, annotations string) string {
		return "{metadata: {" + annotations + "}, spec: {schedulerName: " + scheduler + "}}"
	}
	const said, other = "annotations: {clustergym.dev/requested: '{}', a: b}", "annotations: {clustergym.dev/requested: '{\"cpu\":\"1\"}'}"
	for _, c := range []struct {
		name, part, old, now string
		allowed              bool
	}{
		{"a pod without it", "", "", pod("clustergym", ""), true},
		{"a pod with it", "", "", pod("clustergym", said), false},
		{"a pod of another scheduler", "", "", pod("default-scheduler", said), true},
		{"set", "", pod("clustergym", ""), pod("clustergym", said), false},
		{"changed", "", pod("clustergym", said), pod("clustergym", other), false},
		{"removed", "", pod("clustergym", said), pod("clustergym", ""), false},
		{"kept", "", pod("clustergym", said), pod("clustergym", "labels: {c: d}, "+said), true},
		{"set with the status", "status", pod("clustergym", ""), pod("clustergym", said), false},
		{"kept by the kubelet", "status", pod("clustergym", said), pod("clustergym", said), true},
	} {
		if got := a.allows(t, "system:admin", "pods", c.part, object(t, c.old), object(t, c.now)); got != c.allowed {
			t.Errorf("%s: allowed %t, want %t", c.name, got, c.allowed)
		}
		if !a.allows(t, own, "pods", c.part, object(t, c.old), object(t, c.now)) {
			t.Errorf("%s: refused to the program", c.name)
		}
	}
}
