package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// replica is a place for a process of the program, which starts again when it ends.
type replica struct {
	name string
	tap  *tap
	made int // processes

	killed   atomic.Bool // by the test
	starting atomic.Bool // its requests meet no fault

	mu     sync.Mutex
	s      *scheduler
	paused bool
}

// codeLost is the program's exit code when another replica leads.
const codeLost = 3

// begin starts the program, and a second replica if the play wants one.
func (w *soak) begin() {
	names := []string{"scheduler-a"}
	if w.play.elect {
		names = append(names, "scheduler-b")
	}
	for _, name := range names {
		p := &replica{name: name, tap: newTap(w.t, w.c, name, w.c.Config)}
		p.tap.through = w.through(p)
		w.replicas = append(w.replicas, p)
		w.start(p)
	}
}

// start starts a process, and returns when it has read the cluster.
func (w *soak) start(p *replica) {
	w.t.Helper()
	p.made++
	p.killed.Store(false)
	p.starting.Store(true)
	defer p.starting.Store(false)
	if !w.play.elect {
		w.rules.leads(p)
	}
	w.rules.disturb()
	defer w.rules.settle()
	s := launch(w.t, w.c, fmt.Sprintf("%s-%02d", p.name, p.made), append(w.play.flags(), "--kubeconfig="+p.tap.kubeconfig)...)
	p.mu.Lock()
	p.s = s
	p.mu.Unlock()
}

// kill kills the process of a replica, if there is one.
func (w *soak) kill(p *replica) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.s == nil || !p.killed.CompareAndSwap(false, true) {
		return
	}
	p.paused = false
	w.rules.ended(p)
	p.s.Kill()
}

// revive starts the replicas again whose processes have ended. It fails if the test has not ended them, and they have not ended
// because another one leads.
func (w *soak) revive() {
	for _, p := range w.replicas {
		p.mu.Lock()
		s := p.s
		p.mu.Unlock()
		select {
		case <-s.Ended():
		default:
			continue
		}
		if code := s.ExitCode(); !p.killed.Load() && (!w.play.elect || code != codeLost) {
			w.mu.Lock()
			w.checker.fault("%s has ended by itself with %d", p.name, code)
			w.mu.Unlock()
			return
		}
		w.rules.ended(p)
		w.start(p)
	}
}

// leader returns the replica that leads, nil if none does.
func (w *soak) leader() *replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rules.holder
}

// killAny kills the program at any time. Where two replicas run, it mostly spares the one that leads, because the other has to wait
// for the end of its lease.
func (w *soak) killAny() bool {
	p := w.replicas[w.draw.IntN(len(w.replicas))]
	if p == w.leader() && w.play.elect && w.draw.IntN(4) > 0 {
		return false
	}
	w.kill(p)
	return true
}

// tellToEnd ends a process with SIGTERM.
func (w *soak) tellToEnd() bool {
	p := w.replicas[w.draw.IntN(len(w.replicas))]
	p.mu.Lock()
	s, paused := p.s, p.paused
	p.mu.Unlock()
	if paused || !p.killed.CompareAndSwap(false, true) || s.Signal(syscall.SIGTERM) != nil {
		return false
	}
	select {
	case <-s.Ended():
	case <-time.After(30 * time.Second):
		w.t.Errorf("%s has not ended 30 s after SIGTERM", p.name)
		s.Kill()
	}
	if code := s.ExitCode(); code != 0 && code != codeLost {
		w.t.Errorf("%s has ended with %d after SIGTERM", p.name, code)
	}
	w.rules.ended(p)
	return true
}

// leasePause is longer than the lease.
const leasePause = 17 * time.Second

// pause stops a process with SIGSTOP: where another replica can take over, for longer than the lease.
func (w *soak) pause() bool {
	p := w.replicas[w.draw.IntN(len(w.replicas))]
	d := time.Duration(200+w.draw.IntN(4000)) * time.Millisecond
	if w.play.elect {
		if p = w.leader(); p == nil || w.draw.IntN(3) > 0 {
			return false
		}
		d = leasePause
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed.Load() || p.paused || p.s.Signal(syscall.SIGSTOP) != nil {
		return false
	}
	p.paused = true
	w.rules.disturb()
	w.later = append(w.later, undo{time.Now().Add(d), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.paused {
			_ = p.s.Signal(syscall.SIGCONT) // fails only if the process has ended
		}
		p.paused = false
		w.rules.settle()
	}})
	return true
}

// killServer kills the API server, and starts it again.
func (w *soak) killServer() bool {
	if w.draw.IntN(4) > 0 { // a start takes long
		return false
	}
	w.rules.blind()
	w.c.KillAPIServer()
	time.Sleep(time.Duration(w.draw.IntN(500)) * time.Millisecond)
	w.c.RestartAPIServer()
	w.rules.back()
	return true
}
