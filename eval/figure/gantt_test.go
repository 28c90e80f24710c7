package figure

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// script is a scheduler that runs a function of the test.
type script func(tx *cluster.Txn) error

func (script) Name() string                     { return "script" }
func (script) Reset(uint64) error               { return nil }
func (s script) Schedule(tx *cluster.Txn) error { return s(tx) }

func on(server cluster.ServerID, workers, milli int32) cluster.Piece {
	return cluster.Piece{Server: server, Workers: workers, Amount: cluster.Amount{GPUMilli: milli}}
}

// TestBoxesOfOneJobJoinAndSharesStack plays jobs on two servers of 2 GPUs. a holds all four GPUs for 10 s. Then b has 600
// thousandths of GPU 0 and c 300. b ends at 20 s, and d takes 700, on both sides of c.
func TestBoxesOfOneJobJoinAndSharesStack(t *testing.T) {
	const s = time.Second
	jobs := []trace.Job{
		job("a", 0, 10*s, 4, 1000), job("b", 10*s, 10*s, 1, 600), job("c", 10*s, 30*s, 1, 300), job("d", 20*s, 10*s, 1, 700),
	}
	log := playWith(t, script(func(tx *cluster.Txn) error {
		switch tx.Now() {
		case 0:
			return tx.Place(0, cluster.Placement{on(0, 2, 1000), on(1, 2, 1000)})
		case 10 * s:
			if err := tx.Place(1, cluster.Placement{on(0, 1, 600)}); err != nil {
				return err
			}
			return tx.Place(2, cluster.Placement{on(0, 1, 300)})
		case 20 * s:
			return tx.Place(3, cluster.Placement{on(0, 1, 700)})
		}
		return nil
	}), sim.Config{Cluster: cluster.Uniform(2, 2)}, jobs)
	got := newSchedule(log).boxes
	want := []box{
		{0, 10, 0, 4, colour("a")},
		{10, 20, 0, .6, colour("b")}, {10, 40, .6, .9, colour("c")},
		{20, 30, 0, .6, colour("d")}, {20, 30, .9, 1, colour("d")},
	}
	if !slices.Equal(got, want) {
		t.Errorf("boxes\n%v, want\n%v", got, want)
	}
}

// TestBoxesCoverWhatJobsHold checks that, for any jobs, boxes do not overlap and cover the GPU-time that the jobs held.
func TestBoxesCoverWhatJobsHold(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(r, "jobs")
		jobs := make([]trace.Job, n)
		at, held := time.Duration(0), 0.0
		for i := range jobs {
			at += time.Duration(rapid.IntRange(0, 20).Draw(r, "gap")) * time.Second
			milli := rapid.SampledFrom([]int32{100, 300, 450, 500, 1000}).Draw(r, "milli")
			workers := rapid.Int32Range(1, 3).Draw(r, "workers")
			work := rapid.IntRange(1, 50).Draw(r, "work")
			jobs[i] = job(strings.Repeat("x", i+1), at, time.Duration(work)*time.Second, workers, milli)
			held += float64(work) * float64(workers) * float64(milli) / 1000
		}
		policy := rapid.SampledFrom([]string{"fifo", "srtf", "las", "sjfskip"}).Draw(r, "policy")
		s := newSchedule(play(t, policy, 2, jobs))
		area := 0.0
		for i, b := range s.boxes {
			area += (b.to - b.from) * (b.bottom - b.top)
			for _, o := range s.boxes[:i] {
				wide, high := min(b.to, o.to)-max(b.from, o.from), min(b.bottom, o.bottom)-max(b.top, o.top)
				if wide > 1e-9 && high > 1e-9 {
					r.Fatalf("%+v overlaps %+v", b, o)
				}
			}
		}
		if area < held*(1-1e-9) || area > held*(1+1e-9) {
			r.Fatalf("boxes cover %v GPU seconds, jobs held %v", area, held)
		}
	})
}

func TestServersOnLoanAndOutOfOrderAreTold(t *testing.T) {
	const s = time.Second
	spec := cluster.Uniform(2, 2)
	spec.Servers = slices.Clone(spec.Servers)
	spec.Servers[1].Pool = cluster.Inference
	cfg := sim.Config{
		Cluster: spec, Grace: 100 * s,
		Demand:  []sim.Demand{{At: 0, Need: 0, Offer: 1}, {At: 30 * s, Need: 1000, Offer: 0}},
		Outages: []sim.Outage{{From: 5 * s, To: 15 * s, Server: 0, GPU: 1}},
	}
	log := playWith(t, script(func(tx *cluster.Txn) error {
		switch tx.Now() {
		case 10 * s:
			if err := tx.Place(0, cluster.Placement{on(0, 1, 1000)}); err != nil {
				return err
			}
			return tx.Loan(1)
		case 30 * s:
			return tx.Reclaim(1)
		}
		return nil
	}), cfg, []trace.Job{job("a", 10*s, 30*s, 1, 1000)})
	got := newSchedule(log).areas
	want := []groundArea{{down, 5, 15, 1, 2}, {serving, 0, 10, 2, 4}, {onLoan, 10, 30, 2, 4}, {serving, 30, 40, 2, 4}}
	for _, a := range want {
		if !slices.Contains(got, a) {
			t.Errorf("%+v is not among %+v", a, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d areas %+v, want %d", len(got), got, len(want))
	}
	f := must.Get(Gantt(log))(t)
	_, texts := elements(t, write(t, f, "svg"))
	for _, name := range []string{"serving inference", "on loan", "out of order", "script", "server"} {
		if !slices.Contains(texts, name) {
			t.Errorf("%q is not among the texts %q", name, texts)
		}
	}
}

// TestLargeSchedulesStaySmall checks that two schedules of 5,000 jobs consist of paths, one per colour, in less than 3 MB.
func TestLargeSchedulesStaySmall(t *testing.T) {
	jobs := manyJobs(5000)
	f := must.Get(Gantt(play(t, "fifo", 3, jobs), play(t, "sjfskip", 3, jobs)))(t)
	svg := write(t, f, "svg")
	count, _ := elements(t, svg)
	if len(svg) > 3_000_000 || count["path"] > 200 || count["path"] < 2*len(jobColours()) {
		t.Errorf("%d bytes with %d paths, want one for each of %d colours in both schedules", len(svg), count["path"], len(jobColours()))
	}
	if !bytes.Equal(svg, write(t, f, "svg")) {
		t.Error("two SVGs differ")
	}
}

func TestOneShortJobIsDrawn(t *testing.T) {
	for _, milli := range []int32{1, cluster.WholeGPU} {
		f := must.Get(Gantt(play(t, "fifo", 1, []trace.Job{job("", 0, 1, 1, milli)})))(t)
		for _, format := range Formats() {
			if b := write(t, f, format); bytes.Contains(b, []byte("NaN")) {
				t.Errorf("%s holds a coordinate that is no number", format)
			}
		}
	}
}

func TestLogsWithoutTimeOrGPUsAreRefused(t *testing.T) {
	played := play(t, "fifo", 1, manyJobs(1))
	for _, logs := range [][]*sim.Log{nil, {{}}, {{Config: sim.Config{Cluster: cluster.Uniform(1, 1)}}}, {played, {}}} {
		if _, err := Gantt(logs...); err == nil {
			t.Errorf("%d logs are drawn", len(logs))
		}
	}
}
