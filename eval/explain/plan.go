package explain

import (
	"context"

	"github.com/clustergym/clustergym/env/cluster"
)

// Plan is a decision with names in place of ids, for people and programs: `clustergym plan --json` prints it. Reasons may be
// absent.
type Plan struct {
	Policy     string    `json:"policy"`
	Now        float64   `json:"now_s"`
	GPUs       int64     `json:"gpus"`             // of servers open to training jobs
	FreeBefore int64     `json:"free_gpus_before"` // free GPUs among those
	FreeAfter  int64     `json:"free_gpus_after"`
	Ops        []Op      `json:"ops"`     // in the order in which the policy proposes them
	Waiting    []Waiting `json:"waiting"` // jobs that wait after all operations, by submission
	Wake       *float64  `json:"wake_s,omitempty"`
}

// Op is one operation that the policy proposes.
type Op struct {
	Op        string  `json:"op"` // start, preempt, migrate, resize, loan or reclaim
	Job       string  `json:"job,omitempty"`
	Server    string  `json:"server,omitempty"` // of a loan or reclaim
	Workers   int32   `json:"workers,omitempty"`
	Placement []Piece `json:"placement,omitempty"`
	*Step             // nil if reasons are absent
}

// Piece is the part of a placement on one server.
type Piece struct {
	Server  string  `json:"server"`
	Workers int32   `json:"workers"`
	GPUs    []int32 `json:"gpus"`
	Left    int32   `json:"free_gpus_left"` // free GPUs of the server after all operations
}

// Waiting is a job that waits after all operations.
type Waiting struct {
	Job     string `json:"job"`
	Workers int32  `json:"workers"`
	*Wait          // nil if reasons are absent
}

// Plan explains the operations that a policy proposes in a transaction on the state of the facts, and replaces ids by names. The
// transaction must be open; the plan keeps nothing of it. Plan returns the error of Facts.Decision.
func (f *Facts) Plan(ctx context.Context, policy string, tx *cluster.Txn) (*Plan, *Decision, error) {
	why, err := f.Decision(ctx, tx.Ops())
	if err != nil {
		return nil, nil, err
	}
	p := Bare(policy, &f.before.View, tx)
	for i := range p.Ops {
		p.Ops[i].Step = &why.Steps[i]
	}
	for i := range p.Waiting {
		p.Waiting[i].Wait = &why.Waiting[i]
	}
	return p, why, nil
}

// Bare is Facts.Plan without reasons, in time linear in the size of the state. was is the state before the transaction.
func Bare(policy string, was *cluster.View, tx *cluster.Txn) *Plan {
	s, ops := tx.View(), tx.Ops()
	p := &Plan{
		Policy: policy, Now: was.Now().Seconds(), FreeBefore: was.FreeTotal(), FreeAfter: s.FreeTotal(), Ops: []Op{},
		Waiting: []Waiting{},
	}
	for i := range was.Servers() {
		if id := cluster.ServerID(i); was.Open(id) {
			p.GPUs += int64(was.Server(id).GPUs)
		}
	}
	for i := range ops {
		p.Ops = append(p.Ops, named(s, &ops[i]))
	}
	for _, id := range bySubmission(s, s.Pending()) {
		spec := s.Spec(id)
		p.Waiting = append(p.Waiting, Waiting{Job: spec.Name, Workers: spec.Workers})
	}
	if at, ok := tx.Wake(); ok {
		seconds := at.Seconds()
		p.Wake = &seconds
	}
	return p
}

func named(s *cluster.View, o *cluster.Op) Op {
	op := Op{Op: o.Kind.String()}
	switch o.Kind {
	case cluster.OpLoan, cluster.OpReclaim:
		op.Server = s.Server(o.Server).Name
		return op
	case cluster.OpPlace:
		op.Op = "start"
	}
	op.Job = s.Spec(o.Job).Name
	gpus := o.GPUs()
	for _, p := range o.Placement() {
		op.Workers += p.Workers
		op.Placement = append(op.Placement, Piece{
			s.Server(p.Server).Name, p.Workers, append([]int32{}, gpus[:p.Workers]...), s.FreeGPUs(p.Server),
		})
		gpus = gpus[p.Workers:]
	}
	return op
}
