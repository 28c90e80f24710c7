package intake

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

var now = time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)

func readKubectl(text string) (*Result, error) {
	c := Kubectl{
		GPU: "nvidia.com/gpu", TypeLabel: "nvidia.com/gpu.product", RackLabel: "topology.kubernetes.io/rack", MaxBytes: 1 << 20,
		Clock: Clock{Now: now},
	}
	return c.Read(File{"pods.json", strings.NewReader(text)})
}

func readSlurm(nodes, jobs string) (*Result, error) {
	c := Slurm{MaxBytes: 1 << 20, Clock: Clock{Now: now}}
	return c.Read(File{"nodes.json", strings.NewReader(nodes)}, File{"squeue.json", strings.NewReader(jobs)})
}

// written returns the snapshot of a result and checks that it can be read back and written again.
func written(t testing.TB, r *Result) string {
	t.Helper()
	var text, again bytes.Buffer
	must.Do(t, r.State.WriteSnapshot(&text))
	s, err := cluster.ReadSnapshot(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	if err := s.WriteSnapshot(&again); err != nil || again.String() != text.String() {
		t.Fatalf("%v: wrote\n%s\nthen\n%s", err, text.String(), again.String())
	}
	return text.String()
}

// summary lists the jobs in the form "name workers/together@server:gpus,server:gpus", with the bounds of elastic ones.
func summary(s *cluster.State) string {
	var all []string
	for i := range s.Jobs() {
		id := cluster.JobID(i)
		if phase := s.Phase(id); phase != cluster.Pending && phase != cluster.Running {
			continue
		}
		spec := s.Spec(id)
		text := fmt.Sprintf("%s %d/%d", spec.Name, spec.Workers, spec.Together())
		if spec.Least() != spec.Most() {
			text += fmt.Sprintf(" %d-%d", spec.Least(), spec.Most())
		}
		gpus := s.GPUs(id)
		for k, p := range s.Placement(id) {
			text += fmt.Sprintf("%s%s:%v", []string{"@", ","}[min(k, 1)], s.Server(p.Server).Name, gpus[:p.Workers])
			gpus = gpus[p.Workers:]
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func noted(r *Result) string {
	var all []string
	for i := range r.Notes {
		all = append(all, r.Notes[i].Error())
	}
	return strings.Join(all, "\n")
}

// check compares the jobs of a result, and looks for texts in its notes. If there are none to look for, only the note on the indices
// of GPUs may be there.
func check(t *testing.T, title string, r *Result, err error, want string, notes ...string) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", title, err)
		return
	}
	written(t, r)
	if got := summary(r.State); got != want {
		t.Errorf("%s: jobs\n%s\nwant\n%s", title, got, want)
	}
	all := noted(r)
	for _, note := range notes {
		if !strings.Contains(all, note) {
			t.Errorf("%s: notes\n%s\nwant %s", title, all, note)
		}
	}
	if rest := strings.Count(all, "\n") + 1; len(notes) == 0 && all != "" && (rest > 1 || !strings.Contains(all, "GPU indices")) {
		t.Errorf("%s: notes\n%s\nwant none", title, all)
	}
}
