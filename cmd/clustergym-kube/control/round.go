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

// round is one decision on a view of the cluster, and what it comes to.
type round struct {
	id        string
	view      *mirror.View
	before    cluster.State // as it is, with gangs that are bound in part completed, and every pending one submitted
	answers   []*decide.Answer
	held      []decide.Held
	starved   []cluster.JobID // that wait for longer than they should
	failed    []error         // tiers that nobody decided
	wake      *time.Duration  // when the policy wants to be asked again, on the State's clock; nil for no wish
	rests     []rest
	waits     *waits
	returning map[string]bool // nodes that are being returned
	changes
}

// mostTiers bounds how many times a round asks the policy. Lower priorities share the last.
const mostTiers = 8

// limits are what a round may do.
type limits struct {
	stops     int
	waits     *waits // how long gangs have waited; nil where none starves
	explain   bool
	record    bool                   // decisions go to the log
	spared    func(gang string) bool // running gangs that are not to be stopped; nil for none
	returning map[string]bool        // nodes that are being returned
}

// decideRound asks the policy about the waiting gangs, those of higher priority first. What a tier does is settled when the next
// is asked, and running gangs of higher priority are not for it to stop. It changes the view's State and writes nothing.
func decideRound(v *mirror.View, d *decide.Decider, id string, l limits) *round {
	r := &round{id: id, view: v, waits: l.waits, returning: l.returning}
	r.rests = findRests(v)
	r.complete()
	v.State.CopyTo(&r.before)
	bounds := decide.Limits{Stops: l.stops, Holds: func(job cluster.JobID) bool { return !l.waits.spent(name(r, job)) }}
	for n, tier := range tiers(v.Jobs) {
		for _, job := range tier {
			v.Submit(job)
			r.before.Submit(job, &v.Jobs[job].Spec)
		}
		bounds.Protected = func(job cluster.JobID) bool { // the last of a tier has its lowest priority
			return int(job) >= len(v.Jobs) || len(tier) > 0 && v.Jobs[job].Priority > v.Jobs[tier[len(tier)-1]].Priority ||
				l.spared != nil && l.spared(v.Jobs[job].Spec.Name)
		}
		bounds.Starving = l.waits.starving(&v.State.View)
		r.tier(d, fmt.Sprintf("%s.%d", id, n), &bounds, l)
	}
	r.compare(l.stops)
	r.overdue()
	r.surplus()
	return r
}

// tiers groups the pending jobs that could ever start by priority, highest first; the policy does not hear of the others, which
// could only be in the way. If nothing waits there is one empty tier for what runs.
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

// tier has the policy decide on what has been submitted so far.
func (r *round) tier(d *decide.Decider, id string, bounds *decide.Limits, l limits) {
	s := r.view.State
	tx := s.Begin(nil)
	holding, kept := bounds.Rescue(tx)
	tx.End()
	r.starved = bounds.Starving // of the tiers before, those that still wait are among them
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
	if l.record {
		d.Record(bytes.TrimSpace(snapshot.Bytes()), out.Answer)
	}
	r.answers = append(r.answers, out.Answer)
	if out.Wake != nil && (r.wake == nil || *out.Wake < *r.wake) {
		r.wake = out.Wake
	}
	tx = s.Begin(nil)
	r.held = append(r.held, bounds.Apply(tx, out.Proposals, holding)...)
	tx.End()
	for _, h := range kept { // unless the policy has started it since, or was told the same
		if s.Phase(h.Job) == cluster.Pending && !slices.ContainsFunc(r.held, func(o decide.Held) bool { return o.Job == h.Job }) {
			r.held = append(r.held, h)
		}
	}
}
