package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
	"github.com/clustergym/clustergym/internal/table"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

var replayFlag = flag.String("window", "short", "what TestReplay replays: short, for a minute, or long, for ten")

// replayWindow defines what is replayed, how much faster, and on how many nodes of nodeGPUs GPUs.
type replayWindow struct {
	start, count int           // range of the trace's arrivals
	longest      time.Duration // longer run times are cut to it
	load         float64       // arrivals are compressed to this load; 0 keeps them
	nodes        int
	speed        int
}

// replayWindows are the windows that can be replayed. On 800 GPUs no 300 consecutive jobs of the traces, cut to 6 h, have to wait
// at their original rate. So the long window has its arrivals compressed to the given load.
var replayWindows = map[string]replayWindow{
	"short": {start: 3880, count: 40, longest: time.Hour, nodes: 10, speed: 75},
	"long":  {start: 9640, count: 300, longest: 6 * time.Hour, load: 1.75, nodes: 100, speed: 50},
}

const (
	nodeGPUs     = 8
	replayPolicy = "released"
	replayFile   = "traces/helios-venus-2020-06/helios_data_training.csv.gz"
	// Without the traces the jobs are generated, with a load that keeps the GPUs contended.
	generatedLoad = 4
)

// TestReplay replays a window of a real trace on a cluster. It checks that every gang is bound completely and ends, that no node
// is overcommitted, and that replaying the logged decisions gives the same decisions. It logs the schedule beside the
// simulator's, and beside that of the jobs as they were in the cluster.
func TestReplay(t *testing.T) {
	w, ok := replayWindows[*replayFlag]
	if !ok {
		t.Fatalf("-window=%s, want short or long", *replayFlag)
	}
	jobs := w.jobs(t)
	predicted := w.predict(t, jobs)
	c := withNodes(t, w.nodes)
	k := check(t, c)
	decisions := filepath.Join(c.Logs, "decisions.jsonl")
	s := run(t, c, "scheduler", "--mode=live", "--policy="+replayPolicy, "--decision-log="+decisions)
	began := time.Now()
	for i := range jobs {
		time.Sleep(time.Until(began.Add(jobs[i].Submit)))
		g := gangOfJob(&jobs[i])
		k.expect("default/"+g.Name, g.Pods)
		c.GangPods(g)
	}
	for deadline := began.Add(2*predicted.span() + 2*time.Minute); ; time.Sleep(100 * time.Millisecond) {
		left := k.list(func(pod *corev1.Pod) bool { return !kubetest.Succeeded(pod) })
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) || s.ExitCode() != -1 {
			t.Fatalf("%d pods have not ended, among them %s", len(left), left[0].Name)
		}
	}
	k.finish()
	if gone := k.deleted(); len(gone) > 0 {
		t.Errorf("pods %v were deleted", gone)
	}
	for _, name := range []string{`clustergym_kube_stopped_total{why="policy"}`, "clustergym_kube_gangs_given_up_total"} {
		if got := s.metric(t, name); got != "0" {
			t.Errorf("%s is %s, want 0", name, got)
		}
	}
	seen, asMeasured := k.lived(jobs, began)
	var text strings.Builder
	rows := [][]string{{"seconds of the trace", "makespan", "mean JCT", "mean wait"}}
	for _, x := range []struct {
		what string
		*prediction
	}{{"cluster", seen}, {"simulator", predicted}, {"simulator, of jobs as measured", w.predict(t, asMeasured)}} {
		row := []string{x.what}
		for _, d := range []time.Duration{x.span(), x.mean(x.ends), x.mean(x.starts)} {
			row = append(row, fmt.Sprintf("%.0f", d.Seconds()*float64(w.speed)))
		}
		rows = append(rows, row)
	}
	table.Text(&text, 1, rows)
	t.Logf("%d jobs\n%s%s rounds done, %s not in full; partly bound for %v at most", len(jobs), &text,
		s.metric(t, `clustergym_kube_rounds_total{result="done"}`), s.metric(t, `clustergym_kube_rounds_total{result="failed"}`), k.worst)
	if err := s.Signal(syscall.SIGTERM); err != nil { // so that the log is complete
		t.Fatal(err)
	}
	<-s.Ended()
	decideAgain(t, decisions)
}

// decideAgain checks that clustergym replay, as users run it, makes all decisions of a log again.
func decideAgain(t *testing.T, log string) {
	t.Helper()
	path := must.Get(clustergym())(t)
	cmd := exec.Command(path, "replay", "--json", log)
	cmd.Stderr = os.Stderr
	text, failed := cmd.Output() // fails if decisions differ, and prints which
	var out struct{ Decisions, Same int }
	if err := json.Unmarshal(text, &out); err != nil || out.Decisions == 0 || out.Same != out.Decisions {
		t.Errorf("of %d decisions %d are the same when they are made again: %v, %v\n%s", out.Decisions, out.Same, failed, err, text)
	}
	t.Logf("decisions made again from their snapshots, offline: %d, the same: %d", out.Decisions, out.Same)
}

