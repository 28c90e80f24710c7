package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestTheFutureDoesNotShow checks that a scheduler cannot see the future. Two episodes that differ only in the future look the
// same to it, byte for byte, until the first event that differs. They differ in how long unfinished jobs still run (with equal
// estimates), how jobs end, which and how many jobs will arrive, what will fail, when repairs come, what the inference pool will
// need and offer, and how long the episode is.
func TestTheFutureDoesNotShow(t *testing.T) {
	pairs, compared := 0, 0
	many(t, 300, func(t *rapid.T) {
		pairs++
		e, scheduler, seed := drawEpisode(t), drawScheduler(t), rapid.Uint64().Draw(t, "seed")
		until := drawTime(t, "until", 2000)
		other := drawOtherFuture(t, e, until, scheduler(), seed)
		one, oneEnd := watch(t, e, scheduler(), seed, len(e.Jobs), until)
		two, twoEnd := watch(t, other, scheduler(), seed, len(e.Jobs), until)
		for i := range min(len(one), len(two)) {
			if compared++; one[i] != two[i] {
				t.Fatalf("decision %d at %v, with the same past until %v, shows\n%s", i, time.Duration(one[i].now), until, differ(one[i].text, two[i].text))
			}
		}
		// One episode may end earlier than the other, because the end depends on what is still to come.
		if len(one) > len(two) && twoEnd > until || len(two) > len(one) && oneEnd > until {
			t.Fatalf("%d decisions until %v and the end at %v, or %d and %v", len(one), until, oneEnd, len(two), twoEnd)
		}
	})
	if t.Logf("%d views of %d pairs", compared, pairs); compared < pairs {
		t.Errorf("compared %d views of %d pairs of episodes, want more", compared, pairs)
	}
}

// watch returns what a scheduler sees up to an instant, and when the episode ended.
func watch(t *rapid.T, e sim.Episode, sched cluster.Scheduler, seed uint64, jobs int, until time.Duration) ([]view, time.Duration) {
	s := must.Get(e.New())(t)
	w := watcher{Scheduler: sched, jobs: jobs}
	must.Do(t, w.Reset(seed))
	for {
		tx, ok := s.Next()
		if !ok || tx.Now() > until {
			if ok {
				return w.views, tx.Now()
			}
			return w.views, s.State().Now()
		}
		must.Do(t, w.Schedule(tx))
		s.Commit()
	}
}

// drawOtherFuture draws an episode with the same past: everything observable up to the instant until is the same.
func drawOtherFuture(t *rapid.T, e sim.Episode, until time.Duration, sched cluster.Scheduler, seed uint64) sim.Episode {
	past := e
	past.Config.Horizon = max(until, 1)
	s := must.Get(past.New())(t)
	must.Do(t, s.Run(context.Background(), sched, seed))
	restart := &e.Config.Restart
	falls := restart.FromScratch || restart.Interval > 0 // a job may have made more progress earlier than it has now
	e.Jobs = slices.Clone(e.Jobs)
	for i := range e.Jobs {
		j, id := &e.Jobs[i], cluster.JobID(i)
		j.Status = rapid.SampledFrom([]trace.Status{trace.Unknown, trace.Passed, trace.Failed, trace.Killed}).Draw(t, "other status")
		switch phase := s.State().Phase(id); {
		case j.Submit > past.Config.Horizon:
			j.Name, j.User, j.Estimate = "x"+j.Name, "eve", 1+drawTime(t, "estimate", 900)
			j.Submit += drawTime(t, "even later", 500)
			j.Work = drawTime(t, "other work", 4000)
		case phase == cluster.Done || phase == cluster.Unsubmitted:
		case !falls && rapid.Bool().Draw(t, "shorter"):
			done := s.Progress(id)
			j.Work = done + min(max(j.Work-done, 0), 1+drawTime(t, "left", 100))
		default:
			j.Work += drawTime(t, "longer by", 4000)
		}
	}
	if len(e.Jobs) > 0 && rapid.Bool().Draw(t, "one more job") {
		extra := e.Jobs[0]
		extra.Name, extra.Submit = "extra", past.Config.Horizon+1+drawTime(t, "submit", 300)
		e.Jobs = append(e.Jobs, extra)
	}
	e.Config.Outages = otherOutages(t, e.Config.Outages, past.Config.Horizon)
	e.Config.Demand = otherDemand(t, e.Config.Demand, past.Config.Horizon)
	if h := &e.Config.Horizon; *h > past.Config.Horizon || *h == 0 {
		*h = past.Config.Horizon + 1 + drawTime(t, "other horizon", 9000)
	}
	return e
}

// otherOutages removes the failures after until and delays the repairs after until.
func otherOutages(t *rapid.T, all []sim.Outage, until time.Duration) (other []sim.Outage) {
	for _, o := range all {
		if o.From > until {
			continue
		}
		if o.To > until {
			o.To += drawTime(t, "out for longer", 500)
		}
		other = append(other, o)
	}
	return other
}

// otherDemand changes the needs at all times, and the offers of the pool after until. It also adds needs that change no offer of
// the pool; these may come at any time.
func otherDemand(t *rapid.T, all []sim.Demand, until time.Duration) (other []sim.Demand) {
	for i, d := range all {
		d.Need = rapid.Int64Range(0, 9000).Draw(t, "other need")
		if d.At > until {
			if rapid.Bool().Draw(t, "no more demand") {
				break
			}
			d.Offer = rapid.Int32Range(0, d.Offer).Draw(t, "other offer")
		}
		other = append(other, d)
		if at := d.At + 1; i+1 == len(all) || at < all[i+1].At {
			other = append(other, sim.Demand{At: at, Need: d.Need + 1, Offer: d.Offer})
		}
	}
	return other
}

// differ returns the first line in which two texts differ.
func differ(a, b string) string {
	one, two := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(one), len(two)) {
		if one[i] != two[i] {
			return one[i] + "\nor\n" + two[i]
		}
	}
	return a + "\nor\n" + b
}
