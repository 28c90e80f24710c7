package whatif

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// drawState draws a small busy cluster after two hours: servers of two types and both pools, some of them failed, with or without
// CPU limits, with a quota, elastic jobs and GPU shares. Some of the jobs run and have done part of their work.
func drawState(t *rapid.T) *cluster.State {
	spec := cluster.Spec{PerGPU: rapid.SampledFrom([]int32{0, 2}).Draw(t, "jobs a GPU")}
	for i := range rapid.IntRange(1, 4).Draw(t, "servers") {
		v := cluster.ServerSpec{
			Name: fmt.Sprintf("s%d", i), GPUs: rapid.Int32Range(0, 4).Draw(t, "GPUs"), MemMiB: cluster.Unlimited,
			CPUMilli: rapid.SampledFrom([]int64{cluster.Unlimited, 6}).Draw(t, "CPU"),
			GPUType:  rapid.SampledFrom([]string{"A", "A", "B"}).Draw(t, "type"),
			Rack:     rapid.Int32Range(0, 2).Draw(t, "rack"),
		}
		if rapid.IntRange(0, 3).Draw(t, "pool") == 0 {
			v.Pool = cluster.Inference
		}
		spec.Servers = append(spec.Servers, v)
	}
	if rapid.Bool().Draw(t, "quota") {
		spec.Quotas = []cluster.Quota{{Tenant: "t", GPUs: rapid.Int32Range(0, 5).Draw(t, "quota of t")}}
	}
	n := rapid.IntRange(0, 8).Draw(t, "jobs")
	s := must.Get(cluster.NewState(spec, n))(t)
	for i, v := range spec.Servers {
		id := cluster.ServerID(i)
		switch rapid.IntRange(0, 9).Draw(t, "server state") {
		case 0:
			s.Fail(id, -1, nil)
		case 1:
			if v.GPUs > 0 {
				s.Fail(id, rapid.Int32Range(0, v.GPUs-1).Draw(t, "GPU out of order"), nil)
			}
		case 2, 3, 4:
			tx := s.Begin(nil)
			_ = tx.Loan(id) // a training server cannot be lent
			tx.End()
		}
	}
	if rapid.Bool().Draw(t, "offer") {
		s.SetOffer(rapid.Int32Range(0, 3).Draw(t, "servers offered"), 3*time.Hour)
	}
	for i := range n {
		id := cluster.JobID(i)
		s.Advance(s.Now() + time.Duration(rapid.IntRange(0, 900).Draw(t, "gap"))*time.Second)
		j := &cluster.JobSpec{
			Name: fmt.Sprintf("j%d", i), Submit: s.Now(), Workers: rapid.Int32Range(1, 4).Draw(t, "workers"),
			Request:  cluster.Amount{GPUMilli: rapid.SampledFrom([]int32{1000, 1000, 1000, 500}).Draw(t, "share")},
			Estimate: time.Duration(rapid.IntRange(0, 5000).Draw(t, "estimate")) * time.Second,
			Tenant:   rapid.SampledFrom([]string{"", "t"}).Draw(t, "tenant"),
			GPUType:  rapid.SampledFrom([]string{"", "", "A", "B"}).Draw(t, "types that will do"),
		}
		j.Request.CPUMilli = rapid.Int32Range(0, 2).Draw(t, "CPU a worker")
		if rapid.Bool().Draw(t, "elastic") {
			j.MinWorkers, j.MaxWorkers = 1, j.Workers+1
		}
		s.Submit(id, j)
		tx := s.Begin(nil)
		if p, ok := s.BestFit(id, nil); ok && rapid.Bool().Draw(t, "runs") {
			must.Do(t, tx.Place(id, p))
		}
		tx.End()
	}
	s.Advance(max(2*time.Hour, s.Now()))
	return s
}

var drawn = rapid.SampledFrom([]string{"fifo", "sjfskip", "srtf", "las", "fifo+loan"})

