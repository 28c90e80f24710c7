package control

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// roomy is a node with 8 GPUs, 96 CPUs and 768 GiB.
func roomy(name string) *corev1.Node {
	n := node(name, 8, nil)
	n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("96")
	n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("768Gi")
	return n
}

// sized gives each pod of a gang CPU and memory.
func sized(pods []*corev1.Pod, cpu, mem string) []*corev1.Pod {
	for _, pod := range pods {
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse(mem)
	}
	return pods
}

func built(t *testing.T, pods []*corev1.Pod, more ...*corev1.Node) *mirror.View {
	t.Helper()
	o := &mirror.Objects{Nodes: append(more, roomy("a")), Pods: pods, ReclaimBy: noon}
	v := must.Get(mirror.Build(o, &reading, noon))(t)
	return v
}

// granted returns amounts with bounds in the form of the ConfigMap.
func granted(text string) *amounts {
	bounds, err := readAmounts(text)
	if err != nil {
		panic(err)
	}
	return &amounts{bounds: bounds, pins: map[string]pin{}, failed: map[string]kept{}}
}

// TestAmountsOfStarts checks with how much CPU for each GPU gangs start whose policy gives them other amounts: within the bounds of
// their namespace, and as requested where there are none or where the pods cannot change. The gangs request one CPU for each GPU, and
// the node has twelve.
func TestAmountsOfStarts(t *testing.T) {
	for _, c := range []struct {
		name, amounts string
		change        func(*corev1.Pod)
		least, most   int32 // thousandths of a core for each GPU
	}{
		{"no bounds", "", nil, 1000, 1000},
		{"of another namespace", "other: cpu=1..4", nil, 1000, 1000},
		{"up to twice", "default: cpu=1..2", nil, 2000, 2000},
		{"the namespace goes before all others", "*: cpu=1..8\ndefault: cpu=1..1.5", nil, 1500, 1500},
		{"as much as it needs", "*: cpu=1..50", nil, 2500, 12000},
		{"pods that restart", "*: cpu=1..50", func(pod *corev1.Pod) {
			pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: corev1.RestartContainer}}
		}, 1000, 1000},
	} {
		pods := sized(crew{name: "g", pods: 2, least: 2, gpus: 2, asked: time.Hour}.list(), "2", "64Gi")
		for _, pod := range pods {
			if c.change != nil {
				c.change(pod)
			}
		}
		v := built(t, pods)
		r := decideRound(v, decider(t, "srsf+menu+know:speed=fit"), "r", limits{amounts: granted(c.amounts), mirror: &reading})
		if len(r.failed) > 0 || len(r.bind) != 1 || len(r.bind[0].pods) != 2 {
			t.Errorf("%s: binds %+v, %v", c.name, r.bind, r.failed)
			continue
		}
		cpu, n := v.State.Placement(0)[0].CPUMilli, 0
		for _, h := range r.bind[0].hold {
			if h.amount.CPUMilli == cpu {
				n++
			}
		}
		if want := map[bool]int{false: 2, true: 0}[cpu == 1000]; cpu < c.least || cpu > c.most || n != want {
			t.Errorf("%s: %d thousandths of a core, %d pods resized to that, want %d to %d", c.name, cpu, n, c.least, c.most)
		}
		if mem := v.State.Placement(0)[0].MemMiB; mem != 32<<10 {
			t.Errorf("%s: %d MiB, want what was requested", c.name, mem)
		}
	}
}

