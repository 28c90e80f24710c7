package decide

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// cut returns the proposal with amounts within the limits. It does not change the argument.
func (l *Limits) cut(p *cluster.Proposal) *cluster.Proposal {
	if l.Amounts == nil || len(p.Placement) == 0 {
		return p
	}
	out := *p
	out.Placement = slices.Clone(p.Placement)
	for i := range out.Placement {
		least, most := l.Amounts(p.Job, out.Placement[i].Server)
		a := &out.Placement[i].Amount
		a.GPUMilli = min(max(a.GPUMilli, least.GPUMilli), most.GPUMilli)
		a.CPUMilli = min(max(a.CPUMilli, least.CPUMilli), most.CPUMilli)
		a.MemMiB = min(max(a.MemMiB, least.MemMiB), most.MemMiB)
	}
	return &out
}

// Reshape returns the placement is with the amounts of the placement was on the servers that both use.
func Reshape(was, is cluster.Placement) cluster.Placement {
	out := slices.Clone(is)
	for i := range out {
		if at := onServer(was, out[i].Server); at >= 0 {
			out[i].Amount = was[at].Amount
		}
	}
	return out
}

// less reports whether workers hold less of anything in the placement is than in the placement was on the same server.
func less(was, is cluster.Placement) bool {
	return slices.ContainsFunc(is, func(p cluster.Piece) bool {
		at := onServer(was, p.Server)
		return at >= 0 && (p.GPUMilli < was[at].GPUMilli || p.CPUMilli < was[at].CPUMilli || p.MemMiB < was[at].MemMiB)
	})
}

// onServer returns the index of the piece on a server, or -1.
func onServer(p cluster.Placement, id cluster.ServerID) int {
	return slices.IndexFunc(p, func(q cluster.Piece) bool { return q.Server == id })
}
