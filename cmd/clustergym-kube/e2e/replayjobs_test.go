package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// replayWindow says what is replayed, how fast, and on how many nodes of nodeGPUs.
type replayWindow struct {
	start, count int           // arrivals of the trace
	longest      time.Duration // longer run times are cut
	load         float64       // to which arrivals are pushed together; 0: as they were
	seed         uint64        // of a generated workload
	most         int32         // GPUs of a gang of a generated workload; those of the trace are not cut
	nodes        int
	speed        int
}

const nodeGPUs = 8

const (
	replayTrace = "helios-venus-2020-06"
	replayFile  = "traces/helios-venus-2020-06/helios_data_training.csv.gz"
)

// generatedLoad keeps the GPUs contended, as the windows of the trace do.
const generatedLoad = 4

// gangJob is a job of the window as the cluster gets it. Times are those of the cluster's clock, which is faster than the trace's.
type gangJob struct {
	trace.Job
	pods, gpus int32 // of each pod
}

// gangs returns the jobs of the window in order of arrival, and what they are. Without the traces they are generated, but not in
// CI, which has to have them.
func (w *replayWindow) gangs(t *testing.T) (of string, jobs []gangJob) {
	t.Helper()
	all, spec := trace.Workload{}, trace.WindowSpec{Count: w.count, MaxDuration: w.longest}
	load := w.load
	var err error
	if _, there := sharedtest.Find(); there || os.Getenv("CI") == "true" {
		all, err = trace.Read(filepath.Join(sharedtest.Dir(t), replayFile), trace.Options{Format: trace.Helios})
		spec.Start = w.start
		of = fmt.Sprintf("%d jobs of %s from arrival %d", w.count, replayTrace, w.start)
	} else {
		all, err = trace.Generate(trace.Default(), w.count, w.seed)
		spec.MaxGPUs, load = w.most, generatedLoad
		of = fmt.Sprintf("%d generated jobs", w.count)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err = trace.Window(all, spec)
	if err != nil {
		t.Fatal(err)
	}
	was := trace.Describe(all.Jobs).Load(w.nodes * nodeGPUs)
	if load > 0 {
		if all, err = all.Rescale(load, w.nodes*nodeGPUs); err != nil {
			t.Fatal(err)
		}
	}
	if err := (trace.Estimates{Kind: trace.Oracle}).Apply(all.Jobs, nil); err != nil {
		t.Fatal(err)
	}
	pods := int32(0)
	for _, i := range all.Arrivals() {
		j := gangJob{Job: w.faster(all.Jobs[i], len(jobs))}
		j.pods, j.gpus = podsOf(j.Workers)
		if j.gpus > 1 {
			j.Tensor = j.gpus // as the scheduler sees them: the GPUs of a pod are on one node
		}
		jobs, pods = append(jobs, j), pods+j.pods
	}
	widest := slices.MaxFunc(jobs, func(a, b gangJob) int { return cmp.Compare(a.Workers, b.Workers) })
	return fmt.Sprintf("%s, cut to %v, load %.2f (%.2f as they came), %d pods, gangs to %d GPUs, %d nodes of %d GPUs, %d times faster",
		of, w.longest, trace.Describe(all.Jobs).Load(w.nodes*nodeGPUs), was, pods, widest.Workers, w.nodes, nodeGPUs, w.speed), jobs
}

// faster is a job of the trace on the cluster's clock.
func (w *replayWindow) faster(j trace.Job, i int) trace.Job {
	speed := time.Duration(w.speed)
	return trace.Job{
		JobSpec: cluster.JobSpec{
			Name: fmt.Sprintf("job-%03d", i), Submit: j.Submit / speed, Workers: j.Workers,
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: max(j.Estimate/speed, time.Millisecond),
		},
		Work: max(j.Work/speed, time.Millisecond),
	}
}

// podsOf cuts a gang into pods: one if a node can hold it, else whole nodes, else pods of one GPU.
func podsOf(workers int32) (pods, gpus int32) {
	switch {
	case workers <= nodeGPUs:
		return 1, workers
	case workers%nodeGPUs == 0:
		return workers / nodeGPUs, nodeGPUs
	}
	return workers, 1
}

// gang is the job in Kubernetes: its pods run for as long as the job and then succeed.
func (j *gangJob) gang() kubetest.Gang {
	return kubetest.Gang{
		API: kubetest.Native, Name: j.Name, Pods: int(j.pods), GPUs: int(j.gpus),
		Annotations: map[string]string{kubetest.RunFor: j.Work.String(), mirror.EstimateAnnotation: j.Estimate.String()},
	}
}

// simulated are the jobs for the simulator.
func simulated(jobs []gangJob) []trace.Job {
	all := make([]trace.Job, len(jobs))
	for i := range jobs {
		all[i] = jobs[i].Job
	}
	return all
}
