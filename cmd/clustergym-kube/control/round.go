package control

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/serve/decide"
)

// round is one decision on a view of the cluster, and the changes that follow from it.
type round struct {
	id        string
	view      *mirror.View
	before    cluster.State // the cluster as it is, with partly bound gangs completed, resizes undone and pending gangs submitted
	answers   []*decide.Answer
	held      []decide.Held
	starved   []cluster.JobID // gangs that have waited for longer than the starvation limit
	failed    []error         // of tiers that no policy decided
	wake      *time.Duration  // when the policy wants to be asked again, on the State's clock; nil if it has no wish
	rests     []rest
	waits     *waits
	returning map[string]bool // nodes that are being returned
	mirror    *mirror.Config
	changes
}

// mostTiers is the highest number of times that a round asks the policy. All lower priorities share the last tier.
const mostTiers = 8

// limits are the limits of a round.
type limits struct {
	stops     int
	waits     *waits // how long gangs have waited; nil if there is no starvation limit
	across    bool   // whether a gang may be stopped for one of the same priority in another namespace
	explain   bool
	record    bool                   // log the decisions
	spared    func(gang string) bool // whether a running gang may not be stopped; nil for none
	returning map[string]bool        // nodes that are being returned
	amounts   *amounts               // what pods may hold; nil: what they hold, or request if they wait
	mirror    *mirror.Config         // needed if amounts is not nil
}

// decideRound asks the policy about the waiting gangs, tier by tier, highest priority first. The decisions of a tier are final
// when it asks about the next, and a tier may not stop running gangs of higher priority, nor those of other namespaces of the
// same priority unless l.across is set. decideRound changes the view's State and
// writes nothing to the cluster.
func decideRound(v *mirror.View, d *decide.Decider, id string, l limits) *round {
	r := &round{id: id, view: v, waits: l.waits, returning: l.returning}
	r.rests = findRests(v)
	r.complete()
	if l.amounts == nil {
		l.amounts, l.mirror = new(amounts), new(mirror.Config)
	}
	r.mirror, r.undo = l.mirror, l.amounts.undo(v, l.mirror)
	v.State.CopyTo(&r.before)
	l.amounts.restore(v)
	bounds := decide.Limits{Stops: l.stops, Holds: func(job cluster.JobID) bool { return !l.waits.spent(name(r, job)) }}
	for n, tier := range tiers(v.Jobs) {
		for _, job := range tier {
			v.Submit(job)
			r.before.Submit(job, &v.Jobs[job].Spec)
		}
		bounds.Protected = func(job cluster.JobID) bool { // the last job of a tier has its lowest priority
			return int(job) >= len(v.Jobs) || len(tier) > 0 && v.Jobs[job].Priority > v.Jobs[tier[len(tier)-1]].Priority ||
				l.spared != nil && l.spared(v.Jobs[job].Spec.Name)
		}
		if !l.across {
			bounds.Yields = func(running, other cluster.JobID) bool {
				return max(int(running), int(other)) < len(v.Jobs) && yields(&v.Jobs[running], &v.Jobs[other])
			}
		}
		bounds.Amounts = func(job cluster.JobID, at cluster.ServerID) (least, most cluster.Amount) {
			if int(job) >= len(v.Jobs) { // a rest
				a := v.State.Spec(job).Request
				return a, a
			}
			now := r.before.Placement(job)
			if i := slices.IndexFunc(now, func(p cluster.Piece) bool { return p.Server == at }); i >= 0 {
				now = now[i : i+1]
			}
			return l.amounts.of(&v.Jobs[job], now)
		}
		bounds.Starving = l.waits.starving(&v.State.View)
		r.tier(d, fmt.Sprintf("%s.%d", id, n), &bounds, l)
	}
	r.compare(l.stops)
	r.overdue()
	r.surplus()
	for _, node := range r.giveBack {
		r.spare(node)
	}
	return r
}

// yields reports whether a running gang may be stopped, moved or shrunk for another gang: one of higher priority, or one of the
// same namespace. Anybody can state a short estimate, so the policy's order alone is no reason to stop gangs of other namespaces.
func yields(running, other *mirror.Job) bool {
	return running.Priority < other.Priority || running.Spec.Tenant == other.Spec.Tenant
}

// tiers groups the pending jobs by priority, highest first. It leaves out jobs that can never start: the policy does not see
// them, since they could only block others. If no job waits, tiers returns one empty tier, so that the policy still decides about
// the running jobs.
func tiers(jobs []mirror.Job) (all [][]cluster.JobID) {
	var waiting []cluster.JobID
	for i := range jobs {
		if !jobs[i].Running && jobs[i].Never == "" {
			waiting = append(waiting, cluster.JobID(i))
		}
	}
	slices.SortStableFunc(waiting, func(a, b cluster.JobID) int { return cmp.Compare(jobs[b].Priority, jobs[a].Priority) })
	for len(waiting) > 0 {
		n := slices.IndexFunc(waiting, func(id cluster.JobID) bool { return jobs[id].Priority != jobs[waiting[0]].Priority })
		if n < 0 || len(all) == mostTiers-1 {
			n = len(waiting)
		}
		all, waiting = append(all, waiting[:n]), waiting[n:]
	}
	if all == nil {
		all = [][]cluster.JobID{nil}
	}
	return all
}

// tier asks the policy to decide on the jobs submitted so far, and applies its proposals within the limits.
func (r *round) tier(d *decide.Decider, id string, bounds *decide.Limits, l limits) {
	s := r.view.State
	tx := s.Begin(nil)
	holding, kept := bounds.Rescue(tx)
	tx.End()
	r.starved = bounds.Starving // includes those of earlier tiers that still wait
	var snapshot bytes.Buffer
	if l.record {
		if err := s.WriteSnapshot(&snapshot); err != nil {
			r.failed = append(r.failed, fmt.Errorf("record decision %s: %w", id, err))
			l.record = false
		}
	}
	out, err := d.Decide(context.Background(), &s.View, id, l.explain || l.record)
	if err != nil {
		r.failed, r.held = append(r.failed, err), append(r.held, kept...)
		return
	}
	d.Record(&s.View, bytes.TrimSpace(snapshot.Bytes()), out.Answer, func(gang string) bool { return !r.view.Ended[gang] })
	r.answers = append(r.answers, out.Answer)
	if out.Wake != nil && (r.wake == nil || *out.Wake < *r.wake) {
		r.wake = out.Wake
	}
	tx = s.Begin(nil)
	r.held = append(r.held, bounds.Apply(tx, out.Proposals, holding)...)
	tx.End()
	for _, h := range kept { // unless the policy has started the job since, or r.held has an entry for it already
		if s.Phase(h.Job) == cluster.Pending && !slices.ContainsFunc(r.held, func(o decide.Held) bool { return o.Job == h.Job }) {
			r.held = append(r.held, h)
		}
	}
}
