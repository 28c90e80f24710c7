package review_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/review"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

// judge is a review.Judge made of functions, each nil for the base's own and for no interest.
type judge struct {
	begin  func(tx *cluster.Txn)
	choose func(tx *cluster.Txn, offers []review.Offer) (int, error)
}

func (j *judge) Reset(uint64) {}

func (j *judge) Listen(tx *cluster.Txn) {
	if j.begin != nil {
		j.begin(tx)
	}
}

func (j *judge) Choose(tx *cluster.Txn, offers []review.Offer) (int, error) {
	if j.choose == nil {
		return 0, nil
	}
	return j.choose(tx, offers)
}

// usual is the usual review of a baseline.
func usual(t rapid.TB, base string, change ...func(*review.Config)) review.Config {
	t.Helper()
	r, err := baselines.Reviewed(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&r.Config)
	}
	return r.Config
}

// begin opens an episode.
func begin(t rapid.TB, e *episode) *sim.Sim {
	t.Helper()
	s, err := sim.New(e.Config, e.jobs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// end plays an episode to its end, at which every job has finished.
func end(t rapid.TB, s *sim.Sim, p cluster.Scheduler) *sim.Log {
	t.Helper()
	if err := s.Run(context.Background(), p, 1); err != nil {
		t.Fatal(err)
	}
	if !s.Outcome().Terminated {
		t.Fatalf("outcome %+v, want every job finished", s.Outcome())
	}
	return s.Log()
}

// written is a log as it is written to a file, but for the scheduler's name.
func written(t rapid.TB, l *sim.Log) string {
	t.Helper()
	l.Scheduler = ""
	var b strings.Builder
	if err := l.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// portray shows all that can be seen of a state.
func portray(s *cluster.State) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Now(), s.Pending(), s.Running(), s.Offer(), s.Lent(), s.FreeTotal())
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		fmt.Fprintln(&b, s.Open(id), s.OnLoan(id), s.FreeGPUs(id), s.FreeCPU(id), s.FreeMem(id), s.GPUUse(id), s.Residents(id))
	}
	for id := range cluster.JobID(s.Jobs()) {
		if s.Phase(id) == cluster.Unsubmitted || s.Phase(id) == cluster.Done {
			continue
		}
		done, from, rate := s.Course(id)
		fmt.Fprintln(&b, id, s.Phase(id), s.Starts(id), s.Placement(id), s.GPUs(id), s.Attained(id), done, from, rate)
	}
	return b.String()
}

// diary is a scheduler that writes down what happens: the operations of every decision, the jobs that finish, and the calls
// at which nothing but the passing of time is told and nothing is done.
type diary struct {
	cluster.Scheduler
	lines []string
	calls bool // whether to note these calls, too
}

func (d *diary) Schedule(tx *cluster.Txn) error {
	woke := true
	for _, e := range tx.Events() {
		woke = woke && e.Kind == cluster.Woke
		if e.Kind == cluster.Finished {
			d.note(tx, "finish", e.Job)
		}
	}
	err := d.Scheduler.Schedule(tx)
	d.ops(tx)
	if woke && d.calls && len(tx.Ops()) == 0 {
		d.lines = append(d.lines, fmt.Sprintf("%v call", tx.Now()))
	}
	return err
}

// ops notes the operations of a transaction.
func (d *diary) ops(tx *cluster.Txn) {
	for _, o := range tx.Ops() {
		d.note(tx, o.Kind.String(), o.Job, where(o.Placement(), o.GPUs())...)
	}
}

func (d *diary) note(tx *cluster.Txn, what string, id cluster.JobID, rest ...string) {
	if what == "place" {
		what = "start"
	}
	line := fmt.Sprintf("%v %s %s", tx.Now(), what, tx.State().Spec(id).Name)
	d.lines = append(d.lines, strings.Join(append([]string{line}, rest...), " "))
}

// where writes every piece as its server and GPUs, and the share of these if it is not all.
func where(p cluster.Placement, gpus []int32) (pieces []string) {
	for _, q := range p {
		text := fmt.Sprintf("%d:%v", q.Server, gpus[:q.Workers])
		gpus = gpus[q.Workers:]
		if q.GPUMilli < cluster.WholeGPU {
			text += fmt.Sprintf("/%d", q.GPUMilli)
		}
		pieces = append(pieces, strings.ReplaceAll(text, " ", ","))
	}
	return pieces
}

// episode is a cluster and the jobs that come.
type episode struct {
	sim.Config
	jobs []trace.Job
}

func gang(name string, submit, work time.Duration, workers int32) trace.Job {
	return trace.Job{Work: work * time.Second, JobSpec: cluster.JobSpec{
		Name: name, Submit: submit * time.Second, Estimate: work * time.Second, Workers: workers,
		Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}}
}
