package e2e

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// amountsWindows are the windows of TestAmountsPay, for the flag -window.
var amountsWindows = map[string]replayWindow{
	"short": {start: 3880, count: 40, longest: time.Hour, load: 2, seed: 7, most: 48, nodes: 10, speed: 40},
	"long":  {start: 9640, count: 500, longest: time.Hour, load: 3, seed: 1, most: 160, nodes: 100, speed: 10},
}

// What TestAmountsPay demands: the least gain in mean JCT, and the largest gap between cluster and simulator. The jobs of the short
// window take seconds, so that the time in which the programs react counts for more there.
const leastGain = 0.15

var mostGap = map[string]float64{"short": 0.30, "long": 0.10}

// reportEvery is the time between two reports of a job.
const reportEvery = 2 * time.Second

// TestAmountsPay plays the same jobs twice on a cluster that tells the scheduler nothing but reported throughputs: in the same order,
// once with what they request, and once with the amounts that the policy chooses by what it has learned. It compares the mean JCT, and
// both with the simulator's.
func TestAmountsPay(t *testing.T) {
	kubetest.Assets(t) // before there are parts: without Kubernetes each would be skipped, and this test would fail
	w, ok := amountsWindows[*replayFlag]
	if !ok {
		t.Fatalf("-window=%s, want short or long", *replayFlag)
	}
	of, jobs := w.gangs(t)
	w.modelled(jobs)
	t.Log(of)
	runs := []struct {
		name, policy, amounts string
		most                  float64
		planned               time.Duration // by the simulator, of jobs that arrive when they should
		predicted, measured   time.Duration // of jobs that arrive when all their pods have been created
	}{
		{name: "as requested", policy: "sjfskip+know", most: 1},
		{name: "chosen", policy: "sjfskip+menu+know:speed=fit", amounts: "default: cpu=1..4", most: 4},
	}
	for i := range runs {
		r := &runs[i]
		p := predictAmounts(t, r.policy, r.most, w.nodes, reportEvery, simulated(jobs))
		r.planned = p.meanJCT()
		arrived := slices.Clone(jobs)
		t.Run(r.name, func(t *testing.T) { r.measured = w.playAmounts(t, r.policy, r.amounts, p.makespan(), arrived) })
		if r.measured == 0 {
			t.FailNow()
		}
		again := predictAmounts(t, r.policy, r.most, w.nodes, reportEvery, simulated(arrived))
		r.predicted = again.meanJCT()
		t.Logf("mean wait %.0f s in the simulator", meanOf(len(arrived), again.wait).Seconds()*float64(w.speed))
		gap := float64(r.measured)/float64(r.predicted) - 1
		t.Logf("%s (%s): mean JCT %.0f s on the cluster, %.0f s in the simulator, %+.1f %%; %.0f s with arrivals as planned", r.name, r.policy,
			r.measured.Seconds()*float64(w.speed), r.predicted.Seconds()*float64(w.speed), 100*gap, r.planned.Seconds()*float64(w.speed))
		if most := mostGap[*replayFlag]; math.Abs(gap) > most {
			t.Errorf("%s: mean JCT %v, predicted %v: want a gap of at most %v", r.name, r.measured, r.predicted, most)
		}
	}
	gain := 1 - float64(runs[1].measured)/float64(runs[0].measured)
	t.Logf("mean JCT is %.1f %% lower with chosen amounts; the simulator says %.1f %%", 100*gain,
		100*(1-float64(runs[1].predicted)/float64(runs[0].predicted)))
	if gain < leastGain {
		t.Errorf("mean JCT %v with chosen amounts and %v as requested: want a gain of at least %v", runs[1].measured, runs[0].measured, leastGain)
	}
}

