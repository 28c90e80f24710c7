package e2e

import "time"

// disturb and settle say when a fault begins and ends to hinder the program.
func (r *rules) disturb() {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.open++
}

func (r *rules) settle() {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.open--
	r.calm = time.Now()
}

// known reports whether the program must have noticed by now what happened at an instant. The caller holds the lock, as callers
// of all functions below do unless they are called by the test.
func (r *rules) known(at time.Time) bool {
	if r.calm.After(at) {
		at = r.calm
	}
	return r.open == 0 && time.Since(at) > notice
}

// leads notes that a process may write from now on.
func (r *rules) leads(p *replica) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.lead(p)
}

func (r *rules) lead(p *replica) {
	if r.holder == p {
		return
	}
	if r.holder == nil {
		r.open--
	}
	r.holder, r.epochAt, r.inEpoch = p, time.Now(), 0
	r.calm = r.epochAt
	r.epoch++
}

// ended notes that a process has ended.
func (r *rules) ended(p *replica) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if r.holder == p {
		r.holder = nil
		r.open++
	}
}

// blind notes that the API server does not run, and back that it runs again.
func (r *rules) blind() { r.disturb() }

func (r *rules) back() {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	for _, p := range r.w.replicas {
		for _, resource := range []string{"pods", "nodes", "configmaps"} {
			r.unseen[p.name+"/"+resource] = true
		}
	}
}

// setMode notes the mode in the control ConfigMap.
func (r *rules) setMode(live bool) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if r.live != live {
		r.live, r.since = live, time.Now()
	}
}

// node notes what the test makes of a node; room is -1 if it stays.
func (r *rules) node(name string, closed bool, room int64) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	n := r.nodes[name]
	if room >= 0 {
		n.room, n.was = room, n.room
	}
	n.closed, n.changed = closed, time.Now()
}
