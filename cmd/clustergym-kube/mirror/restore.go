package mirror

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// restore creates the State: first the loans, then every running gang at the time of its start, so that the gang's progress and
// GPU time count from then.
func (b *builder) restore(quotas []cluster.Quota) error {
	spec := cluster.Spec{Servers: make([]cluster.ServerSpec, len(b.servers)), Quotas: quotas}
	for i := range b.servers {
		spec.Servers[i] = b.servers[i].spec
	}
	state, err := cluster.NewState(spec, len(b.view.Jobs)+b.view.rests())
	if err != nil {
		return err
	}
	b.view.State = state
	if err := b.lend(); err != nil {
		return err
	}
	var running []cluster.JobID
	for i := range b.view.Jobs {
		if b.view.Jobs[i].Running {
			running = append(running, cluster.JobID(i))
		}
	}
	gpus := b.indices(running)
	slices.SortStableFunc(running, func(x, y cluster.JobID) int { return cmp.Compare(b.restart(x), b.restart(y)) })
	for _, id := range running {
		job, p := &b.view.Jobs[id], &b.plans[id]
		placement, from := b.placement(job, p), b.restart(id)
		state.Advance(from)
		b.view.Submit(id)
		if err := state.Restore(id, placement, gpus[id]); err != nil {
			return fmt.Errorf("job %s: %w", job.Spec.Name, err)
		}
		ran := min(b.now.Sub(p.start), longest) // until now
		if done := ran - (b.now.Sub(b.Epoch) - from); done > 0 {
			state.SetProgress(id, done, from, 1)
		}
	}
	state.Advance(b.now.Sub(b.Epoch))
	return nil
}

// longestHeld is the most GPU time that a restored gang has, 73 GPU-years, so that no sum overflows.
const longestHeld = math.MaxInt64 / 4

// restart returns the time from which the State counts a gang as running: the gang's start, or later if the GPU time since would
// exceed longestHeld.
func (b *builder) restart(id cluster.JobID) time.Duration {
	gpus := int64(0)
	for _, q := range b.plans[id].pieces {
		gpus += int64(q.pods) * int64(b.view.Jobs[id].PodGPUs)
	}
	return max(b.since(b.plans[id].start), b.now.Sub(b.Epoch)-time.Duration(longestHeld/gpus))
}

// lend puts the servers on loan that are on loan in the cluster, and then sets what the inference pool offers now.
func (b *builder) lend() error {
	txn := b.view.State.Begin(nil)
	defer txn.End()
	for i := range b.servers {
		if b.servers[i].onLoan {
			if err := txn.Loan(cluster.ServerID(i)); err != nil {
				return err
			}
		}
	}
	b.view.State.SetOffer(max(b.Offer, 0), min(max(b.ReclaimBy.Sub(b.Epoch), 0), longest))
	return nil
}

// indices assigns GPU indices on every server to the running jobs, from 0 in the order of ids, because Kubernetes does not report
// which GPUs a pod has.
func (b *builder) indices(running []cluster.JobID) map[cluster.JobID][]int32 {
	next := make([]int32, len(b.servers))
	all := make(map[cluster.JobID][]int32, len(running))
	for _, id := range running {
		var gpus []int32
		for _, q := range b.plans[id].pieces {
			at := &next[b.ids[q.node]]
			for range q.pods * b.view.Jobs[id].PodGPUs {
				gpus = append(gpus, *at)
				*at++
			}
		}
		all[id] = gpus
	}
	return all
}

// placement returns the placement of a running gang. If it uses GPUs of several types, placement marks the job as Mixed.
func (b *builder) placement(job *Job, p *plan) cluster.Placement {
	placement := make(cluster.Placement, len(p.pieces))
	first := b.ids[p.pieces[0].node]
	for i, q := range p.pieces {
		id := b.ids[q.node]
		placement[i] = cluster.Piece{Server: id, Workers: q.pods * job.PodGPUs, Amount: q.amount}
		if b.servers[id].spec.GPUType != b.servers[first].spec.GPUType {
			job.Spec.Mixed = true
		}
	}
	return placement
}
