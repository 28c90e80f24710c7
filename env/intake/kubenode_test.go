package intake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
)

// kubeNodeOf returns a ready node with the given labels, and the given fields of its status.
func kubeNodeOf(name, labels, status string) string {
	return fmt.Sprintf(`{"kind":"Node","metadata":{"name":%q,"labels":{%s}},"status":{%s,"conditions":[{"type":"Ready","status":"True"}]}}`,
		name, labels, status)
}

// offering returns the fields of a node's status for what is allocatable and its capacity.
func offering(allocatable, capacity string) string {
	return `"allocatable":{"pods":"9",` + allocatable + `},"capacity":{"pods":"9",` + capacity + `}`
}

// health lists the servers in the form "name gpus" and what of them is out of order.
func health(s *cluster.State) string {
	var all []string
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		text := fmt.Sprintf("%s %d", s.Server(id).Name, s.Server(id).GPUs)
		if s.Down(id) {
			text += " down"
		}
		for g := range s.Server(id).GPUs {
			if s.Failed(id, g) {
				text += fmt.Sprintf(" -%d", g)
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func TestGPUsOutOfOrder(t *testing.T) {
	const gpu = `"nvidia.com/gpu":`
	for _, c := range []struct {
		name   string
		items  []string
		jobs   string
		health string
		notes  []string
	}{
		{"none allocatable", []string{kubeNodeOf("n", "", offering(gpu+`"0"`, gpu+`"4"`)), kubePod("p", 4, "", "", "")}, "a/p 4/4", "n 4 -0 -1 -2 -3",
			[]string{"those that no pod holds are out of order in the snapshot: 1, for example n (0 of 4 allocatable)"}},
		{"the resource is gone", []string{kubeNodeOf("n", "", offering(`"cpu":4`, gpu+`4`))}, "", "n 4 -0 -1 -2 -3", []string{"n (0 of 4 allocatable)"}},
		{"some, beside a pod", []string{kubeNodeOf("n", "", offering(gpu+`5`, gpu+`8`)), kubePod("p", 3, "n", "", "")}, "a/p 3/3@n:[0 1 2]", "n 8 -3 -4 -5",
			[]string{"n (5 of 8 allocatable)"}},
		{"pods hold some of them", []string{kubeNodeOf("n", "", offering(gpu+`1`, gpu+`4`)), kubePod("p", 3, "n", "", "")}, "a/p 3/3@n:[0 1 2]", "n 4 -3",
			[]string{"n (1 of 4 allocatable)"}},
		{"three nodes", []string{kubeNodeOf("n", "", offering(gpu+`1`, gpu+`2`)), kubeNodeOf("m", "", offering(gpu+`0`, gpu+`2`)), kubeNodeOf("o", "", offering(gpu+`0`, gpu+`1`))},
			"", "m 2 -0 -1; n 2 -0; o 1 -0", []string{"in the snapshot: 3, for example m (0 of 2 allocatable) and 2 more"}},
		{"a node that is cordoned, too", []string{strings.Replace(kubeNodeOf("n", "", offering(gpu+`1`, gpu+`3`)), `"status":{"all`, `"spec":{"unschedulable":true},"status":{"all`, 1),
			kubePod("p", 1, "n", "", "")}, "a/p 1/1@n:[0]", "n 3 -1 -2", []string{"n (1 of 3 allocatable)"}},
		{"nothing said of what is allocatable", []string{kubeNodeOf("n", "", `"capacity":{"cpu":"4",`+gpu+`"2"}`), kubePod("p", 1, "", "", "")}, "a/p 1/1", "n 2",
			[]string{"do not say what is allocatable: it is taken to be their capacity: 1, for example n"}},
		{"null allocatable", []string{kubeNodeOf("n", "", `"allocatable":null,"capacity":{`+gpu+`"2"}`)}, "", "n 2", []string{"taken to be their capacity"}},
		{"no capacity", []string{kubeNodeOf("n", "", `"allocatable":{`+gpu+`"2"}`)}, "", "n 2", nil},
		{"more allocatable than there are", []string{kubeNodeOf("n", "", offering(gpu+`3`, gpu+`2`))}, "", "n 3", nil},
		{"down", []string{kubeNode("n", 2, ""), strings.Replace(kubeNode("m", 2, ""), `"True"`, `"False"`, 1), kubeNode("o", 1, `,"unschedulable":true`)}, "", "m 2 down; n 2; o 1 down",
			[]string{"nodes that are unschedulable, not ready or being deleted: down in the snapshot: 2, for example m"}},
	} {
		r, err := readKubectl(kubeList(append(c.items, endedPod)...))
		check(t, c.name, r, err, c.jobs, c.notes...)
		if err == nil && health(r.State) != c.health {
			t.Errorf("%s: %s, want %s", c.name, health(r.State), c.health)
		}
	}
}

// TestTaintsThatRepeatAState checks that a node under pressure takes no new pods, whatever they tolerate, unless they have requests and
// only memory is short.
func TestTaintsThatRepeatAState(t *testing.T) {
	for taint, want := range map[string]string{
		"node.kubernetes.io/disk-pressure": "n 2 down", "node.kubernetes.io/network-unavailable": "n 2 down", "node.kubernetes.io/out-of-service": "n 2 down",
		"node.kubernetes.io/memory-pressure": "n 2", "node.kubernetes.io/other": "n 2", "node.cloudprovider.kubernetes.io/shutdown": "n 2 down",
	} {
		for effect, want := range map[string]string{"NoSchedule": want, "PreferNoSchedule": "n 2"} {
			r, err := readKubectl(kubeNode("n", 2, fmt.Sprintf(`,"taints":[{"key":%q,"effect":%q}]`, taint, effect)))
			if err != nil || health(r.State) != want {
				t.Errorf("%s %s: %v, %s, want %s", taint, effect, err, health(r.State), want)
			}
		}
	}
}

// TestOtherDevices checks that nodes and pods with devices that are not counted are named, with what to type.
func TestOtherDevices(t *testing.T) {
	n := kubeNode("n", 8, "")
	const without = " and without nvidia.com/gpu, left out; --gpu "
	claims := kubePod("p", 0, "n", "", `,"resourceClaims":[{"name":"c"}]`)
	slice := `{"kind":"ResourceSlice","apiVersion":"resource.k8s.io/v1","spec":{"driver":"gpu.example.com","nodeName":"n","devices":[{"name":"a"},{"name":"b"}]}}`
	for _, c := range []struct {
		name  string
		items []string
		notes []string
	}{
		{"another maker", []string{n, kubeNodeOf("m", `"amd.com/gpu.product-name":"X"`, offering(`"amd.com/gpu":"4"`, `"amd.com/gpu":"4"`))},
			[]string{"nodes with amd.com/gpu" + without + "amd.com/gpu --gpu-label amd.com/gpu.product-name reads them: 1, for example m (4)"}},
		{"makers", []string{n, kubeNodeOf("m", "", offering(`"habana.ai/gaudi":8,"rdma/hca":1`, `"habana.ai/gaudi":8`)), kubeNodeOf("o", "", offering(`"google.com/tpu":8`, `"google.com/tpu":8`)),
			kubeNodeOf("q", "", offering(`"aws.amazon.com/neuron":16,"aws.amazon.com/neuroncore":32`, `"a/b":1`)), kubeNodeOf("x", "", offering(`"huawei.com/Ascend910":"0"`, `"huawei.com/Ascend910":8`))},
			[]string{"habana.ai/gaudi" + without, "google.com/tpu" + without, "aws.amazon.com/neuron" + without, "huawei.com/Ascend910" + without + "huawei.com/Ascend910 reads them: 1, for example x (8)"}},
		{"slices of MIG beside GPUs", []string{kubeNodeOf("n", "", offering(`"nvidia.com/gpu":4,"nvidia.com/mig-2g.20gb":6`, `"nvidia.com/gpu":4`))},
			[]string{"nodes that also have nvidia.com/mig-2g.20gb, which is not counted: 1, for example n (6)"}},
		{"a node that has lost its GPUs", []string{n, kubeNodeOf("m", `"nvidia.com/gpu.product":"H100"`, `"allocatable":{"cpu":1}`)},
			[]string{"by their label nvidia.com/gpu.product and have no nvidia.com/gpu, left out: 1, for example m (H100)"}},
		{"GPUs that are shared", []string{kubeNodeOf("n", `"nvidia.com/gpu.replicas":"4"`, `"allocatable":{"nvidia.com/gpu":32}`)},
			[]string{"split or shared: each part counts as a GPU: 1, for example n (nvidia.com/gpu.replicas 4)"}},
		{"slices of MIG as GPUs", []string{kubeNodeOf("n", `"nvidia.com/gpu.product":"H100-MIG-1g.10gb"`, `"allocatable":{"nvidia.com/gpu":56}`)},
			[]string{"each part counts as a GPU: 1, for example n (nvidia.com/gpu.product H100-MIG-1g.10gb)"}},
		{"claims", []string{n, claims, slice}, []string{"pods with resource claims, whose devices are not counted: if these are GPUs of a node, they count as free: 1, for example a/p",
			"ResourceSlices of gpu.example.com (DRA), whose devices are not counted: 1, for example 2 devices on n"}},
	} {
		r, err := readKubectl(kubeList(c.items...))
		check(t, c.name, r, err, "", c.notes...)
	}
	for _, c := range []struct {
		name  string
		items []string
		want  string
	}{
		{"slices of MIG", []string{kubeNodeOf("n", "", offering(`"nvidia.com/gpu":0,"nvidia.com/mig-1g.10gb":7,"nvidia.com/mig-3g.40gb":2`, `"nvidia.com/gpu":0`)),
			kubeNodeOf("m", "", offering(`"nvidia.com/mig-1g.10gb":7,"ephemeral/x":90`, `"cpu":1`))},
			"2 nodes, none with allocatable nvidia.com/gpu, want at least one; they have nvidia.com/mig-1g.10gb (14 on 2 nodes), nvidia.com/mig-3g.40gb (2 on 1 node): name what counts as a GPU, such as --gpu nvidia.com/mig-1g.10gb"},
		{"another maker", []string{kubeNodeOf("n", `"amd.com/gpu.product-name":"X"`, offering(`"amd.com/gpu":4`, `"amd.com/gpu":4`))},
			"they have amd.com/gpu (4 on 1 node): name what counts as a GPU, such as --gpu amd.com/gpu --gpu-label amd.com/gpu.product-name"},
		{"shared GPUs", []string{kubeNodeOf("n", "", offering(`"nvidia.com/gpu.shared":40`, `"cpu":1`))}, "such as --gpu nvidia.com/gpu.shared"},
		{"something that nobody knows", []string{kubeNodeOf("n", "", offering(`"example.com/thing":4`, `"cpu":1`))}, "they have example.com/thing (4 on 1 node): name"},
		{"claims", []string{kubeNodeOf("n", "", offering(`"cpu":4`, `"cpu":4`)), claims, slice},
			"--gpu names another resource; 1 pod asks for devices by resource claims (DRA), which a snapshot does not read, for example a/p; ResourceSlices (DRA) list 2 devices of gpu.example.com"},
	} {
		if _, err := readKubectl(kubeList(c.items...)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestAccelerators(t *testing.T) {
	for name, want := range map[string]bool{
		"nvidia.com/gpu": true, "nvidia.com/mig-7g.80gb": true, "nvidia.com/gpu.shared": true, "nvidia.com/GV100GL_Tesla": true, "gpu.intel.com/i915": true,
		"gpu.intel.com/xe": true, "gpu.intel.com/i915_monitoring": false, "nvidia.com/gpumem": false, "nvidia.com/gpucores": false, "google.com/tpu": true,
		"aws.amazon.com/neuron": true, "aws.amazon.com/neuroncore": false, "huawei.com/Ascend310P": true, "cambricon.com/mlu": true, "rdma/hca": false,
		"nvidia.com/hostdev": false, "vpc.amazonaws.com/efa": false, "volcano.sh/vgpu-number": true, "tenstorrent.com/n150": true, "devices.kubevirt.io/kvm": false,
	} {
		if isAccelerator(name) != want {
			t.Errorf("%s: want %t", name, want)
		}
	}
}

// TestRunningPodsAreNeverFree checks that what a running pod holds is not free because something else of it is odd.
func TestRunningPodsAreNeverFree(t *testing.T) {
	n := kubeNode("n", 8, "")
	running := func(text string) string { return strings.Replace(text, `"nodeName":"n"`, `"nodeName":""`, 1) }
	unknown := strings.Replace(kubePod("u", 2, "n", "", ""), "Running", "Unknown", 1)
	mirror := kubePod("m", 1, "n", `,"ownerReferences":[{"kind":"Node","name":"n","uid":"9","controller":true}]`, "")
	deleted := kubePod("d", 3, "n", `,"deletionTimestamp":"2026-11-24T07:00:00Z"`, "")
	r, err := readKubectl(kubeList(n, unknown, mirror, deleted))
	check(t, "odd pods", r, err, "a/d 3/3@n:[0 1 2]; a/m 1/1@n:[3]; a/u 2/2@n:[4 5]", "being deleted and still hold GPUs: running jobs of their own: 1, for example a/d",
		"phase Unknown: they are taken to run: 1, for example a/u")
	lost := kubeList(n, running(kubePod("l", 2, "n", "", "")), running(kubePod("k", 1, "n", "", "")))
	if _, err := readKubectl(lost); err == nil || !strings.Contains(err.Error(), "2 running pods with GPUs, for example a/l, do not say where: spec.nodeName is missing") {
		t.Errorf("pods without a node: %v", err)
	}
	c := Kubectl{GPU: "nvidia.com/gpu", AllowUnread: true, MaxBytes: 1 << 20, Clock: Clock{Now: now}}
	r, err = c.Read(File{"pods.json", strings.NewReader(lost)})
	check(t, "pods without a node, allowed", r, err, "", "left out: the GPUs that they hold count as free: 2, for example a/l, a/k")
}

func TestPrioritiesAreNotKept(t *testing.T) {
	n := kubeNode("n", 8, "")
	for spec, want := range map[string]string{
		`,"priority":-5,"priorityClassName":"low"`: "with a priority, which a snapshot does not keep: 1, for example a/p (-5)",
		`,"priorityClassName":"high"`:              "1, for example a/p (high)",
		`,"priority":0`:                            "",
		`,"priority":null,"priorityClassName":""`:  "",
	} {
		r, err := readKubectl(kubeList(n, kubePod("p", 1, "", "", spec)))
		if want == "" {
			check(t, spec, r, err, "a/p 1/1")
		} else {
			check(t, spec, r, err, "a/p 1/1", want)
		}
	}
}
