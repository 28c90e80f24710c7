package control

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/serve/decide"
)

// waits counts how long gangs wait and hold others back. In the first round it takes the waiting times from the clock and the
// ages of the pods, because it has no other source. After that it adds up the time between rounds, at most step for each, so a
// jump of the clock ages no gang by more than step.
type waits struct {
	limit time.Duration // waiting time after which a gang starves, and how long it may then hold others back; 0 for never
	step  time.Duration // the longest time between two rounds that is counted
	of    map[string]*wait
	last  time.Time // time of the last round, zero before the first
}

// wait is the waiting time of one gang.
type wait struct {
	whole   time.Time     // when the gang became complete; another gang of the same name starts from 0
	waited  time.Duration // total
	held    time.Duration // the part of it during which the gang held others back
	holding bool          // whether it held others back in the last round
}

// see adds the time since the last round to the gangs that still wait, and adds the new gangs.
func (w *waits) see(jobs []mirror.Job, now time.Time) {
	first, step := w.last.IsZero(), min(max(now.Sub(w.last), 0), w.step)
	was := w.of
	w.of, w.last = make(map[string]*wait, len(was)), now
	for i := range jobs {
		j := &jobs[i]
		if j.Running {
			continue
		}
		x := was[j.Spec.Name]
		if x == nil || !x.whole.Equal(j.Whole) {
			x = &wait{whole: j.Whole, waited: max(now.Sub(j.Whole), 0)}
			if !first { // the last round did not see it
				x.waited = min(x.waited, step)
			}
		} else {
			x.waited += step
			if x.holding {
				x.held += step
			}
		}
		w.of[j.Spec.Name] = x
	}
}

// starving returns the submitted jobs that have waited for at least the limit, those that waited longest first.
func (w *waits) starving(s *cluster.View) (ids []cluster.JobID) {
	if w == nil || w.limit == 0 {
		return nil
	}
	waited := func(id cluster.JobID) time.Duration {
		if x := w.of[s.Spec(id).Name]; x != nil {
			return x.waited
		}
		return 0
	}
	for _, id := range s.Pending() {
		if waited(id) >= w.limit {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(waited(b), waited(a)), cmp.Compare(a, b))
	})
	return ids
}

// spent reports whether a gang has held others back for as long as it may.
func (w *waits) spent(gang string) bool {
	x := w.of[gang]
	return x != nil && x.held >= w.limit
}

// note stores which gangs held others back in a round, and logs when a gang begins to and when it no longer may.
func (w *waits) note(ctx context.Context, r *round, log *slog.Logger) {
	if w.limit == 0 {
		return
	}
	now := map[string]bool{}
	for _, id := range r.holding() {
		now[name(r, id)] = true
	}
	for i := range r.view.Jobs {
		gang := r.view.Jobs[i].Spec.Name
		x := w.of[gang]
		if x == nil {
			continue
		}
		switch {
		case now[gang] && !x.holding:
			log.InfoContext(ctx, "holds others back", "gang", gang, "waited_s", x.waited.Seconds(), "held_s", x.held.Seconds())
		case x.holding && w.spent(gang):
			log.WarnContext(ctx, "holds others back no more", "gang", gang, "waited_s", x.waited.Seconds(), "held_s", x.held.Seconds())
		}
		x.holding = now[gang]
	}
}

// holding returns the starving gangs that hold others back in this round.
func (r *round) holding() (ids []cluster.JobID) {
	for _, h := range r.held {
		if h.Reason == decide.HeldStarving && !slices.Contains(ids, h.For) {
			ids = append(ids, h.For)
		}
	}
	return ids
}