// jobs returns the jobs of the window in order of arrival, on the cluster's clock. If the traces are missing it generates the jobs,
// or fails if CI=true.
func (w *replayWindow) jobs(t *testing.T) (jobs []trace.Job) {
	t.Helper()
	all, spec, load := trace.Workload{}, trace.WindowSpec{Count: w.count, MaxDuration: w.longest}, w.load
	var err error
	if _, there := sharedtest.Find(); there || os.Getenv("CI") == "true" {
		all, err = trace.Read(filepath.Join(sharedtest.Dir(t), replayFile), trace.Options{Format: trace.Helios})
		spec.Start = w.start
	} else {
		all, err = trace.Generate(trace.Default(), w.count, 7)
		spec.MaxGPUs, load = int32(w.nodes*nodeGPUs/2), generatedLoad
	}
	if err == nil {
		all, err = trace.Window(all, spec)
	}
	if err == nil && load > 0 {
		all, err = all.Rescale(load, w.nodes*nodeGPUs)
	}
	if err == nil {
		err = (trace.Estimates{Kind: trace.Oracle}).Apply(all.Jobs, nil)
	}
	must.Do(t, err)
	speed := time.Duration(w.speed)
	for _, i := range all.Arrivals() {
		j := all.Jobs[i]
		is := trace.Job{
			JobSpec: cluster.JobSpec{
				Name: fmt.Sprintf("job-%03d", len(jobs)), Submit: j.Submit / speed, Workers: j.Workers,
				Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: max(j.Estimate/speed, time.Millisecond),
			},
			Work: max(j.Work/speed, time.Millisecond),
		}
		if _, gpus := podsOf(j.Workers); gpus > 1 {
			is.Tensor = gpus // as in the scheduler: the GPUs of a pod are on one node
		}
		jobs = append(jobs, is)
	}
	return jobs
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

// gangOfJob returns a job as a Kubernetes gang, whose pods run for as long as the job and then succeed.
func gangOfJob(j *trace.Job) kubetest.Gang {
	n, gpus := podsOf(j.Workers)
	return kubetest.Gang{
		API: kubetest.Native, Name: j.Name, Pods: int(n), GPUs: int(gpus),
		Annotations: map[string]string{kubetest.RunFor: j.Work.String(), pods.EstimateNote: j.Estimate.String()},
	}
}

// lived returns what the checker saw of the jobs, and the jobs as they were: submitted when their pods existed, and running for as
// long as their pods used nodes.
func (k *checker) lived(jobs []trace.Job, began time.Time) (p *prediction, asMeasured []trace.Job) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p = &prediction{jobs: jobs}
	for _, j := range jobs {
		x := k.lives["default/"+j.Name]
		p.starts, p.ends = append(p.starts, x.bound.Sub(began)), append(p.ends, x.ended.Sub(began))
		j.Submit, j.Work = max(x.made.Sub(began), 0), max(x.ended.Sub(x.bound), time.Millisecond)
		asMeasured = append(asMeasured, j)
	}
	return p, asMeasured
}

// prediction is when jobs start and end, by their index.
type prediction struct {
	jobs         []trace.Job
	starts, ends []time.Duration
}

// predict simulates the jobs on the window's cluster, on which a job runs equally long anywhere.
func (w *replayWindow) predict(t *testing.T, jobs []trace.Job) *prediction {
	t.Helper()
	p := must.Get(new(policy.Finder).Load(replayPolicy))(t)
	episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(w.nodes, nodeGPUs)}, Jobs: jobs}
	s := must.Get(episode.New())(t)
	if err := s.Run(t.Context(), anew{p}, 1); err != nil || !s.Outcome().Terminated {
		t.Fatalf("the simulator ends with %+v, %v, want all jobs done", s.Outcome(), err)
	}
	out := &prediction{jobs: jobs, starts: make([]time.Duration, len(jobs)), ends: make([]time.Duration, len(jobs))}
	for _, r := range s.Log().Records {
		switch r.Kind {
		case sim.Start:
			out.starts[r.Job] = r.At
		case sim.Finish:
			out.ends[r.Job] = r.At
		}
	}
	return out
}

// span returns the end of the last job.
func (p *prediction) span() (last time.Duration) {
	for _, at := range p.ends {
		last = max(last, at)
	}
	return last
}

// mean returns the mean time from the submission of a job to the given one.
func (p *prediction) mean(to []time.Duration) (sum time.Duration) {
	for i := range p.jobs {
		sum += to[i] - p.jobs[i].Submit
	}
	return sum / time.Duration(len(p.jobs))
}

// anew is a scheduler that uses a policy as clustergym-kube does without --preemptions-per-hour: it creates a new scheduler for
// every decision and never stops a running job.
type anew struct{ *policy.Policy }

// Name implements cluster.Scheduler.
func (a anew) Name() string { return a.Policy.Name }

// Reset implements cluster.Scheduler.
func (a anew) Reset(uint64) error { return nil }

// Schedule implements cluster.Scheduler.
func (a anew) Schedule(tx *cluster.Txn) error {
	s, err := a.New()
	if err != nil {
		return err
	}
	if err := s.Reset(1); err != nil {
		return err
	}
	tx.Tell(tx.View().Introduce())
	if err := s.Schedule(tx); err != nil {
		return err
	}
	var all []cluster.Proposal
	for i := range tx.Ops() {
		all = append(all, tx.Ops()[i].Proposal())
	}
	tx.Rollback(0)
	new(decide.Limits).Apply(tx, all, nil)
	return nil
}
