package env

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
)

// Near reports whether the agent of server from sees the server to. Every agent sees its own server.
type Near func(s *cluster.View, from, to cluster.ServerID) bool

// SameRack is a Near by which agents see the servers of their rack. The agent of a server without a rack sees only its own.
func SameRack(s *cluster.View, from, to cluster.ServerID) bool {
	rack := s.Server(from).Rack
	return rack != 0 && rack == s.Server(to).Rack
}

// Within returns a Near by which agents see the servers whose ids differ from theirs by at most radius.
func Within(radius int) Near {
	return func(_ *cluster.View, from, to cluster.ServerID) bool {
		return max(from-to, to-from) <= cluster.ServerID(radius)
	}
}

// Visible limits what each agent observes (a Dec-POMDP): View fills the observation of one agent. Time steps stay complete, for a
// central critic and for wrappers that show or record episodes. Agents must decide by their views alone.
type Visible struct {
	Env
	near Near
}

// NewVisible returns e with a view for each agent. The time steps of e must have their Cluster set.
func NewVisible(e Env, near Near) *Visible { return &Visible{e, near} }

// Unwrap implements Wrapper.
func (v *Visible) Unwrap() Env { return v.Env }

// Sees reports whether agent sees the server of other. An agent always sees its own server.
func (v *Visible) Sees(ts *TimeStep, agent, other int) bool {
	return agent == other || v.near(ts.Cluster, cluster.ServerID(agent), cluster.ServerID(other))
}

// AgentView is what one agent sees of a time step. Its matrices have the same shape for all agents; rows that the agent does not
// see are 0. The caller owns it and may reuse it.
type AgentView struct {
	Self       []float32    // [len(Spec.Server)]: the row of its own server, part of Servers
	Servers    []float32    // [Agents][len(Spec.Server)]: the servers that it sees
	Jobs       []float32    // [Jobs][len(Spec.Job)]: jobs that wait, run on servers it sees, or that its candidates are about
	Candidates []float32    // [Candidates][len(Spec.Candidate)]: those that it may name
	Coalition  []game.Share // members of the candidates that it may name
	Global     []float32    // [len(Spec.Global)]: features of the cluster, which all agents see
	Mask       []bool       // [Candidates]: the actions that it may name
	Seen       []bool       // [Agents]: the servers that it sees
}

// View fills view with what agent sees of ts. ts must be the last time step of the environment.
func (v *Visible) View(ts *TimeStep, agent int, view *AgentView) {
	s := ts.Spec()
	view.Seen = resized(view.Seen, s.Agents)
	for i := range view.Seen {
		view.Seen[i] = v.Sees(ts, agent, i)
	}
	view.Mask = append(view.Mask[:0], ts.Legal(agent)...)
	view.Global = append(view.Global[:0], ts.Global...)
	view.Servers = rows(view.Servers, ts.Servers, len(s.Server), func(i int) bool { return view.Seen[i] })
	view.Self = view.Servers[agent*len(s.Server) : (agent+1)*len(s.Server)]
	view.Candidates = rows(view.Candidates, ts.Candidates, len(s.Candidate), func(n int) bool { return view.Mask[n] })
	view.Jobs = rows(view.Jobs, ts.Jobs, len(s.Job), func(k int) bool { return k < len(ts.Ids) && view.seesJob(ts, k) })
	view.Coalition = view.Coalition[:0]
	for _, m := range ts.Coalition {
		if view.Mask[m.Candidate] {
			view.Coalition = append(view.Coalition, m)
		}
	}
}

// seesJob reports whether the agent sees the k-th job.
func (view *AgentView) seesJob(ts *TimeStep, k int) bool {
	id := ts.Ids[k]
	if ts.Cluster.Phase(id) == cluster.Pending {
		return true
	}
	for n, row := range ts.Of {
		if int(row) == k && view.Mask[n+1] {
			return true
		}
	}
	return slices.ContainsFunc(ts.Cluster.Placement(id), func(p cluster.Piece) bool { return view.Seen[p.Server] })
}

// rows copies the rows for which seen returns true and sets the others to 0.
func rows(dst, src []float32, width int, seen func(i int) bool) []float32 {
	dst = resized(dst, len(src))
	clear(dst)
	for i := 0; width > 0 && i < len(src)/width; i++ {
		if seen(i) {
			copy(dst[i*width:(i+1)*width], src[i*width:])
		}
	}
	return dst
}

func resized[T any](buf []T, n int) []T { return slices.Grow(buf[:0], n)[:n] }
