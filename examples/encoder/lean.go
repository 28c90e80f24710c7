package main

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
)

// Lean is an encoder that describes a server by one number, a job by three and a candidate by two, and the cluster as a whole by
// none. It describes only the jobs that candidates refer to.
type Lean struct{}

var _ observe.Encoder = Lean{}

// Spec implements observe.Encoder.
func (Lean) Spec() observe.Spec {
	return observe.Spec{
		Server: []observe.Feature{{Name: "free_gpus", Unit: "of its own", Max: 1}},
		Job: []observe.Feature{
			{Name: "length", Unit: "log of the estimate, 1 is 100 days", Max: 1},
			{Name: "width", Unit: "log2 of workers / 10", Max: 1},
			{Name: "age", Unit: "log of the time since submission, 1 is 100 days", Max: 1},
		},
		Candidate: []observe.Feature{
			{Name: "starts", Unit: "flag: it starts a job", Max: 1},
			{Name: "stops", Unit: "flag: it stops a job", Max: 1},
		},
	}
}

// Encode implements observe.Encoder. Its result depends only on the state and the list.
func (Lean) Encode(tx *cluster.Txn, list []candidates.Candidate, o *observe.Observation) error {
	s := tx.View()
	o.Servers, o.Jobs, o.Global, o.Candidates = o.Servers[:0], o.Jobs[:0], o.Global[:0], o.Candidates[:0]
	o.Ids, o.Of = o.Ids[:0], o.Of[:0]
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		o.Servers = append(o.Servers, float32(s.FreeGPUs(id))/float32(max(s.Server(id).GPUs, 1)))
	}
	for i := range list {
		c := &list[i]
		o.Of = append(o.Of, row(s, c.Job, o))
		o.Candidates = append(o.Candidates, flag(c, cluster.OpPlace), flag(c, cluster.OpPreempt))
	}
	return nil
}

// row returns the index of the row of a job. It adds the row if the job has none, and returns -1 if there is no job.
func row(s *cluster.View, id cluster.JobID, o *observe.Observation) int32 {
	if id < 0 {
		return -1
	}
	if k := slices.Index(o.Ids, id); k >= 0 {
		return int32(k)
	}
	job := s.Spec(id)
	width := float32(min(math.Log2(float64(job.Workers))/10, 1))
	o.Ids = append(o.Ids, id)
	o.Jobs = append(o.Jobs, logTime(job.Estimate), width, logTime(s.Now()-job.Submit))
	return int32(len(o.Ids) - 1)
}

// flag returns 1 if the candidate has an operation of that kind, otherwise 0.
func flag(c *candidates.Candidate, kind cluster.OpKind) float32 {
	if slices.ContainsFunc(c.Ops, func(o cluster.Proposal) bool { return o.Kind == kind }) {
		return 1
	}
	return 0
}

// logTime maps a duration to [0, 1], 100 days to 1.
func logTime(d time.Duration) float32 {
	return float32(min(math.Log1p(d.Minutes())/math.Log1p(100*24*60), 1))
}
