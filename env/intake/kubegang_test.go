package intake

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// marked returns labels and annotations as text at the end of a pod's metadata, from key and value pairs.
func marked(labels, notes string) string {
	pairs := func(text string) string {
		var all []string
		for pair := range strings.FieldsSeq(text) {
			key, value, _ := strings.Cut(pair, "=")
			all = append(all, fmt.Sprintf("%q:%q", key, value))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	return `,"labels":` + pairs(labels) + `,"annotations":` + pairs(notes)
}

// TestGroupsOfOtherProjects checks that the groups of other schedulers and controllers are gangs.
func TestGroupsOfOtherProjects(t *testing.T) {
	const volcano, kai = "scheduling.volcano.sh/v1beta1", "scheduling.run.ai/v2alpha2"
	n8, inVolcano := kubeNode("n", 8, ""), marked("", "scheduling.k8s.io/group-name=g")
	two := func(meta string) []string {
		return []string{n8, kubePod("p", 2, "", meta, ""), kubePod("q", 2, "", meta, "")}
	}
	in := func(index string) string {
		return marked("leaderworkerset.sigs.k8s.io/name=l leaderworkerset.sigs.k8s.io/group-index="+index, "leaderworkerset.sigs.k8s.io/size=2")
	}
	of := func(job string) string {
		return marked("jobset.sigs.k8s.io/jobset-name=s batch.kubernetes.io/job-name="+job, "")
	}
	for _, c := range []struct {
		name  string
		items []string
		want  string
		notes []string
	}{
		{"Volcano", append(two(inVolcano), podGroupOf(volcano, `"minMember":2`)), "a/g 4/2", nil},
		{"Volcano's newer annotation", append(two(marked("", "scheduling.volcano.sh/group-name=g")), podGroupOf(volcano, `"minMember":2`)), "a/g 4/2", nil},
		{"Volcano, pods are missing", append(two(inVolcano), podGroupOf(volcano, `"minMember":3`)), "",
			[]string{"do not exist yet, left out: 1, for example a/g: 2 of 3"}},
		{"Volcano without a size", append(two(inVolcano), podGroupOf(volcano, ``)), "a/g 4/2", nil},
		{"Volcano, a size of null", append(two(inVolcano), podGroupOf(volcano, `"minMember":null`)), "a/g 4/2", nil},
		{"Volcano, a wrong size", append(two(inVolcano), podGroupOf(volcano, `"minMember":-2`)), "a/g 4/2", []string{"spec.minMember is -2"}},
		{"Volcano, whose group is not there", two(inVolcano), "a/g 4/2", []string{"is their PodGroup in the list", ": 1, for example a/g"}},
		{"Volcano's group is none of another project", append(two(inVolcano), podGroupOf("scheduling.x-k8s.io/v1alpha1", `"minMember":2`)),
			"a/g 4/2", []string{"size is not known"}},
		{"a launcher without GPUs counts for the size", append(two(inVolcano), podGroupOf(volcano, `"minMember":3`), kubePod("l", 0, "", inVolcano, "")),
			"a/g 4/2", nil},
		{"a launcher that runs is no job", append(two(inVolcano), podGroupOf(volcano, `"minMember":1`), kubePod("l", 0, "n", inVolcano, "")), "a/g 4/2", nil},
		{"nor is one of pods with one GPU", []string{n8, kubePod("p", 1, "", inVolcano, ""), kubePod("q", 1, "", inVolcano, ""), kubePod("l", 0, "n", inVolcano, ""),
			podGroupOf(volcano, `"minMember":1`)}, "a/g 2/1", nil},
		{"nor with one that waits", []string{n8, kubePod("p", 1, "", inVolcano, ""), kubePod("q", 1, "", inVolcano, ""), kubePod("l", 0, "", inVolcano, ""),
			podGroupOf(volcano, `"minMember":1`)}, "a/g 2/1", nil},
		{"KAI", append(two(marked("", "pod-group-name=g")), podGroupOf(kai, `"minMember":2`)), "a/g 4/2", nil},
		{"a group of an API that nobody knows", append(two(""), podGroupOf("example.com/v1", `"minMember":2`)), "a/p 2/2; a/q 2/2",
			[]string{`ignored: 1, for example one of "example.com/v1"`}},
		{"Kueue's pod groups", two(marked("kueue.x-k8s.io/pod-group-name=g", "kueue.x-k8s.io/pod-group-total-count=2")), "a/g 4/2", nil},
		{"Kueue's pod groups, pods are missing", two(marked("kueue.x-k8s.io/pod-group-name=g", "kueue.x-k8s.io/pod-group-total-count=3")), "",
			[]string{"a/g: 2 of 3"}},
		{"a LeaderWorkerSet", []string{n8, kubePod("p", 2, "", in("0"), ""), kubePod("q", 2, "", in("0"), ""), kubePod("r", 1, "n", in("1"), ""),
			kubePod("s", 1, "n", in("1"), "")}, "a/l-0 4/2; a/l-1 2/1@n:[0 1]", nil},
		{"the Jobs of a JobSet", []string{n8, kubePod("p", 2, "", of("s-w-0"), ""), kubePod("q", 2, "", of("s-w-0"), ""), kubePod("r", 2, "n", of("s-w-1"), "")},
			"a/s-w-0 4/2; a/s-w-1 2/2@n:[0 1]", nil},
		{"a training job's label", two(marked("training.kubeflow.org/job-name=t", "")), "a/t 4/2", nil},
		{"groups of one name", append(two(inVolcano), podGroupOf(volcano, `"minMember":2`), kubePod("g", 1, "n", "", "")),
			"a/g 1/1@n:[0]; a/g (scheduling.volcano.sh/v1beta1) 4/2", nil},
		{"pods that end", []string{n8, kubePod("p", 2, "", inGroup("2"), ""), strings.Replace(kubePod("q", 2, "n", inGroup("2"), ""), "Running", "Succeeded", 1)},
			"a/g 2/2", nil},
		{"pods that are being deleted", []string{n8, kubePod("p", 2, "n", inGroup("1")+`,"deletionTimestamp":"2026-11-24T07:59:00Z"`, ""),
			kubePod("q", 2, "", inGroup("1"), "")}, "a/g 2/2; a/p 2/2@n:[0 1]", []string{"being deleted and still hold GPUs: running jobs of their own: 1, for example a/p"}},
		{"wrong annotations", []string{n8, kubePod("p", 1, "", marked("", "clustergym.dev/estimate=soon"), "")}, "a/p 1/1",
			[]string{`annotation clustergym.dev/estimate is "soon"`}},
	} {
		r, err := readKubectl(kubeList(c.items...))
		check(t, c.name, r, err, c.want, c.notes...)
	}
}

// TestGangsWaitSinceTheyAreWhole checks from when gangs wait and run: when as many pods as they need had been created, and started.
func TestGangsWaitSinceTheyAreWhole(t *testing.T) {
	pod := func(name, node string, made int, notes string) string {
		p := kubePod(name, 1, node, marked("scheduling.x-k8s.io/pod-group=g", "clustergym.dev/min-member=1 "+notes), "")
		p = strings.Replace(p, "T06:00:00Z", fmt.Sprintf("T06:%02d:00Z", made), 1)
		return strings.Replace(p, "T07:00:00Z", fmt.Sprintf("T07:%02d:00Z", made), 1)
	}
	const two = "clustergym.dev/min-workers=2"
	for _, c := range []struct {
		name          string
		pods          []string
		submit, start string
	}{
		{"one is enough", []string{pod("p", "n", 30, ""), pod("q", "n", 10, ""), pod("r", "", 20, "")}, "06:10", "07:10"},
		{"two are needed", []string{pod("p", "n", 30, two), pod("q", "n", 10, two), pod("r", "", 20, two)}, "06:20", "07:10"},
		{"two are needed and wait", []string{pod("p", "", 30, two), pod("q", "", 10, two), pod("r", "", 20, two)}, "06:20", ""},
	} {
		r, err := readKubectl(kubeList(append(c.pods, kubeNode("n", 8, ""))...))
		if err != nil || r.State.Jobs() != 1 {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		s := r.State
		at := func(d time.Duration) string { return now.Add(d - s.Now()).Format("15:04") }
		start := ""
		if len(s.Running()) > 0 {
			start = at(s.Now() - s.Progress(0))
		}
		if submit := at(s.Spec(0).Submit); submit != c.submit || start != c.start {
			t.Errorf("%s: submitted %s, started %s, want %s and %s", c.name, submit, start, c.submit, c.start)
		}
	}
}

// TestRequestsDefaultToLimits checks what a pod asks for that states limits.
func TestRequestsDefaultToLimits(t *testing.T) {
	const limit = `{"resources":{"limits":{"nvidia.com/gpu":"2","cpu":"4","memory":"8Gi"}`
	for _, c := range []struct{ name, spec, want string }{
		{"all of it", `"containers":[` + limit + `}}]`, "2 2000 4096"},
		{"requests that are 0 stay", `"containers":[` + limit + `,"requests":{"cpu":"0","memory":"1Gi"}}}]`, "2 0 512"},
		{"init containers", `"initContainers":[` + limit + `}}],"containers":[{"resources":{"limits":{"nvidia.com/gpu":"1"}}}]`, "2 2000 4096"},
		{"sidecars", `"initContainers":[{"restartPolicy":"Always","resources":{"limits":{"cpu":"2"}}}],"containers":[` + limit + `}}]`, "2 3000 4096"},
		{"the whole pod", `"resources":{"limits":{"cpu":"6","memory":"6Gi"}},"containers":[{"resources":{"limits":{"nvidia.com/gpu":2},"requests":{"cpu":"1"}}}]`, "2 500 3072"},
		{"the whole pod's limits where no container asks", `"resources":{"limits":{"cpu":"6"}},"containers":[{"resources":{"limits":{"nvidia.com/gpu":2}}}]`, "2 3000 0"},
		{"the whole pod's requests", `"resources":{"requests":{"cpu":"6"}},"overhead":{"cpu":"2"},"containers":[` + limit + `}}]`, "2 4000 4096"},
	} {
		r, err := readKubectl(kubeList(kubeNode("n", 8, ""), `{"kind":"Pod","metadata":{"name":"p","namespace":"a"},"spec":{`+c.spec+`},"status":{"phase":"Pending"}}`))
		if err != nil || len(r.State.Pending()) != 1 {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		spec := r.State.Spec(0)
		if got := fmt.Sprint(spec.Workers, " ", spec.Request.CPUMilli, " ", spec.Request.MemMiB); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
