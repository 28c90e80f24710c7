package e2e

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestFaultAPIServer kills the API server repeatedly while gangs come and go, and checks that each gang still starts completely.
func TestFaultAPIServer(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 8)
	k := check(t, c)
	s := run(t, c, "scheduler", live()...)
	l := &load{k: k, open: 10, every: 100 * time.Millisecond, run: "1s", draw: rand.New(rand.NewPCG(1, 0))}
	l.start()
	kills, draw := times(t, 5, 20), rand.New(rand.NewPCG(1, 1))
	partial := 0
	var down, back []time.Duration
	for range kills {
		before := s.boundGangs(t)
		c.Await("gangs that start", s.moreThan(t, before+2))
		until := time.Now().Add(time.Duration(draw.IntN(1000)) * time.Millisecond)
		for time.Now().Before(until) && !k.partial() { // in the middle of binding a gang, if possible
			time.Sleep(time.Millisecond)
		}
		if k.partial() {
			partial++
		}
		k.freeze()
		began := time.Now()
		c.KillAPIServer()
		time.Sleep(time.Duration(draw.IntN(500)) * time.Millisecond)
		c.RestartAPIServer()
		k.thaw()
		down = append(down, time.Since(began))
		began, before = time.Now(), s.boundGangs(t)
		c.Await("gangs that start again", s.moreThan(t, before))
		back = append(back, time.Since(began))
	}
	gangs, pods := l.drain()
	k.finish()
	for _, pod := range k.unexplained(t, "scheduler") {
		t.Errorf("pod %s was deleted, and nobody says why", pod)
	}
	if code := s.ExitCode(); code != -1 {
		t.Errorf("the scheduler has ended with %d", code)
	}
	x := tally{name: "API server killed"}
	x.row("SIGKILLs of the API server", kills)
	x.row("of these with a gang bound in part", partial)
	x.row("down for, median", quantile(down, 0.5))
	x.row("until a gang starts again, median", quantile(back, 0.5))
	x.row("until a gang starts again, longest", quantile(back, 1))
	x.rows = append(x.rows, k.rows(gangs, pods)...)
	x.row("rounds that failed", s.metric(t, `clustergym_kube_rounds_total{result="failed"}`))
	x.row("gangs given up", len(logged(t, c, "scheduler", "gang given up")))
	x.log(t)
}
