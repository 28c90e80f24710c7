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

// replayWindow defines what is replayed, how much faster, and on how many nodes of nodeGPUs GPUs.
type replayWindow struct {
	start, count int           // range of the trace's arrivals
	longest      time.Duration // longer run times are cut to it
	load         float64       // arrivals are compressed to this load; 0 keeps them
	seed         uint64        // of a generated workload
	most         int32         // most GPUs of a generated gang; gangs of the trace are not cut
	nodes        int
	speed        int
}

const nodeGPUs = 8

const (
	replayTrace = "helios-venus-2020-06"
	replayFile  = "traces/helios-venus-2020-06/helios_data_training.csv.gz"
)

// generatedLoad is the load of generated workloads. It keeps the GPUs contended, as in the windows of the trace.
const generatedLoad = 4

// gangJob is a job of the window in the form in which the cluster gets it. Its times are on the cluster's clock, which runs
// faster than the trace's.
type gangJob struct {
	trace.Job
	pods, gpus int32 // of each pod
}

// gangs returns the jobs of the window in order of arrival, and a description of them. If the traces are missing it generates the
// jobs, or fails if CI=true.
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
			j.Tensor = j.gpus // as in the scheduler: the GPUs of a pod are on one node
		}
		jobs, pods = append(jobs, j), pods+j.pods
	}
	widest := slices.MaxFunc(jobs, func(a, b gangJob) int { return cmp.Compare(a.Workers, b.Workers) })
	return fmt.Sprintf("%s, cut to %v, load %.2f (%.2f as they came), %d pods, gangs to %d GPUs, %d nodes of %d GPUs, %d times faster",
		of, w.longest, trace.Describe(all.Jobs).Load(w.nodes*nodeGPUs), was, pods, widest.Workers, w.nodes, nodeGPUs, w.speed), jobs
}

// faster converts a job of the trace to the cluster's clock.
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

// podsOf splits a gang into pods: one pod if a node has enough GPUs, otherwise pods of whole nodes if they fit evenly, otherwise
// pods of one GPU.
func podsOf(workers int32) (pods, gpus int32) {
	switch {
	case workers <= nodeGPUs:
		return 1, workers
	case workers%nodeGPUs == 0:
		return workers / nodeGPUs, nodeGPUs
	}
	return workers, 1
}

// gang returns the job as a Kubernetes gang, whose pods run for as long as the job and then succeed.
func (j *gangJob) gang() kubetest.Gang {
	return kubetest.Gang{
		API: kubetest.Native, Name: j.Name, Pods: int(j.pods), GPUs: int(j.gpus),
		Annotations: map[string]string{kubetest.RunFor: j.Work.String(), mirror.EstimateAnnotation: j.Estimate.String()},
	}
}

// simulated returns the jobs for the simulator.
func simulated(jobs []gangJob) []trace.Job {
	all := make([]trace.Job, len(jobs))
	for i := range jobs {
		all[i] = jobs[i].Job
	}
	return all
}