// TestNoChangeIsNoDifference checks that a play without a change has no difference, that equal plays give equal bytes, and that a
// play does not change the snapshot.
func TestNoChangeIsNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		var before, after bytes.Buffer
		must.Do(t, s.WriteSnapshot(&before))
		policy := named(drawn.Draw(t, "policy"))
		model := must.Get(physics.Parse(rapid.SampledFrom([]string{"ideal", "inter-server(0.5)"}).Draw(t, "physics")))(t)
		o := Options{
			Assume: time.Hour, Physics: model, Most: 20000,
			Restart: time.Duration(rapid.IntRange(0, 60).Draw(t, "restart")) * time.Second,
		}
		var texts []string
		var plays []*Outcome
		for range 2 {
			out := must.Get(Play(t.Context(), &s.View, policy, Change{}, o))(t)
			b := must.Get(json.Marshal(out))(t)
			plays, texts = append(plays, out), append(texts, string(b))
			check(t, s, out)
		}
		if texts[0] != texts[1] {
			t.Fatalf("the same play gives\n%s\nand\n%s", texts[0], texts[1])
		}
		r := Compare(plays[0], plays[1])
		if *r.Difference != (Totals{}) {
			t.Fatalf("difference %+v without a change", *r.Difference)
		}
		for _, e := range r.Effects {
			if !e.same() || e.Earlier != nil && *e.Earlier != 0 {
				t.Fatalf("effect %+v without a change", e)
			}
		}
		must.Do(t, s.WriteSnapshot(&after))
		if before.String() != after.String() {
			t.Fatalf("the snapshot has changed:\n%s\n%s", before.String(), after.String())
		}
	})
}

// check checks what must hold for every outcome.
func check(t *rapid.T, s *cluster.State, o *Outcome) {
	if len(o.Jobs) != len(s.Pending())+len(s.Running()) {
		t.Fatalf("%d jobs, want those that wait and run", len(o.Jobs))
	}
	last := time.Duration(0)
	for i := range o.Jobs {
		j := &o.Jobs[i]
		if j.Finished == (j.Never != "") || j.Finished && (!j.Started || j.Finish < j.Start || j.Wait > j.Finish) {
			t.Fatalf("job %+v", *j)
		}
		if j.Finished && !j.Ran && j.Stops == 0 && j.Wait != j.Start {
			t.Fatalf("job %s waits for %v and starts at %v", j.Name, j.Wait, j.Start)
		}
		if j.Finished {
			last = max(last, j.Finish)
		}
	}
	if o.Makespan != last.Seconds() || o.Held > o.Open*1.000001 {
		t.Fatalf("makespan %v, want %v; %v of %v GPU-hours held", o.Makespan, last, o.Held, o.Open)
	}
}

// TestPlaysBeginAsThePolicyDecides checks that, at the time of the snapshot, a play starts and stops exactly the jobs that the
// policy starts and stops on the snapshot itself. All jobs can run.
func TestPlaysBeginAsThePolicyDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		for i := range s.Jobs() {
			if s.Spec(cluster.JobID(i)).Estimate == 0 {
				t.Skip("no estimate")
			}
		}
		policy := named(rapid.SampledFrom([]string{"fifo", "sjf", "sjfskip", "sjfhold", "srtf", "fjf", "las"}).Draw(t, "policy"))
		out := must.Get(Play(t.Context(), &s.View, policy, Change{}, Options{}))(t)
		var played, asked []string
		for i := range out.Jobs {
			if j := &out.Jobs[i]; j.Never == neverFits {
				t.Skip("left out")
			} else if j.Started && j.Start == 0 {
				played = append(played, j.Name)
			}
		}
		if owed, _ := s.Owed(); owed > 0 {
			t.Skip("servers are taken back")
		}
		for _, a := range out.Assumed {
			if a.Why == shrunk {
				t.Skip("a job asks for fewer workers")
			}
		}
		sched := must.Get(policy.New())(t)
		must.Do(t, sched.Reset(0))
		tx := s.Begin(s.Introduce())
		must.Do(t, sched.Schedule(tx))
		for i := range s.Jobs() {
			if id := cluster.JobID(i); s.Phase(id) == cluster.Running {
				asked = append(asked, s.Spec(id).Name)
			}
		}
		if strings.Join(played, " ") != strings.Join(asked, " ") {
			t.Fatalf("%s: %v run at first in the play, %v if it is asked", policy.Name, played, asked)
		}
	})
}

