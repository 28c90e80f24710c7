package e2e

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// TestFaultKill kills the scheduler repeatedly: between two bindings of a gang, after the server has carried out a request and
// before the scheduler gets the answer, and at random times. It checks that the next scheduler completes the gangs that it finds.
func TestFaultKill(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 8)
	k := check(t, c)
	p := newTap(t, c, "scheduler", c.Config)
	l := &load{k: k, open: 12, every: 50 * time.Millisecond, run: "1s", draw: rand.New(rand.NewPCG(2, 0))}
	l.start()
	kills, draw := times(t, 10, 50), rand.New(rand.NewPCG(2, 1))
	partial := 0
	how := map[string]int{}
	var up []time.Duration
	for i := range kills {
		began := time.Now()
		s := run(t, c, fmt.Sprintf("scheduler-%02d", i), live("--kubeconfig="+p.kubeconfig, fmt.Sprint("--parallel=", 1+draw.IntN(4)))...)
		up = append(up, time.Since(began))
		way := []string{"before a binding is sent", "after a binding is done", "at any instant"}[i%3]
		how[way]++
		if way == "at any instant" {
			time.Sleep(time.Duration(draw.IntN(1500)) * time.Millisecond)
			s.Kill()
		} else {
			killAt(t, s, p, 1+draw.IntN(8), way == "before a binding is sent")
		}
		if k.partial() {
			partial++
		}
	}
	s := run(t, c, "scheduler-last", live()...)
	gangs, pods := l.drain()
	k.finish()
	for _, pod := range k.unexplained(t, "scheduler") {
		t.Errorf("pod %s was deleted, and nobody says why", pod)
	}
	x := tally{name: "scheduler killed"}
	x.row("SIGKILLs of the scheduler", kills)
	for _, way := range []string{"before a binding is sent", "after a binding is done", "at any instant"} {
		x.row("  "+way, how[way])
	}
	x.row("of these with a gang bound in part", partial)
	x.row("until a new one has read the cluster, median", quantile(up, 0.5))
	x.rows = append(x.rows, k.rows(gangs, pods)...)
	x.row("bindings that the server refused (409)", p.refused("bind", 409))
	x.row("gangs given up", len(logged(t, c, "scheduler", "gang given up")))
	x.row("gangs bound whole by the last one", s.boundGangs(t))
	x.log(t)
}

// killAt kills a scheduler at its n-th binding from now, before or after the server carries it out.
func killAt(t testing.TB, s *scheduler, p *tap, n int, before bool) {
	t.Helper()
	var mu sync.Mutex
	killed := make(chan struct{})
	at := func(kind, _ string) {
		mu.Lock()
		defer mu.Unlock()
		if kind != "bind" {
			return
		}
		if n--; n == 0 {
			s.Kill()
			close(killed)
		}
	}
	if before {
		p.hook(at, nil)
	} else {
		p.hook(nil, at)
	}
	select {
	case <-killed:
	case <-time.After(time.Minute):
		t.Fatal("no gang was bound within a minute")
	}
	p.hook(nil, nil)
}

// refused returns the number of writes of a kind that were answered with the HTTP code.
func (p *tap) refused(kind string, code int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.asked {
		if r.kind == kind && r.code == code {
			n++
		}
	}
	return n
}