// playAmounts plays jobs on a cluster of its own and returns their mean JCT. It sets the time of each arrival to that at which all pods
// of the gang had been created: from then on the gang waits.
func (w *replayWindow) playAmounts(t *testing.T, policy, bounds string, makespan time.Duration, jobs []gangJob) time.Duration {
	c := kubetest.Start(t, kubetest.Options{})
	c.KWOK(0)
	nodes := c.AddNodes(w.nodes, nil)
	grantAmounts(t, c, bounds)
	s := run(t, c, "clustergym-kube", "--mode=live", "--policy="+policy, "--readings-settle=200ms", "--period=1s")
	f := playJobs(t, c, nodes, reportEvery, jobs)
	began := time.Now()
	for i := range jobs {
		select {
		case <-time.After(time.Until(began.Add(jobs[i].Submit))):
		case <-s.Ended():
			t.Fatal("the scheduler has ended")
		}
		c.GangPods(jobs[i].sized())
		jobs[i].Submit = time.Since(began)
	}
	select {
	case <-f.done:
	case <-s.Ended():
		t.Fatal("the scheduler has ended")
	case <-time.After(2*makespan + time.Minute):
		t.Fatal("it takes far longer than it should")
	}
	if f.fault != nil || f.left > 0 {
		t.Fatalf("%d jobs have not ended: %v", f.left, f.fault)
	}
	after := func(i int, at time.Time) time.Duration { return at.Sub(began.Add(jobs[i].Submit)) }
	job := func(i int) *fakeJob { return f.jobs["default/"+jobs[i].Name] }
	waits := meanOf(len(jobs), func(i int) time.Duration { return after(i, job(i).started) })
	t.Logf("mean wait %.0f s", waits.Seconds()*float64(w.speed))
	t.Logf("rounds: %s in %s s; decisions: %s in %s s", s.metric(t, "clustergym_kube_round_seconds_count"),
		s.metric(t, "clustergym_kube_round_seconds_sum"), s.metric(t, "clustergym_decision_seconds_count"),
		s.metric(t, "clustergym_decision_seconds_sum"))
	t.Logf("pods resized: %s; readings: %s; learned from: %s", s.metric(t, `clustergym_kube_resized_total{result="ok"}`),
		s.metric(t, `clustergym_kube_readings_total{source="annotation"}`), s.metric(t, "clustergym_beliefs_readings_total"))
	for name, want := range map[string]string{
		`clustergym_kube_resized_total{result="error"}`: "0", `clustergym_kube_stopped_total{why="policy"}`: "0",
		"clustergym_kube_readings_refused_total": "0", `clustergym_decisions_total{by="fallback"}`: "0",
	} {
		if got := s.metric(t, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if resized := s.metric(t, `clustergym_kube_resized_total{result="ok"}`); (resized == "0") != (bounds == "") {
		t.Errorf("%s pods resized within the bounds %q", resized, bounds)
	}
	return meanOf(len(jobs), func(i int) time.Duration { return after(i, job(i).ended) })
}

// grantAmounts creates the control ConfigMap with bounds on what pods may hold.
func grantAmounts(t *testing.T, c *kubetest.Cluster, bounds string) {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: control.ControlName}}
	if bounds != "" {
		m.Data = map[string]string{"amounts": bounds}
	}
	if _, err := c.Client.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// sized returns the job as a Kubernetes gang whose pods request CPU and memory and run until they are ended.
func (j *gangJob) sized() kubetest.Gang {
	return kubetest.Gang{API: kubetest.Labelled, Name: j.Name, Pods: int(j.pods), GPUs: int(j.gpus), Edit: func(_ int, pod *corev1.Pod) {
		for _, list := range []corev1.ResourceList{pod.Spec.Containers[0].Resources.Requests, pod.Spec.Containers[0].Resources.Limits} {
			list[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(j.gpus)*int64(j.Request.CPUMilli), resource.DecimalSI)
			list[corev1.ResourceMemory] = *resource.NewQuantity(int64(j.gpus)*int64(j.Request.MemMiB)<<20, resource.BinarySI)
		}
	}}
}

// TestAmountsOfAGang checks that a gang's pods are resized before they are bound, and that running pods get back what they held when the
// gang reports that it is slower.
func TestAmountsOfAGang(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{})
	c.KWOK(0)
	nodes := c.AddNodes(1, nil)
	grantAmounts(t, c, "default: cpu=1..4")
	s := run(t, c, "clustergym-kube", "--mode=live", "--policy=sjfskip+menu+know:speed=fit", "--readings-settle=0s", "--period=200ms")
	job := gangJob{pods: 2, gpus: 2}
	job.Name, job.Request.CPUMilli, job.Request.MemMiB, job.Work = "train", requestMilli, requestMiB, time.Hour
	gang := job.sized()
	c.GangPods(gang)
	playJobs(t, c, nodes, time.Hour, []gangJob{job})
	cpus := func(pod *corev1.Pod) float64 {
		return pod.Spec.Containers[0].Resources.Requests.Cpu().AsApproximateFloat64()
	}
	pods := c.AwaitPods("default", gang.Selector(), 2, "run with more CPU", func(pod *corev1.Pod) bool { return kubetest.Running(pod) && cpus(pod) > 6 })
	more := cpus(&pods[0])
	for i := range pods {
		p := &pods[i]
		limit := p.Spec.Containers[0].Resources.Limits.Cpu().AsApproximateFloat64()
		if note := p.Annotations[mirror.RequestedAnnotation]; note != `{"cpu":"6","memory":"80Gi"}` || limit != cpus(p) || more > 24 {
			t.Errorf("pod %s has %v CPUs, a limit of %v and the note %s", p.Name, cpus(p), limit, note)
		}
	}
	report := func(speed float64) {
		t.Helper()
		before := s.metric(t, `clustergym_kube_readings_total{source="annotation"}`)
		value := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%g@%s"}}}`, measure.Annotation, speed, time.Now().UTC().Format(time.RFC3339Nano))
		_, err := c.Client.CoreV1().Pods("default").Patch(t.Context(), pods[0].Name, types.MergePatchType, []byte(value), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.Await("a reading", func(context.Context) error {
			if s.metric(t, `clustergym_kube_readings_total{source="annotation"}`) == before {
				return fmt.Errorf("%s readings", before)
			}
			return nil
		})
	}
	time.Sleep(time.Second) // for the kubelet's part, after which reports count
	report(1e6)
	for i := range pods { // somebody resizes the pods
		less := `{"spec":{"containers":[{"name":"train","resources":{"requests":{"cpu":"7"},"limits":{"cpu":"7"}}}]}}`
		_, err := c.Client.CoreV1().Pods("default").Patch(t.Context(), pods[i].Name, types.StrategicMergePatchType, []byte(less),
			metav1.PatchOptions{}, "resize")
		if err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	report(1e5)
	c.AwaitPods("default", gang.Selector(), 2, "have their CPUs back", func(pod *corev1.Pod) bool { return cpus(pod) == more })
	if got := s.metric(t, `clustergym_kube_stopped_total{why="policy"}`); got != "0" {
		t.Errorf("%s gangs stopped", got)
	}
}
