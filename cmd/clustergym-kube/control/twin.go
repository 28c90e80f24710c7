package control

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/serve/decide"
)

// twin is the cluster as it would be if the policy's decisions were carried out. It begins as the cluster is, has its nodes, and
// gets the gangs that arrive there. A gang that has ended in the cluster runs in the twin as long as it did there. Until it has,
// it runs as long as it is estimated to, and without an estimate until it has ended in the cluster. Stops keep a gang's work.
type twin struct {
	gangs map[string]*ghost
	begun bool
	at    time.Duration   // of the last round, on the State's clock
	stops []time.Duration // when gangs were stopped, within an hour
	nodes []string
}

// ghost is a gang in the twin.
type ghost struct {
	spec     cluster.JobSpec
	priority int32
	real     time.Duration // how long it has run in the cluster
	total    time.Duration // how long it runs in all; cluster.Never if nobody knows
	done     time.Duration // how long it has run in the twin
	runs     bool          // it ran in the cluster when it was last seen
	seen     bool          // it is in the view
	ended    bool          // in the cluster
	over     bool          // it has ended in the twin, but not in the cluster
	on       []share       // what it holds; nil if it waits
	from     time.Duration // since when
}

// share is what a gang holds on a node.
type share struct {
	node    string
	workers int32
	amount  cluster.Amount
}

// twinLimits are the limits of a round in the twin.
type twinLimits struct {
	stops  int // in an hour
	across bool
	away   func(name string) bool
}

// round lets time pass in the twin until the view's, and lets the policy decide. It returns the State after the decisions. real
// is the view's State with the waiting gangs.
func (t *twin) round(
	ctx context.Context, v *mirror.View, real *cluster.View, d *decide.Decider, l twinLimits,
) (*cluster.State, error) {
	last := t.at
	t.pass(real.Now())
	t.learn(v, real, max(real.Now()-last, 0), l.away)
	t.begun = true
	s, all, err := t.build(real)
	if err != nil {
		return nil, err
	}
	err = t.decide(ctx, s, all, d, l)
	for i, g := range all {
		t.keep(s, cluster.JobID(i), g)
	}
	return s, err
}

// pass lets gangs run until now.
func (t *twin) pass(now time.Duration) {
	for _, g := range t.gangs {
		if g.on != nil {
			g.done += max(now-t.at, 0) // somebody may set the clock back
			g.from = min(g.from, now)
		}
	}
	t.at = now
	t.stops = slices.DeleteFunc(t.stops, func(at time.Duration) bool { return at <= now-hour })
}

// learn takes over what the cluster tells of gangs, and ends those that have run for as long as they do. What ran in the last
// round, the time d ago, and is gone counts as having run until now, as it costs.
func (t *twin) learn(v *mirror.View, real *cluster.View, d time.Duration, away func(string) bool) {
	for _, g := range t.gangs {
		g.seen = false
	}
	for i := range v.Jobs {
		id, j := cluster.JobID(i), &v.Jobs[i]
		g := t.gangs[j.Spec.Name]
		switch {
		case j.Never != "":
			continue
		case g == nil:
			g = &ghost{spec: j.Spec, total: cluster.Never}
			t.gangs[j.Spec.Name] = g
			if !t.begun && j.Running {
				g.done, g.from = real.Progress(id), real.Now()-real.Progress(id)
				g.on = shares(real, id)
			}
		}
		submit := min(g.spec.Submit, j.Spec.Submit) // pods that were created again do not make a gang younger
		g.spec, g.priority, g.seen, g.ended = j.Spec, j.Priority, true, false
		g.spec.Submit = submit
		g.real, g.runs = max(g.real, real.Progress(id)), j.Running
		if g.total = cluster.Never; real.Knows(id) {
			g.total = objectives.Believed(real, id)
		}
	}
	for name, g := range t.gangs {
		if g.runs && !g.seen {
			g.real, g.runs = g.real+d, false
		}
		if g.ended = g.ended || !g.seen && !away(name); g.ended {
			g.total = g.real
		}
		if g.over = g.over || g.done >= g.total; g.over {
			g.on = nil
		}
		if g.ended && (g.over || g.real == 0) { // one that never ran was deleted
			delete(t.gangs, name)
		}
	}
}

// shares returns what a gang holds, by names of nodes.
func shares(s *cluster.View, id cluster.JobID) (all []share) {
	for _, p := range s.Placement(id) {
		all = append(all, share{s.Server(p.Server).Name, p.Workers, p.Amount})
	}
	return all
}