// TestAmountsAreGivenBack checks that a running gang gets back what it held when a reading is worse after a change, that a lower one
// by noise changes nothing, and that it holds nothing else for an hour.
func TestAmountsAreGivenBack(t *testing.T) {
	holds := func(cpu int32) cluster.Configuration {
		a := cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: cpu, MemMiB: 32 << 10}
		return cluster.Configuration{Workers: 4, Amount: a, Servers: 1}
	}
	const before, now = 1000, 3000
	for _, c := range []struct {
		name     string
		bounds   string
		readings []cluster.Reading // at one second after the other
		want     int32             // CPU that it is given
	}{
		{"nothing measured", "*: cpu=1..4", nil, now},
		{"measured before", "*: cpu=1..4", []cluster.Reading{{Speed: 100, Configuration: holds(before)}}, now},
		{"better", "*: cpu=1..4", []cluster.Reading{{Speed: 100, Configuration: holds(before)}, {Speed: 150, Configuration: holds(now)}}, now},
		{"noise", "*: cpu=1..4", []cluster.Reading{{Speed: 100, Configuration: holds(before)}, {Speed: 96, Configuration: holds(now)}}, now},
		{"worse", "*: cpu=1..4", []cluster.Reading{{Speed: 100, Configuration: holds(before)}, {Speed: 90, Configuration: holds(now)}}, before},
		{"worse, but nothing may change", "other: cpu=1..4",
			[]cluster.Reading{{Speed: 100, Configuration: holds(before)}, {Speed: 90, Configuration: holds(now)}}, now},
		{"worse than on two servers", "*: cpu=1..4", []cluster.Reading{
			{Speed: 100, Configuration: cluster.Configuration{Workers: 4, Amount: holds(before).Amount, Servers: 2}},
			{Speed: 90, Configuration: holds(now)},
		}, now},
	} {
		pods := sized(crew{name: "g", pods: 2, least: 2, gpus: 2, on: []string{"a", "a"}, asked: time.Hour}.list(), "6", "64Gi")
		for _, pod := range pods {
			pod.Annotations[mirror.RequestedAnnotation] = `{"cpu":"2","memory":"64Gi"}`
		}
		v := built(t, pods)
		for i, r := range c.readings {
			r.At = v.State.Now() - time.Minute + time.Duration(i)*time.Second
			v.State.AddReading(0, r)
		}
		a := granted(c.bounds)
		slower := a.judge(v, noon)
		if (len(slower) == 1) != (c.want == before) {
			t.Errorf("%s: slower %q", c.name, slower)
		}
		for _, policy := range []string{"srsf", "srsf+menu+move+know:speed=fit"} {
			r := decideRound(built(t, pods), decider(t, policy), "r", limits{amounts: a, mirror: &reading})
			var got []int32
			for _, h := range r.holds {
				got = append(got, h.amount.CPUMilli)
			}
			if want := map[int32][]int32{before: {before, before}, now: nil}[c.want]; !slices.Equal(got, want) && policy == "srsf" ||
				c.want == before && !slices.Equal(got, want) || len(r.stop) > 0 {
				t.Errorf("%s, %s: pods get %d, want %d; stops %v", c.name, policy, got, want, r.stop)
			}
		}
		if again := a.judge(v, noon.Add(59*time.Minute)); len(again) > 0 || len(a.pins) == 0 && c.want == before {
			t.Errorf("%s: not kept for an hour, or found slower again: %q", c.name, again)
		}
		if a.judge(v, noon.Add(time.Hour)); c.want == before && !a.pins["default/g"].until.Equal(noon.Add(2*time.Hour)) {
			t.Errorf("%s: kept until %v, want that the hour begins anew when it is over", c.name, a.pins["default/g"].until)
		}
	}
}

