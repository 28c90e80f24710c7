package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFaultLeader checks leader election with two schedulers: if the leader dies, the other takes over when the lease ends; if
// the leader is told to end, the other takes over at once; and never do both write.
func TestFaultLeader(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 8)
	k := check(t, c)
	l := &load{k: k, open: 10, every: 200 * time.Millisecond, run: "1s", draw: rand.New(rand.NewPCG(3, 0))}
	l.start()
	type member struct {
		*scheduler
		*tap
		name string
	}
	begin := func(name string) member {
		p := newTap(t, c, name, c.Config)
		return member{run(t, c, name, live("--leader-elect", "--kubeconfig="+p.kubeconfig)...), p, name}
	}
	leads := func(m member) time.Duration {
		t.Helper()
		began, before := time.Now(), m.count("bind")
		c.Await(m.name+" to lead", func(context.Context) error {
			if !strings.Contains(m.said(t), `"msg":"leading"`) || m.count("bind") == before {
				return fmt.Errorf("it does not bind")
			}
			return nil
		})
		return time.Since(began)
	}
	a := begin("leader-a")
	leads(a)
	b := begin("leader-b")
	time.Sleep(500 * time.Millisecond)
	if n := b.count(""); n != 0 {
		t.Errorf("the one that stands by wrote %d times", n)
	}
	a.Kill()
	k.freeze() // no process leads until the lease ends
	killed := leads(b)
	k.thaw()
	d := begin("leader-d")
	if err := b.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	told := leads(d)
	<-b.Ended()
	if code := b.ExitCode(); code != 0 {
		t.Errorf("told to end, it ended with %d", code)
	}
	if told > 10*time.Second {
		t.Errorf("the other one leads %v after SIGTERM, want it as soon as the lease is released", told)
	}
	gangs, pods := l.drain()
	k.finish()
	for _, pod := range k.unexplained(t, "leader") {
		t.Errorf("pod %s was deleted, and nobody says why", pod)
	}
	x := tally{name: "leader failover"}
	x.row("the other one binds after SIGKILL", killed.Round(time.Millisecond))
	x.row("the other one binds after SIGTERM", told.Round(time.Millisecond))
	turns := []member{a, b, d}
	for i, m := range turns {
		x.row("pods bound by "+m.name, m.count("bind"))
		if i == 0 {
			continue
		}
		was, is := turns[i-1].acts(), m.acts()
		if len(was) == 0 || len(is) == 0 || !was[len(was)-1].Before(is[0]) {
			t.Errorf("%s and %s write at once", turns[i-1].name, m.name)
		}
	}
	x.rows = append(x.rows, k.rows(gangs, pods)...)
	x.log(t)
}

// acts returns the times of successful bindings and deletions.
func (p *tap) acts() (at []time.Time) {
	for _, r := range p.done() {
		if r.kind == "bind" || r.kind == "evict" || r.kind == "delete pods" {
			at = append(at, r.at)
		}
	}
	return at
}