// build returns the State of the twin, in which only running gangs are submitted, and the gang of each id.
func (t *twin) build(real *cluster.View) (*cluster.State, []*ghost, error) {
	spec, at := cluster.Spec{}, map[string]cluster.ServerID{}
	var nodes []string
	for i := range real.Servers() {
		id := cluster.ServerID(i)
		server := *real.Server(id)
		if server.Pool == cluster.Inference && !real.OnLoan(id) {
			server.GPUs = 0
		}
		server.Pool = cluster.Training // the twin has the nodes on loan that the cluster has
		spec.Servers = append(spec.Servers, server)
		at[server.Name], nodes = id, append(nodes, server.Name)
	}
	same := slices.Equal(nodes, t.nodes)
	t.nodes = nodes
	quotas := map[string]int64{}
	for _, list := range [2][]cluster.JobID{real.Pending(), real.Running()} {
		for _, id := range list {
			if q := real.Quota(id); q >= 0 {
				quotas[real.Spec(id).Tenant] = q
			}
		}
	}
	for _, tenant := range slices.Sorted(maps.Keys(quotas)) {
		spec.Quotas = append(spec.Quotas, cluster.Quota{Tenant: tenant, GPUs: int32(quotas[tenant] / cluster.WholeGPU)})
	}
	var all []*ghost
	for _, g := range t.gangs {
		if !g.over {
			if all = append(all, g); !g.seen && !same {
				g.spec.Where = nil // it names servers by their numbers
			}
		}
	}
	slices.SortFunc(all, func(a, b *ghost) int {
		return cmp.Or(cmp.Compare(a.spec.Submit, b.spec.Submit), strings.Compare(a.spec.Name, b.spec.Name))
	})
	s, err := cluster.NewState(spec, len(all))
	if err != nil {
		return nil, nil, err
	}
	s.SetClock(real.Clock())
	t.restore(s, all, at)
	s.Advance(real.Now())
	return s, all, nil
}

// restore adds the running gangs, in the order of their starts. One that has no room any more, since its node is gone or smaller,
// waits.
func (t *twin) restore(s *cluster.State, all []*ghost, at map[string]cluster.ServerID) {
	var running []cluster.JobID
	for i, g := range all {
		if g.on != nil {
			running = append(running, cluster.JobID(i))
		}
	}
	slices.SortStableFunc(running, func(a, b cluster.JobID) int { return cmp.Compare(all[a].from, all[b].from) })
	used := make([]int32, s.Servers())
	for _, id := range running {
		g := all[id]
		var placement cluster.Placement
		var gpus []int32
		next := slices.Clone(used)
		for _, x := range g.on {
			server, there := at[x.node]
			if !there {
				placement = nil
				break
			}
			placement = append(placement, cluster.Piece{Server: server, Workers: x.workers, Amount: x.amount})
			for range x.workers {
				gpus = append(gpus, next[server])
				next[server]++
			}
		}
		slices.SortFunc(placement, func(a, b cluster.Piece) int { return cmp.Compare(a.Server, b.Server) })
		s.Advance(g.from)
		s.Submit(id, &g.spec)
		if len(placement) < len(g.on) || s.Restore(id, placement, gpus) != nil {
			g.on = nil
			continue
		}
		used = next
		s.SetProgress(id, max(g.done-(t.at-g.from), 0), g.from, 1)
	}
}

// decide lets the policy decide in the open, tier by tier, as a round does, within the limit on stops.
func (t *twin) decide(ctx context.Context, s *cluster.State, all []*ghost, d *decide.Decider, l twinLimits) error {
	jobs := make([]mirror.Job, len(all))
	for i, g := range all {
		jobs[i] = mirror.Job{Spec: g.spec, Priority: g.priority, Running: g.on != nil}
	}
	left := max(l.stops-len(t.stops), 0)
	bounds := decide.Limits{Stops: left}
	if !l.across {
		bounds.Yields = func(running, other cluster.JobID) bool { return yields(&jobs[running], &jobs[other]) }
	}
	var failed []error
	for _, tier := range tiers(jobs) {
		for _, id := range tier {
			if s.Phase(id) == cluster.Unsubmitted { // else it has just lost its place
				s.Submit(id, &all[id].spec)
				s.SetProgress(id, all[id].done, s.Now(), 1)
			}
		}
		bounds.Protected = func(job cluster.JobID) bool {
			return len(tier) > 0 && jobs[job].Priority > jobs[tier[len(tier)-1]].Priority
		}
		proposals, err := d.Would(ctx, &s.View)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		tx := s.Begin(nil)
		bounds.Apply(tx, proposals, nil)
		tx.End()
	}
	for range left - bounds.Stops {
		t.stops = append(t.stops, s.Now())
	}
	return errors.Join(failed...)
}

// keep remembers what a gang holds after the decisions.
func (t *twin) keep(s *cluster.State, id cluster.JobID, g *ghost) {
	if s.Phase(id) != cluster.Running {
		g.on = nil
		return
	}
	if g.on == nil {
		g.from = s.Now()
	}
	g.on = shares(&s.View, id)
}