// TestGivenBackWithinTheBounds checks that a gang gets back only what the bounds allow now, also if they became tighter since.
func TestGivenBackWithinTheBounds(t *testing.T) {
	pods := sized(crew{name: "g", pods: 2, least: 2, gpus: 2, on: []string{"a", "a"}, asked: time.Hour}.list(), "4", "64Gi")
	for _, pod := range pods {
		pod.Annotations[mirror.RequestedAnnotation] = `{"cpu":"2","memory":"64Gi"}`
	}
	v := built(t, pods)
	holds := v.State.Configuration(0)
	more := holds
	more.Amount.CPUMilli = 4000
	for i, r := range []cluster.Reading{{Speed: 100, Configuration: more}, {Speed: 50, Configuration: holds}} {
		r.At = v.State.Now() - time.Minute + time.Duration(i)*time.Second
		v.State.AddReading(0, r)
	}
	if slower := granted("*: cpu=1..3").judge(v, noon); len(slower) > 0 {
		t.Errorf("slower %q than with amounts that the bounds do not allow", slower)
	}
	a := granted("*: cpu=1..4")
	if slower := a.judge(v, noon); len(slower) != 1 {
		t.Fatalf("slower %q, want the gang", slower)
	}
	a.bounds = granted("*: cpu=1..3 memory=0.5..1").bounds
	r := decideRound(built(t, pods), decider(t, "srsf"), "r", limits{amounts: a, mirror: &reading})
	if len(r.holds) != 2 || r.holds[0].amount.CPUMilli != 3000 || r.holds[1].amount.CPUMilli != 3000 {
		t.Errorf("%d pods change, want both to 3000", len(r.holds))
	}
}

// TestResizesAreUndone checks that all pods of a gang get back what a pod holds whose kubelet cannot resize it, and that the gang keeps
// that for an hour.
func TestResizesAreUndone(t *testing.T) {
	const note = `{"cpu":"2","memory":"64Gi"}`
	for _, c := range []struct {
		name, reason, note string
		since              time.Duration
		undone             bool
	}{
		{"infeasible", corev1.PodReasonInfeasible, note, 0, true},
		{"deferred", corev1.PodReasonDeferred, note, 4 * time.Minute, false},
		{"deferred for long", corev1.PodReasonDeferred, note, 5 * time.Minute, true},
		{"resized by somebody else", corev1.PodReasonInfeasible, "", 0, false},
		{"on its way", "", note, time.Hour, false},
	} {
		pods := sized(crew{name: "g", pods: 2, least: 2, gpus: 2, on: []string{"a", "a"}, asked: time.Hour}.list(), "6", "64Gi")
		for i, pod := range pods {
			if c.note != "" {
				pod.Annotations[mirror.RequestedAnnotation] = c.note
			}
			has := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse([]string{"6", "4"}[i])} // the second pod lags behind
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "c", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, Resources: &corev1.ResourceRequirements{Requests: has},
			}}
		}
		if c.reason != "" {
			pods[1].Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: c.reason, LastTransitionTime: metav1.NewTime(noon.Add(-c.since)),
			}}
		}
		l, client, _ := liveLoop(t, pods[0], pods[1])
		l.Config.Mirror = reading
		v := built(t, pods)
		l.amounts.bounds = granted("*: cpu=1..4").bounds
		r := decideRound(v, decider(t, "srsf"), "r", limits{amounts: &l.amounts, mirror: &reading})
		if err := l.resizeAll(t.Context(), r, noon); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		n := 0
		for _, pod := range pods {
			is := must.Get(client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{}))(t)
			if is.Spec.Containers[0].Resources.Requests.Cpu().String() == "4" {
				n++
			}
		}
		if want := map[bool]int{true: 2, false: 0}[c.undone]; n != want {
			t.Errorf("%s: %d pods have 4 CPUs again, want %d", c.name, n, want)
		}
		for _, pod := range pods { // the kubelet has done its part
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: pod.Status.StartTime}
		}
		free := func(at time.Time) bool {
			v := built(t, pods)
			l.amounts.judge(v, at)
			_, free := l.amounts.boundsOf(&v.Jobs[0])
			return free
		}
		if before, after := free(noon.Add(time.Hour-1)), free(noon.Add(time.Hour)); before == c.undone || !after {
			t.Errorf("%s: may change within an hour: %t, after it: %t", c.name, before, after)
		}
	}
}

// stuckAt makes a running pod one whose kubelet refuses to change what it holds.
func stuckAt(pod *corev1.Pod, cpu string) {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "c", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		Resources: pod.Spec.Containers[0].Resources.DeepCopy(),
	}}
	pod.Status.ContainerStatuses[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}}
}

