package eval

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

// script is a scheduler that does what a test writes.
type script struct {
	name string
	do   func(tx *cluster.Txn) error
}

func (s *script) Name() string                   { return s.name }
func (s *script) Reset(uint64) error             { return nil }
func (s *script) Schedule(tx *cluster.Txn) error { return s.do(tx) }

func job(name string, submit, work time.Duration, workers int32) trace.Job {
	return trace.Job{JobSpec: cluster.JobSpec{
		Name: name, Submit: submit, Workers: workers, Estimate: work, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}, Work: work}
}

func on(server cluster.ServerID, workers int32) cluster.Placement {
	return cluster.Placement{{Server: server, Workers: workers, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}
}

func episode(t testing.TB, cfg sim.Config, jobs []trace.Job, s cluster.Scheduler) *sim.Log {
	t.Helper()
	e, err := sim.New(cfg, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	return e.Log()
}

// On two servers of 2 GPUs: a runs on server 0 from 10 to 40, is stopped by the arrival of b at 20 and starts again at 45,
// with 5 s of overhead; b runs on both servers from 20 to 45; c, of half a second, waits from 30 to 45 and is moved at once.
func timeline(t testing.TB) *sim.Log {
	const s = time.Second
	jobs := []trace.Job{job("a", 10*s, 30*s, 2), job("b", 20*s, 25*s, 4), job("c", 30*s, s/2, 1)}
	both := append(on(0, 2), on(1, 2)...)
	step := func(tx *cluster.Txn) error {
		switch tx.Now() {
		case 10 * s:
			return tx.Place(0, on(0, 2))
		case 20 * s:
			if err := tx.Preempt(0); err != nil {
				return err
			}
			return tx.Place(1, both)
		case 45 * s:
			if err := tx.Place(0, on(0, 2)); err != nil {
				return err
			}
			if err := tx.Place(2, on(1, 1)); err != nil {
				return err
			}
			tx.WakeAt(45*s + s/4)
		case 45*s + s/4:
			return tx.Migrate(2, on(1, 1))
		}
		return nil
	}
	return episode(t, sim.Config{Cluster: cluster.Uniform(2, 2), Restart: sim.Pause(5 * s)}, jobs, &script{"script", step})
}

func TestMeasureKnownTimeline(t *testing.T) {
	log := timeline(t)
	got := Measure(log)
	// a ends at 45 + 5 + 20 = 70, b at 45, c at 45.25 + 5 + 0.25 = 50.5.
	want := Metrics{
		Jobs: 3, Finished: 3,
		SumJCT: 60 + 25 + 20.5, MeanJCT: 105.5 / 3, P50JCT: 25, P95JCT: 25 + .9*35, P99JCT: 25 + .98*35,
		MeanQueueing: 5, P50Queueing: 0, P95Queueing: .9 * 15, P99Queueing: .98 * 15,
		Makespan: 60, MeanSlowdown: (2 + 1 + 2.05) / 3,
		Utilisation: (2*10 + 4*25 + 2*25 + 5.5) / (4. * 60),
		Preemptions: 1, Migrations: 1, Events: 3 + 4 + 1 + 1 + 3 + 1,
	}
	if !near(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// near compares metrics up to the rounding of the quantiles.
func near(a, b Metrics) bool {
	for _, q := range []struct{ a, b *float64 }{
		{&a.P95JCT, &b.P95JCT}, {&a.P99JCT, &b.P99JCT}, {&a.P95Queueing, &b.P95Queueing}, {&a.P99Queueing, &b.P99Queueing},
		{&a.MeanSlowdown, &b.MeanSlowdown}, {&a.Utilisation, &b.Utilisation}, {&a.P50JCT, &b.P50JCT},
		{&a.P50Queueing, &b.P50Queueing},
	} {
		if math.Abs(*q.a-*q.b) > 1e-9*max(1, math.Abs(*q.b)) {
			return false
		}
		*q.a = *q.b
	}
	return a == b
}

func TestJobsAreExactDecimals(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJobs(&b, timeline(t)); err != nil {
		t.Fatal(err)
	}
	want := "job_id,submit_s,start_s,end_s,jct_s\na,10,10,70,60\nb,20,20,45,25\nc,30,45,50.5,20.5\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	for d, want := range map[time.Duration]string{0: "0", 1: "0.000000001", 1500 * time.Millisecond: "1.5",
		1000 * time.Second: "1000", time.Second + 10: "1.00000001", math.MaxInt64: "9223372036.854775807"} {
		if got := decimal(d); got != want {
			t.Errorf("decimal(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestTruncatedEpisodeCountsWhatHappened(t *testing.T) {
	const s = time.Second
	jobs := []trace.Job{job("a", 0, 10*s, 1), job("b", 0, 100*s, 1), job("c", 5*s, s, 2), job("d", 90*s, s, 1)}
	first := &script{"first", func(tx *cluster.Txn) error {
		if tx.Now() > 0 {
			return nil
		}
		if err := tx.Place(0, on(0, 1)); err != nil {
			return err
		}
		return tx.Place(1, on(0, 1))
	}}
	log := episode(t, sim.Config{Cluster: cluster.Uniform(1, 2), Horizon: 50 * s}, jobs, first)
	got := Measure(log)
	want := Metrics{
		Jobs: 4, Finished: 1, Truncated: "horizon 50s", SumJCT: 10, MeanJCT: 10, P50JCT: 10, P95JCT: 10, P99JCT: 10,
		Makespan: 10, MeanSlowdown: 1, Utilisation: (10. + 50) / 100, Events: 3 + 2 + 1 + 1,
	}
	if !near(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var b bytes.Buffer
	if err := WriteJobs(&b, log); err != nil {
		t.Fatal(err)
	}
	if want := "job_id,submit_s,start_s,end_s,jct_s\na,0,0,10,10\nb,0,0,,\nc,5,,,\nd,90,,,\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestLoanedServersCountAsAvailableWhileTheyAreLent(t *testing.T) {
	const s = time.Second
	spec := cluster.Uniform(2, 1)
	spec.Servers[1].Pool = cluster.Inference
	step := func(tx *cluster.Txn) error {
		switch tx.Now() {
		case 0:
			if err := tx.Place(0, on(0, 1)); err != nil {
				return err
			}
			tx.WakeAt(10 * s)
		case 10 * s:
			tx.WakeAt(30 * s)
			return tx.Loan(1)
		case 30 * s:
			return tx.Reclaim(1)
		}
		return nil
	}
	m := Measure(episode(t, sim.Config{Cluster: spec}, []trace.Job{job("a", 0, 40*s, 1)}, &script{"lender", step}))
	if want := 40. / (40 + 20); math.Abs(m.Utilisation-want) > 1e-12 {
		t.Errorf("utilisation %v, want %v", m.Utilisation, want)
	}
}

func TestEmptyLogMeasuresZero(t *testing.T) {
	if got := Measure(&sim.Log{}); got != (Metrics{}) {
		t.Errorf("got %+v, want zeros", got)
	}
}

// A sum of GPU-time is exact where 64 bits of nanoseconds would overflow.
func TestSumIsExactBeyond64Bits(t *testing.T) {
	var s sum
	const year = 365 * 24 * time.Hour
	for range 3 {
		s.add(100*year, 1_000_000)
	}
	s.add(time.Second/2, 1)
	if want := 3e8*year.Seconds() + .5; s.seconds() != want {
		t.Errorf("got %v, want %v", s.seconds(), want)
	}
}

// Whatever the workload and the policy, the metrics are those of plain loops over seconds and jobs.
func TestMeasureAgreesWithPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := make([]trace.Job, rapid.IntRange(1, 12).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i] = job(string(rune('a'+i)), time.Duration(rapid.IntRange(0, 40).Draw(t, "submit"))*time.Second,
				time.Duration(rapid.IntRange(1, 30).Draw(t, "work"))*time.Second, rapid.Int32Range(1, 6).Draw(t, "workers"))
		}
		all := slices.DeleteFunc(baselines.All(), func(b baselines.Baseline) bool { return b.Name == "pollux" }) // slow
		policy := all[rapid.IntRange(0, len(all)-1).Draw(t, "policy")]
		cfg := sim.Config{Cluster: cluster.Uniform(3, 2), Physics: physics.Ideal(),
			Restart: sim.Pause(time.Duration(rapid.IntRange(0, 3).Draw(t, "overhead")) * time.Second)}
		e, err := sim.New(cfg, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context(), policy.New(), 1); err != nil {
			t.Fatal(err)
		}
		got, want := Measure(e.Log()), plainly(e.Log())
		if !near(got, want) {
			t.Fatalf("%s\ngot  %+v\nwant %+v", policy.Name, got, want)
		}
	})
}

// plainly measures a terminated log whose times are whole seconds, second by second.
func plainly(log *sim.Log) Metrics {
	m := Metrics{Jobs: len(log.Jobs), Events: len(log.Records)}
	var jcts, queueings []float64
	firstSubmit, lastFinish := math.Inf(1), 0.0
	for id, j := range log.Jobs {
		start, end := math.Inf(1), 0.0
		for _, r := range log.Records {
			if r.Kind == sim.End || int(r.Job) != id {
				continue
			}
			switch r.Kind {
			case sim.Start:
				start = min(start, r.At.Seconds())
			case sim.Finish:
				end = r.At.Seconds()
				m.Finished++
			case sim.Preempt:
				m.Preemptions++
			case sim.Migrate:
				m.Migrations++
			}
		}
		submit := j.Submit.Seconds()
		firstSubmit, lastFinish = min(firstSubmit, submit), max(lastFinish, end)
		jcts, queueings = append(jcts, end-submit), append(queueings, start-submit)
		m.SumJCT += end - submit
		m.MeanQueueing += start - submit
		m.MeanSlowdown += max(1, (end-submit)/max(10, j.Work.Seconds())) / float64(len(log.Jobs))
	}
	m.MeanJCT, m.MeanQueueing = m.SumJCT/float64(len(jcts)), m.MeanQueueing/float64(len(jcts))
	m.Makespan = lastFinish - firstSubmit
	busy, slots := 0, 0
	for second := firstSubmit; second < lastFinish; second++ {
		running := make([]bool, len(log.Jobs))
		for _, r := range log.Records {
			if r.At.Seconds() <= second && r.Kind != sim.Submit && r.Kind != sim.End {
				running[r.Job] = r.Kind == sim.Start || r.Kind == sim.Migrate
			}
		}
		for id, on := range running {
			if on {
				busy += int(log.Jobs[id].Workers)
			}
		}
		slots += log.Config.Cluster.GPUs()
	}
	m.Utilisation = float64(busy) / float64(slots)
	m.P50JCT, m.P95JCT, m.P99JCT = plainQuantile(jcts, .5), plainQuantile(jcts, .95), plainQuantile(jcts, .99)
	m.P50Queueing, m.P95Queueing = plainQuantile(queueings, .5), plainQuantile(queueings, .95)
	m.P99Queueing = plainQuantile(queueings, .99)
	return m
}

func plainQuantile(xs []float64, p float64) float64 {
	slices.Sort(xs)
	h := p * float64(len(xs)-1)
	lo := int(math.Floor(h))
	hi := min(lo+1, len(xs)-1)
	return xs[lo]*(1-(h-float64(lo))) + xs[hi]*(h-float64(lo))
}

// A log that ends in mid-run, as an error of a scheduler leaves it, is measured up to its last record.
func TestMeasureLogWithoutEnd(t *testing.T) {
	log := timeline(t)
	log.Outcome = sim.Outcome{}
	at := slices.IndexFunc(log.Records, func(r sim.Record) bool { return r.Kind == sim.Migrate })
	log.Records = log.Records[:at+1]
	got := Measure(log)
	if want := (2*10 + 4*25 + .75) / (4. * 35.25); got.Finished != 1 || math.Abs(got.Utilisation-want) > 1e-12 {
		t.Errorf("%d finished, utilisation %v; want 1 and %v", got.Finished, got.Utilisation, want)
	}
	var b bytes.Buffer
	if err := WriteGantt(&b, log); err != nil {
		t.Error(err)
	}
}

// An inference pool of two servers: what it needs beyond what it has is unserved, what is on loan or down serves nobody, and
// training has the GPUs of what is on loan.
func TestMeasureLoans(t *testing.T) {
	const s = time.Second
	one := cluster.Amount{GPUMilli: cluster.WholeGPU}
	spec := cluster.Uniform(3, 2)
	spec.Servers[1].Pool, spec.Servers[2].Pool = cluster.Inference, cluster.Inference
	jobs := []trace.Job{
		{JobSpec: cluster.JobSpec{Name: "a", Workers: 2, Request: one}, Work: 100 * s},
		{JobSpec: cluster.JobSpec{Name: "b", Workers: 2, Request: one}, Work: 200 * s},
	}
	cfg := sim.Config{
		Cluster: spec, Grace: 10 * s,
		Demand:  []sim.Demand{{At: 0, Need: 500, Offer: 1}, {At: 20 * s, Need: 2000, Offer: 0}, {At: 60 * s, Need: 1000, Offer: 0}},
		Outages: []sim.Outage{{From: 80 * s, To: 90 * s, Server: 2, GPU: -1}, {From: 85 * s, To: 95 * s, Server: 2, GPU: 1}},
	}
	step := func(tx *cluster.Txn) error {
		if tx.Now() > 0 {
			for _, id := range tx.State().Pending() {
				if p, fits := tx.State().BestFit(id, nil); fits {
					if err := tx.Place(id, p); err != nil {
						return err
					}
				}
			}
			return nil
		}
		if err := tx.Loan(1); err != nil {
			return err
		}
		if err := tx.Place(0, on(0, 2)); err != nil {
			return err
		}
		return tx.Place(1, on(1, 2))
	}
	got := Measure(episode(t, cfg, jobs, &script{"script", step}))
	// b holds server 1 until it is seized at 30 s, starts again on server 0 at 100 s with 170 s left, and ends at 270 s. Servers
	// short: 1 of 2 from 20 s to 30 s; none from 30 s on but while server 2 is down, when 1 serves 1. Demand: 10 + 80 + 210.
	if got.MeanLent != 30./270 || got.Unserved != 10./300 || got.Seizures != 1 || got.Interruptions != 1 || got.Failures != 2 {
		t.Errorf("lent %v, unserved %v, %d seizures, %d interruptions, %d failures: want %v, %v, 1, 1, 2",
			got.MeanLent, got.Unserved, got.Seizures, got.Interruptions, got.Failures, 30./270, 10./300)
	}
	if want := (2*100 + 2*30 + 2*170) / (2*270. + 2*30); math.Abs(got.Utilisation-want) > 1e-12 {
		t.Errorf("utilisation %v, want %v", got.Utilisation, want)
	}
}
