package reproduce

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/stats"
)

// within reports an error unless got is between lo and hi times want.
func within(t *testing.T, what string, got, want, lo, hi float64) {
	t.Helper()
	if !(got >= lo*want && got <= hi*want) {
		t.Errorf("%s is %.4g, want %.4g to %.4g", what, got, lo*want, hi*want)
	}
}

// TestCalibration checks that under FIFO the workload resembles row 1 of Lyra's Table 5, at the paper's size.
func TestCalibration(t *testing.T) {
	e, err := Lyra(LyraOptions{1, Predictors()[0]})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Select([]string{"fifo"}); err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), []uint64{calibrationSeed}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, paper := r.Rows[0].Mean, r.Rows[0].Paper
	within(t, "mean queueing", f[queueMean], paper[queueMean], .7, 1.3)
	within(t, "95th percentile of queueing", f[queueP95], paper[queueP95], .6, 1.6)
	within(t, "mean JCT", f[jctMean], paper[jctMean], .9, 1.1)
	within(t, "95th percentile of JCT", f[jctP95], paper[jctP95], .85, 1.15)
	if f[queueMedian] > 60 {
		t.Errorf("median queueing is %v", f[queueMedian])
	}
	if f[trainingUse] < .72 || f[trainingUse] > .84 {
		t.Errorf("training use is %v", f[trainingUse])
	}
}

// TestSharesOfLyraJobs checks, for several seeds, that the fractions of jobs agree with those that the paper reports.
func TestSharesOfLyraJobs(t *testing.T) {
	const gpus = lyraTraining * perServer
	for seed := range uint64(3) {
		jobs, err := lyraWorkload(variant{elastic: some, fungible: lyraFungible, mixed: lyraMixed, wrong: .4}, 1, LyraJobs, gpus, seed)
		if err != nil {
			t.Fatal(err)
		}
		var load, elasticLoad, elasticTime, elastic, fungible, mixed, wrong float64
		for _, j := range jobs {
			load += j.GPUs() * j.Work.Seconds()
			if j.Most() > j.Least() {
				elastic++
				elasticLoad += j.GPUs() * j.Work.Seconds()
				elasticTime += j.Work.Seconds() * float64(j.Workers) / float64(j.Most())
			}
			switch {
			case j.Mixed:
				mixed++
			case j.GPUType == "":
				fungible++
			}
			if j.Estimate != j.Work {
				wrong++
			}
			if off := math.Abs(j.Estimate.Seconds()/j.Work.Seconds() - 1); off > lyraWrongWithin+1e-6 {
				t.Fatalf("an estimate is %v off", off)
			}
			if j.Work > lyraLongestElastic || j.Submit < 0 || j.Submit > lyraDays*24*time.Hour {
				t.Fatalf("job of %v submitted at %v", j.Work, j.Submit)
			}
		}
		n := float64(len(jobs))
		within(t, "load", load/(gpus*float64(lyraDays*86400)), lyraLoad, .999, 1.001)
		within(t, "elastic share of the load", elasticLoad/load, lyraElasticLoad, .999, 1.001)
		within(t, "elastic share", elastic/n, lyraElastic, .95, 1.05)
		within(t, "mean time of elastic jobs", elasticTime/elastic, lyraElasticTime, .85, 1.15)
		within(t, "fungible share", fungible/n, lyraFungible, .95, 1.05)
		within(t, "mixed share", mixed/n, lyraMixed, .95, 1.05)
		within(t, "wrong share", wrong/n, .4, .95, 1.05)
	}
}

// TestVariantsShareTheirJobs checks that variants of one seed have the same jobs, except for what they vary.
func TestVariantsShareTheirJobs(t *testing.T) {
	plain, err := lyraWorkload(variant{}, .02, 1000, 72, 1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := lyraWorkload(variant{elastic: every, fungible: .2, mixed: .1, wrong: .5}, .02, 1000, 72, 1)
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b trace.Job) bool { return a.Submit == b.Submit && a.Work == b.Work && a.Workers == b.Workers }
	if !slices.EqualFunc(plain, other, same) {
		t.Error("jobs differ")
	}
}

