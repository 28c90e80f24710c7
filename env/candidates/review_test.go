package candidates_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// judge is a candidates.Judge made of functions. If begin is nil it ignores Observe; if choose is nil it takes the base's own
// candidate.
type judge struct {
	begin  func(tx *cluster.Txn)
	choose func(tx *cluster.Txn, list []candidates.Candidate) (int, error)
}

func (j *judge) Reset(uint64) {}

func (j *judge) Observe(tx *cluster.Txn) {
	if j.begin != nil {
		j.begin(tx)
	}
}

func (j *judge) Choose(tx *cluster.Txn, list []candidates.Candidate) (int, error) {
	if j.choose == nil {
		return 0, nil
	}
	return j.choose(tx, list)
}

// bases returns the names of all baselines, without and with their suffixes.
func bases() (names []string) {
	for _, b := range all.Table().All() {
		names = append(names, b.Name, b.Name+baselines.LoanSuffix)
		if b.Orders() {
			names = append(names, b.Name+baselines.MenuSuffix, b.Name+baselines.MenuSuffix+baselines.LoanSuffix)
		}
	}
	return names
}

// usual returns the usual configuration for reviewing a baseline.
func usual(t rapid.TB, base string, change ...func(*candidates.Config)) candidates.Config {
	t.Helper()
	r := must.Get(all.Table().Reviewed(base))(t)
	for _, f := range change {
		f(&r.Config)
	}
	return r.Config
}

// diary is a scheduler that records what happens: the operations of every decision, the jobs that finish, and, if calls is true,
// the decisions without events and without operations.
type diary struct {
	cluster.Scheduler
	lines []string
	calls bool // whether to record decisions without events and operations, too
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

// ops records the operations of a transaction.
func (d *diary) ops(tx *cluster.Txn) {
	for _, o := range tx.Ops() {
		d.note(tx, o.Kind.String(), o.Job, where(o.Placement(), o.GPUs())...)
	}
}

func (d *diary) note(tx *cluster.Txn, what string, id cluster.JobID, rest ...string) {
	if what == "place" {
		what = "start"
	}
	line := fmt.Sprintf("%v %s %s", tx.Now(), what, tx.View().Spec(id).Name)
	d.lines = append(d.lines, strings.Join(append([]string{line}, rest...), " "))
}

// where returns the server and the GPUs of every piece as text, with the share if it is not a whole GPU.
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

func gang(name string, submit, work time.Duration, workers int32) trace.Job {
	return trace.Job{Work: work * time.Second, JobSpec: cluster.JobSpec{
		Name: name, Submit: submit * time.Second, Estimate: work * time.Second, Workers: workers,
		Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}}
}
