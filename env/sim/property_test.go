package sim_test

import (
	"flag"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"pgregory.net/rapid"
)

// episodes is the number of random episodes that TestRandomEpisodes plays; with -short it plays a twentieth of them.
const episodes = 20_000

var soak = flag.Duration("soak", 0, "play random episodes at least for so long")

// TestRandomEpisodes checks all rules on random episodes, from their logs alone:
//   - GPUs, shares, cores, memory, quotas and jobs per GPU stay within their limits.
//   - Gangs are complete, and on servers that are up and open to them.
//   - A job progresses only while it is placed and not in a restart pause, at a speed above 0 and within the bounds of its
//     physics. It finishes at the first nanosecond at which the integral of its speed equals its work, and falls back to its last
//     checkpoint when it is interrupted.
//   - Failures, repairs, needs, arrivals and deadlines happen at their instants, servers are seized only when overdue, and the
//     end has a reason.
//   - A job is measured exactly when it has run at the same speed for the interval.
//   - The same seed gives the same log, byte for byte, and so do reading the log back and replaying it.
func TestRandomEpisodes(t *testing.T) {
	var seen tally
	many(t, episodes, func(t *rapid.T) {
		e, scheduler, seed := drawEpisode(t), drawScheduler(t), rapid.Uint64().Draw(t, "seed")
		log := playEpisode(t, e, scheduler(), seed)
		var audited *audit
		if e.Config.Phases == (sim.Phases{}) { // the audit knows of no phases; TestPhasesAddUp checks them
			audited = check(t, log)
		}
		text := written(t, log)
		if again := written(t, playEpisode(t, e, scheduler(), seed)); again != text {
			t.Fatalf("one run wrote\n%s\nthe next\n%s", text, again)
		}
		back := read(t, text)
		if got, want := back.Config.Cluster.NoPreemption, e.Config.Cluster.NoPreemption; got != want {
			t.Fatalf("preemption forbidden: %v, want %v", got, want)
		}
		if again := written(t, back); again != text {
			t.Fatalf("wrote\n%s\nthen\n%s", text, again)
		}
		replayed, err := sim.Replay(back)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if again := written(t, replayed); again != text {
			t.Fatalf("wrote\n%s\nreplayed\n%s", text, again)
		}
		if audited != nil {
			seen.add(&e, log, audited)
		}
	})
	seen.report(t)
}

// many checks a property as simtest.Many does, and with -soak repeats that until the time is over.
func many(t *testing.T, times int, property func(*rapid.T)) {
	t.Helper()
	if testing.Short() {
		times /= 4 // rapid divides it by another 5
	}
	until := time.Now().Add(*soak)
	for again := true; again; again = time.Now().Before(until) {
		simtest.Many(t, times, property)
	}
}

// tally counts the episodes in which each kind of event happened, so that the test notices if one is never tested.
type tally struct {
	played int
	with   map[string]int
}

func (y *tally) add(e *sim.Episode, l *sim.Log, a *audit) {
	if y.with == nil {
		y.with = map[string]int{}
	}
	y.played++
	did := map[string]bool{
		"begin warm": len(e.Running) > 0, "terminate": l.Outcome.Terminated, "end at the horizon": l.Config.Horizon == a.now,
		"respeed a job": a.respeeds > 0, "share a GPU": a.shared > 0, "cross servers": a.crossed > 0, "lose work": a.lost > 0,
	}
	for i := range l.Records {
		did[l.Records[i].Kind.String()] = true
	}
	for name, yes := range did {
		if yes {
			y.with[name]++
		}
	}
}

// report checks that everything happened in at least one of a hundred episodes.
func (y *tally) report(t *testing.T) {
	t.Helper()
	t.Logf("of %d episodes so many: %v", y.played, y.with)
	if y.played < 1000 {
		return
	}
	for _, name := range []string{
		"begin warm", "terminate", "end at the horizon", "respeed a job", "share a GPU", "cross servers", "lose work",
		"submit", "start", "resize", "preempt", "migrate", "loan", "reclaim", "finish", "fail", "repair", "interrupt", "need", "seize",
		"measure",
	} {
		if y.with[name] < y.played/100 {
			t.Errorf("%d of %d episodes %s, want one of a hundred", y.with[name], y.played, name)
		}
	}
}