// TestUndoingEnds checks that the pods of a gang keep what each of them holds if their kubelets also refuse what undoes a resize.
// Otherwise the two pods would get in turn what the other one holds.
func TestUndoingEnds(t *testing.T) {
	pods := sized(crew{name: "g", pods: 2, least: 2, gpus: 2, on: []string{"a", "a"}, asked: time.Hour}.list(), "6", "64Gi")
	for i, pod := range pods {
		pod.Annotations[mirror.RequestedAnnotation] = `{"cpu":"2","memory":"64Gi"}`
		stuckAt(pod, []string{"4", "5"}[i])
	}
	l, client, _ := liveLoop(t, pods[0], pods[1])
	l.Config.Mirror = reading
	for i, want := range [][2]string{{"4", "4"}, {"4", "5"}} {
		r := decideRound(built(t, pods), decider(t, "srsf"), "r", limits{amounts: &l.amounts, mirror: &reading})
		must.Do(t, l.resizeAll(t.Context(), r, noon.Add(time.Duration(i)*time.Minute)))
		for k, pod := range pods {
			is := must.Get(client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{}))(t)
			pod.Spec = is.Spec
			if got := is.Spec.Containers[0].Resources.Requests.Cpu().String(); got != want[k] {
				t.Errorf("undone %d times: pod %d has %s CPUs, want %s", i+1, k, got, want[k])
			}
		}
	}
}

// TestRoomOfResizes checks that a resize which kubelets have still to carry out, or have to undo, gives its room to nobody. Each of the
// two nodes has 96 CPUs, and one pod of a gang runs there.
func TestRoomOfResizes(t *testing.T) {
	for _, c := range []struct {
		name        string
		holds       [2]string // CPUs of each pod
		stuck       bool      // whether the kubelet of the second pod has refused to give it as little as the first holds
		needs       string    // CPUs of the pod that waits
		binds, undo int
	}{
		{"shrinks in this round", [2]string{"44", "44"}, false, "60", 0, 0},
		{"beside all that it held", [2]string{"44", "44"}, false, "52", 1, 0},
		{"its resize is undone, which needs room", [2]string{"30", "40"}, true, "60", 0, 1},
		{"beside what undoes it", [2]string{"30", "40"}, true, "56", 1, 1},
	} {
		pods := sized(crew{name: "g", pods: 2, least: 2, gpus: 2, on: []string{"a", "b"}, asked: time.Hour}.list(), c.holds[0], "64Gi")
		for _, pod := range pods {
			pod.Annotations[mirror.RequestedAnnotation] = `{"cpu":"4","memory":"64Gi"}`
		}
		if c.stuck {
			stuckAt(pods[1], c.holds[1])
		}
		all := append(pods, sized(crew{name: "h", pods: 1, least: 1, gpus: 1}.list(), c.needs, "1Gi")...)
		policy := deciderAfter(t, "srsf", func(tx *cluster.Txn) { resizeTo(tx, 0, 10000, 32<<10) })
		r := decideRound(built(t, all, roomy("b")), policy, "r", limits{amounts: granted("*: cpu=1..20"), mirror: &reading})
		if len(r.bind) != c.binds || (len(r.holds) == 2) == c.stuck || len(r.undo) != c.undo {
			t.Errorf("%s: %d gangs bound, want %d; %d gangs undone, want %d; %d pods resized", c.name, len(r.bind), c.binds, len(r.undo), c.undo,
				len(r.holds))
		}
	}
}

