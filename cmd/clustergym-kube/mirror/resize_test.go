package mirror

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/env/cluster"
)

// sized returns a pod of two GPUs whose container has CPU and memory, each with a limit unless that is "".
func sized(cpu, cpuLimit, mem, memLimit string) *corev1.Pod {
	list := func(cpu, mem string) corev1.ResourceList {
		all := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}
		for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: mem} {
			if text != "" {
				all[name] = resource.MustParse(text)
			}
		}
		return all
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p"},
		Spec: corev1.PodSpec{SchedulerName: "clustergym", Containers: []corev1.Container{{
			Name: "train", Resources: corev1.ResourceRequirements{Requests: list(cpu, mem), Limits: list(cpuLimit, memLimit)},
		}}},
	}
}

// TestResized checks the requests and limits that a pod gets, and that giving back what it had requested is exact.
func TestResized(t *testing.T) {
	c := &Config{GPU: "nvidia.com/gpu"}
	sidecar := corev1.Container{Name: "log", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"),
	}}}
	for _, x := range []struct {
		name     string
		pod      *corev1.Pod
		change   func(*corev1.Pod)
		cpu, mem int32 // for each GPU
		want     [4]string
		ok       bool
	}{
		{"as it is", sized("8", "", "64Gi", ""), nil, 4000, 32 << 10, [4]string{}, false},
		{"more CPU", sized("8", "", "64Gi", ""), nil, 6000, 32 << 10, [4]string{"12", "", "64Gi", ""}, true},
		{"guaranteed", sized("8", "8", "64Gi", "64Gi"), nil, 6000, 40 << 10, [4]string{"12", "12", "80Gi", "80Gi"}, true},
		{"within its limits", sized("8", "16", "64Gi", "65Gi"), nil, 6000, 40 << 10, [4]string{"12", "16", "80Gi", "81921Mi"}, true},
		{"beyond one limit", sized("8", "12", "64Gi", "64Gi"), nil, 6000, 32 << 10, [4]string{"12", "12001m", "64Gi", "64Gi"}, true},
		{"back within its limits", sized("20", "20001m", "80Gi", "80Gi"), func(p *corev1.Pod) {
			p.Annotations = map[string]string{RequestedAnnotation: `{"cpu":"8","memory":"64Gi","limits.cpu":"16"}`}
		}, 4000, 32 << 10, [4]string{"8", "16", "64Gi", "64Gi"}, true},
		{"back, as an earlier version noted it", sized("20", "24", "80Gi", "80Gi"), func(p *corev1.Pod) {
			p.Annotations = map[string]string{RequestedAnnotation: `{"cpu":"8","memory":"64Gi"}`}
		}, 4000, 32 << 10, [4]string{"8", "24", "64Gi", "64Gi"}, true},
		{"less", sized("8", "8", "64Gi", ""), nil, 1000, 32 << 10, [4]string{"2", "2", "64Gi", ""}, true},
		{"no CPU requested", sized("", "", "64Gi", ""), nil, 6000, 40 << 10, [4]string{"", "", "80Gi", ""}, true},
		{"another container", sized("8", "", "64Gi", ""), func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, sidecar) }, 6000,
			40 << 10, [4]string{"11", "", "79Gi", ""}, true},
		{"back to an odd request", sized("12", "12", "80Gi", "80Gi"), func(p *corev1.Pod) {
			p.Annotations = map[string]string{RequestedAnnotation: `{"cpu":"8001m","memory":"64001Mi"}`}
		}, 4001, 32001, [4]string{"8001m", "8001m", "64001Mi", "64001Mi"}, true},
		{"init containers", sized("8", "", "64Gi", ""), func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{sidecar} }, 6000, 1,
			[4]string{}, false},
		{"a restart", sized("8", "", "64Gi", ""), func(p *corev1.Pod) {
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "memory", RestartPolicy: corev1.RestartContainer}}
		}, 6000, 1, [4]string{}, false},
	} {
		if x.change != nil {
			x.change(x.pod)
		}
		container, r, ok := c.Resized(x.pod, cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: x.cpu, MemMiB: x.mem})
		if ok != x.ok || ok && container != "train" {
			t.Errorf("%s: container %q, %t, want %t", x.name, container, ok, x.ok)
			continue
		}
		got := [4]corev1.ResourceList{r.Requests, r.Limits, r.Requests, r.Limits}
		for i, want := range x.want {
			q, has := got[i][[]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}[i/2]]
			if has != (want != "") || has && q.Cmp(resource.MustParse(want)) != 0 {
				t.Errorf("%s: %v, want %q", x.name, r, x.want)
				break
			}
		}
	}
}

