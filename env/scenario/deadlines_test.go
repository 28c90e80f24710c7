package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/must"
)

// TestDeadlinesMoveWithSubmissions checks that the jobs of windows have as much time until their deadlines as in the trace, whatever
// is done to the times of submissions, and that their priorities stay.
func TestDeadlinesMoveWithSubmissions(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("job_id,num_gpu,submit_time,duration,deadline,priority\n")
	for i := range 60 {
		fmt.Fprintf(&b, "%d,1,%d,300,%d,%d\n", i, 1000+100*i, 1000+100*i+700+i, i)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "jobs.csv"), []byte(b.String()), 0o666))
	text := "name: due-v1\nabout: the test\ncluster: {servers: 1, gpus_per_server: 4}\nworkload: {trace: jobs.csv, oversize: clamp}\n" +
		"window: {arrivals: 5, warm: 3, test: [0, 1]}\n"
	path := filepath.Join(dir, "due.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
	for _, set := range []string{"seeds=[1]", "workload.stretch=0.3", "workload.bursts=10m", "window.duration=10m"} {
		sets := []string{set}
		if strings.HasPrefix(set, "window.duration") {
			sets = append(sets, "window.arrivals=0", "window.warm=0")
		}
		s := must.Get(scenario.Load(path, sets...))(t)
		src := must.Get(s.Open())(t)
		for w := range src.Count(scenario.Test) {
			e := must.Get(src.Episode(scenario.Test, w, 1))(t)
			for i, j := range e.Jobs {
				if i < e.Config.Warm {
					continue
				}
				if want := time.Duration(700+j.Priority) * time.Second; j.Deadline-j.Submit != want {
					t.Fatalf("%s, window %d, job %s: due %v after its submission, want %v", set, w, j.Name, j.Deadline-j.Submit, want)
				}
			}
		}
		if src.Count(scenario.Test) < 2 {
			t.Errorf("%s: %d windows", set, src.Count(scenario.Test))
		}
	}
}
