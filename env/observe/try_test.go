package observe_test

import (
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
)

// felt is rule, except that jobs on the same server are coupled.
type felt struct{ rule }

func (felt) Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	for _, q := range p {
		dst = append(dst, s.Residents(q.Server)...)
	}
	return dst
}

// place returns an operation that starts a job. Each piece is a pair of a server and a number of workers.
func (g *stage) place(id int, pieces ...int) cluster.Proposal {
	op := cluster.Proposal{Kind: cluster.OpPlace, Job: cluster.JobID(id)}
	for i := 0; i < len(pieces); i += 2 {
		op.Placement = append(op.Placement, cluster.Piece{
			Server: cluster.ServerID(pieces[i]), Workers: int32(pieces[i+1]), Amount: g.jobs[id].Request,
		})
	}
	return op
}

func as(kind cluster.OpKind, op cluster.Proposal) cluster.Proposal {
	op.Kind = kind
	return op
}

func stop(id int) cluster.Proposal {
	return cluster.Proposal{Kind: cluster.OpPreempt, Job: cluster.JobID(id)}
}

func candidate(kind candidates.Kind, id int, ops ...cluster.Proposal) candidates.Candidate {
	return candidates.Candidate{Kind: kind, Job: cluster.JobID(id), Ops: ops}
}

func later(o candidates.Candidate, wait time.Duration) candidates.Candidate {
	o.Wait = wait
	return o
}

// tells is a number that the row of a candidate must contain.
type tells struct {
	candidate int
	name      string
	want      float32
}

func logCount(n float64) float32 { return float32(math.Log2(1+n) / 4) }
func third(x float64) float32    { return float32(math.Log2(x) / 3) }

// play is a cluster with candidates and the numbers that their rows must contain.
type play struct {
	says string
	make func() (*stage, []candidates.Candidate, []tells)
}

func try(t *testing.T, all []play) {
	for _, c := range all {
		t.Run(c.says, func(t *testing.T) {
			g, list, want := c.make()
			spec, o := encode(t, &observe.Standard{Window: g.window}, g.build(t), list...)
			for _, x := range want {
				got := value(t, &spec, o, "candidate", x.candidate, x.name)
				if math.Abs(float64(got-x.want)) > 1e-6 {
					t.Errorf("candidate %d (%v) %s is %v, want %v", x.candidate, list[x.candidate].Kind, x.name, got, x.want)
				}
			}
		})
	}
}