// TestLyraDemand checks that usage has the trough, the peak and the mean of Lyra's Fig. 1, and that lending leaves the headroom.
func TestLyraDemand(t *testing.T) {
	const servers = lyraInference
	for _, p := range Predictors() {
		demand, err := lyraDemand(servers, 15, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		var usage []float64
		for i, d := range demand {
			usage = append(usage, float64(d.Need)/(1000*servers))
			if d.At != time.Duration(i)*demandStep || int64(d.Offer)*1000+d.Need > int64((servers-10)*1000) {
				t.Fatalf("%s: at %v need %d, offer %d", p.Name, d.At, d.Need, d.Offer)
			}
		}
		within(t, "trough", stats.Quantile(usage, .01), .42, .93, 1.07)
		within(t, "peak", stats.Quantile(usage, .99), .95, .97, 1.03)
		within(t, "mean", stats.Mean(usage), .65, .98, 1.02)
	}
}

// TestMeasure checks metrics against values computed by hand: one job on a training server, then one on a server on loan that
// goes back while the job runs.
func TestMeasure(t *testing.T) {
	servers := []cluster.ServerSpec{
		{Name: "a", GPUs: 8, GPUType: homeType, CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited},
		{Name: "b", GPUs: 4, GPUType: loanType, Pool: cluster.Inference, CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited},
	}
	job := func(name string, at, work time.Duration, workers int32) trace.Job {
		j := trace.Job{Work: work}
		j.Name, j.Submit, j.Workers, j.Request.GPUMilli = name, at, workers, cluster.WholeGPU
		return j
	}
	jobs := []trace.Job{job("0", 0, 100*time.Second, 8), job("1", 0, 100*time.Second, 4), job("2", 100*time.Second, 50*time.Second, 1)}
	s, err := sim.New(sim.Config{
		Cluster: cluster.Spec{Servers: servers}, Physics: nil, Grace: demandStep,
		Demand: []sim.Demand{{At: 0, Need: 0, Offer: 1}, {At: 50 * time.Second, Need: 500, Offer: 0}},
	}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), &byHand{}, 0); err != nil {
		t.Fatal(err)
	}
	f := measure(s.Log(), pairOf)
	for m, want := range map[Metric]float64{
		queueMean: 0, preemptionRate: 1. / 3, unfinished: 0, unforced: 0, loanUse: 1,
		trainingUse: 1, // job 0 holds all 8 for the 100 s until the last submit
		// Of 16 GPUs for 100 s: 8 for training, on loan 8 for 50 s, then inference needs half a server of 8.
		overallUse: (8*100 + 8*50 + 4*50) / 1600.,
	} {
		if math.Abs(f[m]-want) > 1e-9 {
			t.Errorf("%v is %v, want %v", m, f[m], want)
		}
	}
}

// byHand starts job 0 on server 0 and job 1 on server 1, which is on loan, returns that server when it is owed, and starts the
// remaining job on server 0.
type byHand struct{}

func (*byHand) Name() string       { return "by-hand" }
func (*byHand) Reset(uint64) error { return nil }

func (*byHand) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	place := func(id cluster.JobID, server cluster.ServerID) error {
		spec := s.Spec(id)
		return tx.Place(id, cluster.Placement{{Server: server, Workers: spec.Workers, Amount: spec.Request}})
	}
	switch tx.Now() {
	case 0:
		if err := tx.Loan(1); err != nil {
			return err
		}
		if err := place(0, 0); err != nil {
			return err
		}
		return place(1, 1)
	case 50 * time.Second:
		if err := tx.Preempt(1); err != nil {
			return err
		}
		return tx.Reclaim(1)
	}
	for _, id := range slices.Clone(s.Pending()) {
		if s.FreeGPUs(0) >= s.Spec(id).Workers {
			if err := place(id, 0); err != nil {
				return err
			}
		}
	}
	return nil
}