// TestPlaysBeginWithTheSnapshotAsItIs checks that the policy first sees the jobs exactly as in the snapshot, including their
// GPUs, even if servers are added.
func TestPlaysBeginWithTheSnapshotAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, change := drawState(t), Change{}
		if rapid.Bool().Draw(t, "more servers") {
			change.Add = []Servers{{2, 5, "C"}}
		}
		eyes := &spy{}
		out, err := Play(t.Context(), &s.View, policy.Policy{Name: "spy", New: func() (cluster.Scheduler, error) { return eyes, nil }}, change,
			Options{Assume: time.Hour, Most: 1})
		must.Do(t, err)
		for i := range out.Jobs {
			id := out.Jobs[i].ID
			if got, want := eyes.saw[id], describe(&s.View, id); out.Jobs[i].Never != neverFits && got != want {
				t.Fatalf("job %s: %s, in the snapshot %s", out.Jobs[i].Name, got, want)
			}
		}
	})
}

// spy is a scheduler that does nothing and records the first state that it sees.
type spy struct {
	saw     map[cluster.JobID]string
	profile string
}

func (*spy) Name() string       { return "spy" }
func (*spy) Reset(uint64) error { return nil }

func (y *spy) Schedule(tx *cluster.Txn) error {
	if s := tx.View(); y.saw == nil {
		y.saw, y.profile = map[cluster.JobID]string{}, s.Profile().(physics.Model).Name()
		for _, e := range tx.Events() {
			y.saw[e.Job] = describe(s, e.Job)
		}
	}
	return nil
}

func describe(s *cluster.View, id cluster.JobID) string {
	return fmt.Sprint(s.Now(), s.Phase(id), s.Spec(id).Submit, s.Placement(id), s.GPUs(id), s.Progress(id), s.Attained(id), s.Starts(id), s.Fresh(id))
}

// FuzzWhatIf checks that any valid snapshot can be played or gives an error, without a panic.
func FuzzWhatIf(f *testing.F) {
	add := func(servers, jobs, rules string) {
		f.Add([]byte(fmt.Sprintf(`{"version": 1, "now_s": 1000, "servers": [%s], "jobs": [%s]%s}`, servers, jobs, rules)), byte(0))
	}
	one := server("a", 2, "")
	add(one, runs("x", "a", 1, 60, "")+","+waits("c", 2, 30, ""), "")
	add(server("a", 2, `, "out_of_order": [1], "rack": 1, "gpu_type": "A", "gpu_mem_mib": 10`),
		runs("x", "a", 1, -60, `, "speed": 1e-300, "gpu_milli": 500`)+","+waits("c", 2, 3e9, `, "min_workers": 1, "tenant": "t"`),
		`, "per_gpu": 2, "quotas": [{"tenant": "t", "gpus": 1}]`)
	add(server("a", 1, `, "pool": "inference", "on_loan": true, "down": true`)+","+one, waits("c", 2, 30, `, "tensor": 2`),
		`, "offer": 0, "reclaim_by_s": 1020`)
	f.Add([]byte(`{"version": 1, "now_s": 3153600000, "servers": [`+one+`], "jobs": [{"id": "z", "submit_s": 0, "workers": 1,
		"state": "pending", "progress_s": 3153600000, "estimate_s": 1}]}`), byte(3))
	f.Add([]byte(`{"version": 1, "now_s": 0, "servers": [`+one+`], "jobs": [{"id": "z", "submit_s": 0, "workers": 1,
		"state": "pending", "estimate_s": 1}]}`), byte(2))
	f.Fuzz(func(t *testing.T, text []byte, how byte) {
		s, err := cluster.ReadSnapshot(bytes.NewReader(text))
		if err != nil || s.Servers() > 50 || s.Jobs() > 50 {
			return
		}
		policy := named([]string{"fifo", "srtf", "las", "sjfskip+loan"}[how%4])
		change := Change{}
		if how&4 != 0 {
			change.Add = []Servers{{2, 3, "A"}}
		}
		if how&8 != 0 {
			change.Remove = []string{s.Server(0).Name}
		}
		o := Options{Assume: time.Hour, Most: 2000}
		base, err := Play(t.Context(), &s.View, policy, Change{}, o)
		if err != nil {
			return
		}
		other, err := Play(t.Context(), &s.View, policy, change, o)
		if err != nil {
			return
		}
		must.Do(t, Compare(base, other).WriteText(new(bytes.Buffer), -1))
	})
}