// TestRunningGangsKeepWhatTheyHold checks that without bounds a gang that was resized keeps its amounts, and counts as holding them.
func TestRunningGangsKeepWhatTheyHold(t *testing.T) {
	pods := sized(crew{name: "g", pods: 2, least: 2, gpus: 2, on: []string{"a", "a"}, asked: time.Hour}.list(), "6", "64Gi")
	for _, pod := range pods {
		pod.Annotations[mirror.RequestedAnnotation] = `{"cpu":"2","memory":"64Gi"}`
	}
	v := built(t, pods)
	if spec, holds := v.State.Spec(0).Request, v.State.Placement(0)[0]; spec.CPUMilli != 1000 || holds.CPUMilli != 3000 {
		t.Errorf("requested %d and holds %d, want 1000 and 3000", spec.CPUMilli, holds.CPUMilli)
	}
	r := decideRound(v, decider(t, "srsf+menu+move+know:speed=fit"), "r", limits{})
	if len(r.holds) > 0 || len(r.stop) > 0 || v.State.Placement(0)[0].CPUMilli != 3000 {
		t.Errorf("changes %+v, stops %v, holds %+v", r.holds, r.stop, v.State.Placement(0))
	}
}

// TestDifferentAmountsStay checks that without bounds the pods of a running gang keep what they hold if that differs from server to
// server, whatever the policy gives them.
func TestDifferentAmountsStay(t *testing.T) {
	pods := sized(crew{name: "g", pods: 2, least: 2, gpus: 2, on: []string{"a", "b"}, asked: time.Hour}.list(), "6", "64Gi")
	pods[1].Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("4")
	for _, pod := range pods {
		pod.Annotations[mirror.RequestedAnnotation] = `{"cpu":"2","memory":"64Gi"}`
	}
	for bounds, want := range map[string]int{"": 0, "*: cpu=1..4": 2} {
		r := decideRound(built(t, pods, roomy("b")), deciderAfter(t, "srsf", func(tx *cluster.Txn) { resizeTo(tx, 0, 2500, 32<<10) }), "r",
			limits{amounts: granted(bounds), mirror: &reading})
		if len(r.holds) != want || len(r.stop) > 0 {
			t.Errorf("bounds %q: %d pods change, want %d; stops %v", bounds, len(r.holds), want, r.stop)
		}
	}
}

// TestAmountsBesideOtherContainers checks that bounds do not allow a gang less than what its containers without GPUs request.
func TestAmountsBesideOtherContainers(t *testing.T) {
	pods := sized(crew{name: "g", pods: 2, least: 2, gpus: 2, asked: time.Hour}.list(), "2", "64Gi")
	pods[1].Spec.Containers = append(pods[1].Spec.Containers, *pods[1].Spec.Containers[0].DeepCopy())
	pods[1].Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("500m")
	pods[1].Spec.Containers[1].Name = "log"
	pods[1].Spec.Containers[1].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}
	v := built(t, pods)
	if len(v.Jobs) != 1 {
		t.Fatalf("%d jobs, refused %+v", len(v.Jobs), v.Refused)
	}
	least, most := granted("*: cpu=0.1..2 memory=0.5..1").of(&v.Jobs[0], nil)
	if least.CPUMilli != 751 || most.CPUMilli != 2000 || least.MemMiB != 16<<10 {
		t.Errorf("from %+v to %+v, want 751 thousandths of a core, because 750 are those of another container", least, most)
	}
}

// TestRestsAreBoundAsTheyAre checks that the pods which a partly bound gang lacks, and those by which a running gang could grow, are
// placed as what they request now, whatever their annotation says: nothing resizes them before they are bound.
func TestRestsAreBoundAsTheyAre(t *testing.T) {
	for _, least := range []int{2, 1} { // partly bound, running
		for cpu, bound := range map[string]int{"80": 1, "90": 0} { // of 96, of which the first pod has 8
			pods := sized(crew{name: "g", pods: 2, least: least, gpus: 1, on: []string{"a"}, asked: time.Hour}.list(), "8", "64Gi")
			pods[1].Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
			for _, pod := range pods {
				pod.Annotations[mirror.RequestedAnnotation] = `{"cpu":"8","memory":"64Gi"}`
			}
			n := 0
			for _, b := range decideRound(built(t, pods), decider(t, "srsf"), "r", limits{amounts: granted(""), mirror: &reading}).bind {
				n += len(b.pods)
			}
			if n != bound {
				t.Errorf("%d needed, %s CPUs: %d pods bound, want %d", least, cpu, n, bound)
			}
		}
	}
}
