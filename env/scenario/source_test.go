package scenario

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
)

func TestQuotasFollowTheTrainingSplit(t *testing.T) {
	csv := "job_id,num_gpu,submit_time,duration,tenant\n1,1,0,300,a\n2,1,1,100,b\n3,2,2,100,b\n4,4,3,1000,b\n5,1,4,10,c\n6,1,5,10,a\n"
	text := `
name: quotas-v1
cluster: {servers: 2, gpus_per_server: 4, quota_factor: 1.2}
workload: {trace: t.csv}
window: {arrivals: 1, train: [0, 0.5], test: [0.5, 1]}
`
	// The quotas: a has 300 of 600 GPU-seconds in training, so 1.2 x 0.5 x 8 = 4.8. b has as much, and a gang of 4. c has none,
	// and a job of one GPU.
	e := episode(t, openTrace(t, csv, text), Test, 0, 1)
	want := []cluster.Quota{{Tenant: "a", GPUs: 5}, {Tenant: "b", GPUs: 5}, {Tenant: "c", GPUs: 1}}
	if !reflect.DeepEqual(e.Config.Cluster.Quotas, want) {
		t.Errorf("quotas %v, want %v", e.Config.Cluster.Quotas, want)
	}
	_, err := tryTrace(t, "job_id,num_gpu,submit_time,duration\n1,1,0,300\n2,1,0,300\n", text)
	if err == nil || !strings.Contains(err.Error(), "quota_factor 1.2") {
		t.Errorf("jobs without tenants: %v", err)
	}
}

// TestBursts checks that jobs wait for the next burst, at once if they come with one, and that bursts apply to stretched times.
func TestBursts(t *testing.T) {
	csv := "job_id,num_gpu,submit_time,duration\n1,1,0,60\n2,1,1,60\n3,1,60,60\n4,1,61,60\n5,1,150,60\n"
	text := `
name: bursts-v1
cluster: {servers: 2, gpus_per_server: 4}
workload: {trace: t.csv, bursts: 60s, stretch: %v}
window: {arrivals: 5, test: [0, 1]}
`
	for stretch, want := range map[int][]int{1: {0, 60, 60, 120, 180}, 2: {0, 60, 120, 180, 300}} {
		e := episode(t, openTrace(t, csv, fmt.Sprintf(text, stretch)), Test, 0, 1)
		for i := range e.Jobs {
			if got := int(e.Jobs[i].Submit.Seconds()); got != want[i] {
				t.Errorf("stretch %d: job %d is submitted at %d s, want %d", stretch, i, got, want[i])
			}
		}
	}
}

func TestThinningAndStretching(t *testing.T) {
	var csv strings.Builder
	csv.WriteString("job_id,num_gpu,submit_time,duration\n")
	for i := range 1000 {
		fmt.Fprintf(&csv, "%d,1,%d,60\n", i, 60*i)
	}
	text := "name: thin-v1\ncluster: {servers: 1, gpus_per_server: 8}\nworkload: {trace: t.csv}\nwindow: {arrivals: 100, test: [0, 1]}\n"
	all, half := openTrace(t, csv.String(), text), openTrace(t, csv.String(), text, "workload.thin=0.5")
	if n := len(half.pool.workload.Jobs); n < 430 || n > 570 || len(all.pool.workload.Jobs) != 1000 {
		t.Errorf("%d of 1000 jobs left, want about half", n)
	}
	pressed := openTrace(t, csv.String(), text, "workload.stretch=0.25")
	a, b := episode(t, all, Test, 3, 1), episode(t, pressed, Test, 3, 1)
	for i := range a.Jobs {
		if 4*b.Jobs[i].Submit != a.Jobs[i].Submit || b.Jobs[i].Work != a.Jobs[i].Work {
			t.Fatalf("job %d at %v instead of %v, want a quarter of the time and the same work", i, b.Jobs[i].Submit, a.Jobs[i].Submit)
		}
	}
	if a, b := all.Describe(), pressed.Describe(); int(1000*b.Splits[2].Load+.5) != int(4000*a.Splits[2].Load+.5) {
		t.Errorf("load %v where it was %v, want four times as much", b.Splits[2].Load, a.Splits[2].Load)
	}
}

func TestTracesAreMerged(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "t.csv", "job_id,num_gpu,submit_time,duration\n1,1,0,60\n2,1,5,60\n")
	write(t, dir, "u.csv", "job_id,num_gpu,submit_time,duration\nx,1,0,60\ny,1,5,60\n")
	s, err := Load(write(t, dir, "s.yaml", "name: two-v1\ncluster: {servers: 1, gpus_per_server: 8}\nworkload: {trace: t.csv + u.csv}\n"+
		"window: {arrivals: 2, train: [0, 0.5], test: [0.5, 1]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if src, err := s.Open(); err != nil || len(src.pool.arrivals) != 4 {
		t.Errorf("error %v, want 4 arrivals", err)
	}
}
