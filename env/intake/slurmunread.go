package intake

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/phrase"
)

// unreadJob is a running job of which it is not known which GPUs it holds, and why.
type unreadJob struct {
	*slurmJob
	why string
}

// addUnread returns an error if there are running jobs that cannot be read: a plan must not use their GPUs. With AllowUnread they
// hold all GPUs of their nodes that no other job holds.
func (k *slurmCluster) addUnread() error {
	if len(k.unread) > 0 && !k.AllowUnread {
		u := &k.unread[0]
		return fmt.Errorf("%s cannot be read, for example job %s: %s; want tres_alloc_str or gres_detail, and nodes, or "+
			"--allow-unread, with which such jobs hold all GPUs of their nodes",
			phrase.Count(len(k.unread), "running job"), u.title(), u.why)
	}
	for i := range k.unread {
		k.holdNodes(&k.unread[i])
	}
	return nil
}

func (k *slurmCluster) holdNodes(u *unreadJob) {
	example := u.title() + ": " + u.why
	var pieces []piece
	there, missing := false, false
	for _, host := range u.Nodes {
		id, known := k.ids[host]
		there, missing = there || known, missing || !k.known[host]
		if !known {
			continue
		}
		if n := k.nodes[id].gpus - k.held[id]; n > 0 {
			whole := cluster.Amount{GPUMilli: cluster.WholeGPU}
			pieces = append(pieces, piece{Piece: cluster.Piece{Server: id, Workers: int32(n), Amount: whole}})
		}
	}
	if missing {
		k.told.add("running jobs that cannot be read on nodes that are not in the input, left out", example)
	}
	switch {
	case len(u.Nodes) == 0:
		k.told.add("running jobs that cannot be read and have no nodes, left out: the GPUs that they hold count as free", example)
		return
	case !there && !missing:
		k.told.add("running jobs that cannot be read on nodes without GPUs, left out", example)
		return
	case !there:
		return
	case len(pieces) == 0:
		k.told.add("running jobs that cannot be read, left out: other jobs hold all GPUs of their nodes", example)
		return
	}
	k.told.add("running jobs that cannot be read: they hold all GPUs of their nodes that no other job holds", example)
	out := job{submit: time.Unix(u.Submit, 0), start: time.Unix(u.Start, 0)}
	out.JobSpec = cluster.JobSpec{
		Name: u.title(), User: u.User, Tenant: u.Account, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}
	k.place(out, pieces)
}

// addUse tells each server how many of its GPUs are in use, as far as gres_used says more than the jobs do: squeue shows users
// only their own jobs where PrivateData is set.
func (k *slurmCluster) addUse() {
	for i := range k.nodes {
		n, v := &k.nodes[i], &k.servers[i]
		used, _, at := n.Used.GPUs()
		usedTres, _, _ := n.UsedTres.GPUs()
		used = max(used, usedTres)
		shared := k.shared[i]
		for _, s := range n.Used.Shares() {
			if at = append(at, s.Indices...); s.Indices != nil {
				shared = int64(len(s.Indices))
			} else {
				shared = max(shared, n.gpusOf(s.Count))
			}
		}
		if used > k.held[i] || shared > k.shared[i] {
			k.told.add("nodes on which more GPUs are in use than the jobs in the input hold: the others are out of order in the snapshot",
				n.Name)
		}
		v.used, v.usedGPUs = int32(min(max(used, k.held[i])+shared, n.gpus)), at
	}
}