// TestRequestedBefore checks that a gang's request is what its pods had requested first, and that it runs with what they hold.
func TestRequestedBefore(t *testing.T) {
	c := &Config{GPU: "nvidia.com/gpu"}
	noted := func(text string) *corev1.Pod {
		pod := sized("12", "", "80Gi", "")
		pod.Annotations = map[string]string{RequestedAnnotation: text}
		return pod
	}
	for _, x := range []struct {
		note     string
		cpu, mem int32
	}{
		{`{"cpu":"8","memory":"64Gi"}`, 4000, 32 << 10},
		{`{"cpu":"8"}`, 6000, 40 << 10},
		{`{"cpu":"-8","memory":"64Gi"}`, 6000, 40 << 10},
		{`{"cpu":"many","memory":"64Gi"}`, 6000, 40 << 10},
		{`{`, 6000, 40 << 10},
	} {
		a, f := c.askOf(noted(x.note))
		if f != nil || a.request.CPUMilli != x.cpu || a.request.MemMiB != x.mem {
			t.Errorf("%s: request %+v, %v, want %d and %d", x.note, a.request, f, x.cpu, x.mem)
		}
		if h := c.Held(noted(x.note)); h.CPUMilli != 6000 || h.MemMiB != 40<<10 {
			t.Errorf("%s: holds %+v", x.note, h)
		}
	}
	for _, x := range []struct {
		name     string
		change   func(*corev1.Pod)
		cpu, mem int32
	}{
		{"two containers with GPUs", func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0]) }, 6000, 40 << 10}, // of four GPUs
		{"an init container", func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "wait"}} }, 6000, 40 << 10},
		{"less than another container has", func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "log", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")},
			}})
		}, 10000, 40 << 10},
		{"no CPU for the container with the GPUs", func(p *corev1.Pod) {
			delete(p.Spec.Containers[0].Resources.Requests, corev1.ResourceCPU)
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "log", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("12")},
			}})
		}, 6000, 32 << 10},
	} {
		pod := noted(`{"cpu":"8","memory":"64Gi"}`)
		x.change(pod)
		a, f := c.askOf(pod)
		if f != nil || a.request.CPUMilli != x.cpu || a.request.MemMiB != x.mem {
			t.Errorf("%s: request %+v, %v, want %d and %d", x.name, a.request, f, x.cpu, x.mem)
		}
	}
	for _, x := range []struct {
		pod  *corev1.Pod
		want string
	}{
		{sized("8", "", "64Gi", ""), `{"cpu":"8","memory":"64Gi"}`},
		{sized("8", "8", "64Gi", "64Gi"), `{"cpu":"8","memory":"64Gi"}`},
		{sized("8", "16", "64Gi", "65Gi"), `{"cpu":"8","limits.cpu":"16","limits.memory":"65Gi","memory":"64Gi"}`},
	} {
		if got := c.Requested(x.pod); got != x.want {
			t.Errorf("requested %s, want %s", got, x.want)
		}
	}
}

// TestLeast checks the least that pods can be given, and that they can be given that: it must not be placed as less.
func TestLeast(t *testing.T) {
	c := &Config{GPU: "nvidia.com/gpu"}
	beside := func(cpu, mem string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "log", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(mem)},
			}})
		}
	}
	for _, x := range []struct {
		name     string
		pod      *corev1.Pod
		change   func(*corev1.Pod)
		cpu, mem int32
	}{
		{"one container", sized("8", "", "64Gi", ""), func(*corev1.Pod) {}, 1, 1},
		{"another container", sized("8", "", "64Gi", ""), beside("3001m", "5Gi"), 1501, 2561},
		{"no CPU requested", sized("", "", "64Gi", ""), beside("3", "5Gi"), 1500, 2561},
		{"an init container", sized("8", "", "64Gi", ""), func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "wait"}}
		}, 4000, 32 << 10},
	} {
		x.change(x.pod)
		a, f := c.askOf(x.pod)
		if f != nil {
			t.Fatal(f.message)
		}
		least := c.least(x.pod, a.request)
		if least.CPUMilli != x.cpu || least.MemMiB != x.mem {
			t.Errorf("%s: %+v, want %d and %d", x.name, least, x.cpu, x.mem)
		}
		if _, r, ok := c.Resized(x.pod, least); ok {
			maps.Copy(x.pod.Spec.Containers[0].Resources.Requests, r.Requests)
		}
		if held := c.Held(x.pod); held != least {
			t.Errorf("%s: it holds %+v after a resize to %+v", x.name, held, least)
		}
	}
}

// guaranteed reports whether a pod of one container has the quality-of-service class Guaranteed.
func guaranteed(pod *corev1.Pod) bool {
	r := pod.Spec.Containers[0].Resources
	return !slices.ContainsFunc(changing, func(name corev1.ResourceName) bool {
		limit, limited := r.Limits[name]
		return !limited || limit.Cmp(r.Requests[name]) != 0
	})
}

// TestResizedUpAndBack checks for several limits that a pod which is resized up and back has its own requests and limits again, and
// the same quality-of-service class all the time.
func TestResizedUpAndBack(t *testing.T) {
	c := &Config{GPU: "nvidia.com/gpu"}
	for _, x := range [][4]string{{"8", "8", "64Gi", "64Gi"}, {"8", "16", "64Gi", "64Gi"}, {"8", "16", "64G", "64G"}, {"8", "12", "64Gi", "72Gi"},
		{"8", "", "64Gi", "80Gi"}} {
		pod := sized(x[0], x[1], x[2], x[3])
		own, class := pod.Spec.Containers[0].Resources.DeepCopy(), guaranteed(pod)
		first := c.Held(pod)
		note := c.Requested(pod)
		for _, to := range []cluster.Amount{{CPUMilli: 6000, MemMiB: 40 << 10}, {CPUMilli: 10000, MemMiB: 40 << 10}, first} {
			_, r, ok := c.Resized(pod, to)
			if !ok {
				t.Fatalf("%q: not resized to %+v", x, to)
			}
			pod.Annotations = map[string]string{RequestedAnnotation: note}
			maps.Copy(pod.Spec.Containers[0].Resources.Requests, r.Requests)
			maps.Copy(pod.Spec.Containers[0].Resources.Limits, r.Limits)
			if got := guaranteed(pod); got != class {
				t.Errorf("%q at %+v: guaranteed %t, want %t", x, to, got, class)
			}
		}
		for _, name := range changing {
			is := pod.Spec.Containers[0].Resources
			request, limit := is.Requests[name], is.Limits[name]
			if request.Cmp(own.Requests[name]) != 0 || limit.Cmp(own.Limits[name]) != 0 {
				t.Errorf("%q: back at a request of %v %s, with a limit of %v", x, &request, name, &limit)
			}
		}
	}
}
