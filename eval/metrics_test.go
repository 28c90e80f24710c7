package eval

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/stats"
	"pgregory.net/rapid"
)

// script is a scheduler that runs a function of the test.
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
	return simtest.Play(t, &sim.Episode{Config: cfg, Jobs: jobs}, s, 1)
}

// timeline returns a log on two servers of 2 GPUs. a, with 30 s of work, starts on server 0 at 10 s, is preempted when b arrives
// at 20 s, and starts again at 45 s, with 5 s of overhead. b runs on both servers from 20 s to 45 s. c, of half a second, waits
// from 30 s to 45 s and is moved soon after its start.
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
	// a ends at 45 + 5 + 20 = 70 s, b at 45 s, c at 45.25 + 5 + 0.25 = 50.5 s.
	want := Metrics{
		Jobs: 3, Finished: 3,
		SumJCT: 60 + 25 + 20.5, MeanJCT: 105.5 / 3, P50JCT: 25, P95JCT: 25 + .9*35, P99JCT: 25 + .98*35,
		MeanQueueing: 5, P50Queueing: 0, P95Queueing: .9 * 15, P99Queueing: .98 * 15,
		Makespan: 60, MeanSlowdown: (2 + 1 + 2.05) / 3, P50Slowdown: 2, P95Slowdown: 2 + .9*.05, P99Slowdown: 2 + .98*.05,
		// All jobs together ask for 2 of the 4 GPUs from 10 s to 20 s, for 6 until 30 s, 7 until 45 s, 3 until 50.5 s and 2 until 70 s.
		// In the lifetimes of a, b and c they ask for 240.5, 165 and 121.5 GPU-seconds; 240, 100 and 82 are open. b takes less time
		// than with its fair share, a and c more.
		P99FTF: .02*20.5/(10*121.5/82) + .98*60/(30*240.5/240), Unfair: 2. / 3,
		Utilisation: (2*10 + 4*25 + 2*25 + 5.5) / (4. * 60),
		// All jobs can use 2 free GPUs of a server; only c can use the single GPU beside c.
		Fragmentation: 5.5 * 2 / 3 / (2*10 + 5.5 + 2*19.5), GivenGPUs: 1,
		Preemptions: 1, Migrations: 1, Events: 3 + 4 + 1 + 1 + 3 + 1,
	}
	if !near(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// near reports whether metrics are equal up to the rounding of divisions.
func near(a, b Metrics) bool {
	if a.Truncated != b.Truncated {
		return false
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		switch x, y := x.Field(i), y.Field(i); {
		case x.CanInt() && x.Int() != y.Int():
			return false
		case x.CanFloat() && !(math.Abs(x.Float()-y.Float()) <= 1e-9*max(1, math.Abs(y.Float()))):
			return false
		}
	}
	return true
}

func TestJobsAreExactDecimals(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, WriteJobs(&b, Rows(timeline(t))))
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
		Makespan: 10, MeanSlowdown: 1, P50Slowdown: 1, P95Slowdown: 1, P99Slowdown: 1, P99FTF: 2. / 3, // jobs ask for 30 of the 20 GPU-seconds
		Utilisation: (10. + 50) / 100, Fragmentation: .25, GivenGPUs: 1, Events: 3 + 2 + 1 + 1,
	}
	if !near(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var b bytes.Buffer
	must.Do(t, WriteJobs(&b, Rows(log)))
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
	if want := 40. / (40 + 20); math.Abs(m.Utilisation-want) > 1e-12 || m.Loans != 1 || m.Reclaims != 1 {
		t.Errorf("utilisation %v, %d loans, %d reclaims, want %v, 1 and 1", m.Utilisation, m.Loans, m.Reclaims, want)
	}
}

func TestEmptyLogMeasuresZero(t *testing.T) {
	if got := Measure(&sim.Log{}); got != (Metrics{}) {
		t.Errorf("got %+v, want zeros", got)
	}
}

// TestSumIsExactBeyond64Bits checks that a sum of GPU-time is exact where 64 bits of nanoseconds would overflow.
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

// TestSumsCompareExactly checks differences and comparisons of sums against big integers.
func TestSumsCompareExactly(t *testing.T) {
	whole := func(s sum) *big.Int {
		x := new(big.Int).SetUint64(s.hi)
		return x.Or(x.Lsh(x, 64), new(big.Int).SetUint64(s.lo))
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]uint64{0, 1, 2, math.MaxUint64, math.MaxUint64 - 1, 1 << 63})
		some := rapid.OneOf(word, rapid.Uint64())
		a, b := sum{some.Draw(t, "a"), some.Draw(t, "a")}, sum{some.Draw(t, "b"), some.Draw(t, "b")}
		d, e := time.Duration(some.Draw(t, "d")>>1), time.Duration(some.Draw(t, "e")>>1)
		x, y := whole(a), whole(b)
		if got := a.compare(b); got != x.Cmp(y) {
			t.Fatalf("%v compared with %v is %d", x, y, got)
		}
		if a.compare(b) >= 0 && whole(a.since(b)).Cmp(new(big.Int).Sub(x, y)) != 0 {
			t.Fatalf("%v - %v is %v", x, y, whole(a.since(b)))
		}
		product := a.times(uint64(d))
		z := new(big.Int).Lsh(new(big.Int).SetUint64(product[0]), 128)
		if z.Add(z, whole(sum{product[1], product[2]})).Cmp(x.Mul(x, big.NewInt(int64(d)))) != 0 {
			t.Fatalf("%v times %d is %v, want %v", whole(a), d, z, x)
		}
		y.Mul(y, big.NewInt(int64(e)))
		if got := a.exceeds(d, b, e); got != (x.Cmp(y) > 0) {
			t.Fatalf("%v exceeds %v: %v", x, y, got)
		}
	})
}

