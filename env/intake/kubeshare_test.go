package intake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
)

// TestSharedGPUs checks what KAI Scheduler's pods hold of GPUs that they share.
func TestSharedGPUs(t *testing.T) {
	reserve := func(name, group string) string {
		return strings.Replace(kubePod(name, 1, "n", marked("runai-gpu-group="+group, ""), ""), `"namespace":"a"`, `"namespace":"kai-resource-reservation"`, 1)
	}
	shares := func(name, node, group, notes string) string {
		return kubePod(name, 0, node, marked("runai-gpu-group="+group, notes), "")
	}
	for _, c := range []struct {
		name  string
		items []string
		want  string // of each job its thousandths and GPUs
		notes []string
	}{
		{"two on one, one on another, one waits", []string{reserve("r1", "x"), reserve("r2", "y"), shares("a", "n", "x", "gpu-fraction=0.5"),
			shares("b", "n", "x", "gpu-fraction=0.25"), shares("c", "n", "y", "gpu-fraction=0.3"), shares("d", "", "", "gpu-fraction=0.7")},
			"a/a 500 [0] a/b 250 [0] a/c 300 [1] a/d 700 []", nil},
		{"several devices", []string{reserve("r1", "x"), reserve("r2", "y"),
			kubePod("a", 0, "n", marked("runai-gpu-group/x=x runai-gpu-group/y=y", "gpu-fraction=0.5 gpu-fraction-num-devices=2"), "")},
			"a/a 500 [0 1]", nil},
		{"by memory", []string{reserve("r1", "x"), shares("a", "n", "x", "gpu-fraction=0.25"), shares("b", "n", "x", "gpu-memory=2000"), shares("c", "", "", "gpu-memory=9")},
			"a/a 250 [0] a/b 750 [0]", []string{"share a GPU by memory, or say it wrongly: they hold what the others leave of it: 1, for example a/b",
				"left out: 1, for example a/c: gpu-memory is 9"}},
		{"said wrongly", []string{reserve("r1", "x"), shares("a", "n", "x", "gpu-fraction=half"), shares("b", "", "", "gpu-fraction=-1"),
			shares("c", "", "", "gpu-fraction=NaN"), shares("d", "", "", "gpu-fraction=0.5 gpu-fraction-num-devices=0")}, "a/a 1000 [0]",
			[]string{"say it wrongly: they hold what the others leave of it: 1, for example a/a", "left out: 3, for example a/b: annotation gpu-fraction is"}},
		{"a gang on one GPU", []string{reserve("r1", "x"), kubePod("a", 0, "n", marked("runai-gpu-group=x", "gpu-fraction=0.5 pod-group-name=g"), ""),
			kubePod("b", 0, "n", marked("runai-gpu-group=x", "gpu-fraction=0.25 pod-group-name=g"), ""),
			kubePod("c", 0, "", marked("", "gpu-fraction=0.5 pod-group-name=g"), ""), podGroupOf("scheduling.run.ai/v2alpha2", `"minMember":3`)},
			"a/g/a 500 [0] a/g/b 250 [0] a/g/c 500 []", []string{"each of their pods is a running job of its own: 1, for example a/g"}},
		{"more than all", []string{reserve("r1", "x"), shares("a", "n", "x", "gpu-fraction=0.75"), shares("b", "n", "x", "gpu-fraction=0.75"), shares("c", "n", "x", "gpu-memory=1")},
			"a/a 499 [0] a/b 499 [0] a/c 1 [0]", []string{"hold more than all of a shared GPU together: each is taken to hold less: 3"}},
		{"more GPUs than are allocatable", []string{shares("a", "n", "x", "gpu-fraction=0.5"), shares("b", "n", "y", "gpu-fraction=0.5"),
			shares("c", "n", "z", "gpu-fraction=0.5")}, "a/a 500 [0] a/b 500 [1] a/c 500 [2]", []string{"more GPUs than are allocatable"}},
		{"a reservation alone", []string{reserve("r1", "x")}, "kai-resource-reservation/r1 1000 [0]", []string{"without a pod that shares the GPU in the input"}},
		{"a pod without its reservation", []string{shares("a", "n", "x", "gpu-fraction=0.5"), kubePod("b", 1, "n", "", "")}, "a/a 500 [0] a/b 1000 [1]", nil},
	} {
		r, err := readKubectl(kubeList(append(c.items, kubeNode("n", 2, ""))...))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		written(t, r)
		var all []string
		for i := range r.State.Jobs() {
			id := cluster.JobID(i)
			all = append(all, fmt.Sprint(r.State.Spec(id).Name, " ", r.State.Spec(id).Request.GPUMilli, r.State.GPUs(id)))
		}
		if got := strings.Join(all, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		for _, note := range c.notes {
			if !strings.Contains(noted(r), note) {
				t.Errorf("%s: notes\n%s\nwant %s", c.name, noted(r), note)
			}
		}
	}
}