// TestMeasureLogWithoutEnd checks that Measure covers a log that stops in the middle, as after an error of a scheduler, up to its
// last record.
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
	if err := WriteJobs(&b, Rows(log)); err != nil {
		t.Error(err)
	}
}

// TestMeasureLoans checks the metrics of an inference pool of two servers. What the pool needs beyond its own servers is
// unserved; servers on loan or down do not serve; training can use the GPUs of servers on loan.
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
		Demand:  []sim.Demand{{At: 0, Need: 500, Offer: 1}, {At: 20 * s, Need: 2000}, {At: 60 * s, Need: 1000}},
		Outages: []sim.Outage{{From: 80 * s, To: 90 * s, Server: 2, GPU: -1}, {From: 85 * s, To: 95 * s, Server: 2, GPU: 1}},
	}
	step := func(tx *cluster.Txn) error {
		if tx.Now() > 0 {
			for _, id := range tx.View().Pending() {
				if p, fits := tx.View().BestFit(id, nil); fits {
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
	// b holds server 1 until it is seized at 30 s, restarts on server 0 at 100 s with 170 s left, and ends at 270 s. From 20 s to 30
	// s the pool lacks 1 of 2 servers. Later it lacks none; while server 2 is down, it needs 1 and has 1. Demand: 10 + 80 + 210.
	if got.MeanLent != 30./270 || got.Unserved != 10./300 || got.Loans != 1 || got.Reclaims != 0 ||
		got.Seizures != 1 || got.Interruptions != 1 || got.Failures != 2 {
		t.Errorf("lent %v, unserved %v, %d loans, %d reclaims, %d seizures, %d interruptions, %d failures: "+
			"want %v, %v, 1, 0, 1, 1, 2",
			got.MeanLent, got.Unserved, got.Loans, got.Reclaims, got.Seizures, got.Interruptions, got.Failures, 30./270, 10./300)
	}
	if want := (2*100 + 2*30 + 2*170) / (2*270. + 2*30); math.Abs(got.Utilisation-want) > 1e-12 {
		t.Errorf("utilisation %v, want %v", got.Utilisation, want)
	}
}

// TestTailsAreThoseOfSortedNumbers checks that tails returns exactly the quantiles of sorted numbers.
func TestTailsAreThoseOfSortedNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		sizes := []int{1, 2, 3, 50, buckets - 1, buckets, buckets + 1, 3 * buckets}
		xs := make([]float64, rapid.SampledFrom(sizes).Draw(t, "numbers"))
		from, spread := rapid.Float64Range(0, 1e9).Draw(t, "from"), rapid.Float64Range(0, 30).Draw(t, "spread")
		zeros := rapid.Float64Range(0, 1).Draw(t, "share of zeros")
		for i := range xs {
			if xs[i] = from + math.Exp(spread*draw.NormFloat64()); draw.Float64() < zeros {
				xs[i] = 0
			}
		}
		sorted := slices.Sorted(slices.Values(xs))
		a, b, c := tails(xs)
		for i, got := range []float64{a, b, c} {
			if p := []float64{.5, .95, .99}[i]; got != stats.QuantileSorted(sorted, p) {
				t.Fatalf("quantile %v is %v, want %v", p, got, stats.QuantileSorted(sorted, p))
			}
		}
	})
}

// TestEveryNumberIsAQuantity checks that every number of Metrics is a quantity with the same JSON key, except for a few that are
// not compared.
func TestEveryNumberIsAQuantity(t *testing.T) {
	apart := []string{"jobs", "finished", "sum_jct_s", "events", "failures"}
	seen := map[string]bool{}
	fields := reflect.TypeFor[Metrics]()
	for i := range fields.NumField() {
		var m Metrics
		key, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		switch f := reflect.ValueOf(&m).Elem().Field(i); {
		case f.CanInt():
			f.SetInt(7)
		case f.CanFloat():
			f.SetFloat(7)
		default:
			continue
		}
		var told []string
		for _, q := range Quantities() {
			switch q.get(&m) {
			case 7:
				told = append(told, q.Key)
			case 0:
			default:
				t.Errorf("%s is %v if %s is 7", q.Key, q.get(&m), key)
			}
		}
		if slices.Contains(apart, key) {
			told = append(told, key)
		}
		if !slices.Equal(told, []string{key}) {
			t.Errorf("%s is told as %q", key, told)
		}
		seen[key] = true
	}
	labels := map[string]bool{}
	for _, q := range Quantities() {
		if !seen[q.Key] || labels[q.Label] || !strings.HasSuffix(q.About, ".") || strings.Count(q.About, ". ") > 0 {
			t.Errorf("%+v: want a key of Metrics, a label of its own and one sentence", q)
		}
		labels[q.Label] = true
	}
}
