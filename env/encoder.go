package env

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// StandardEncoder shows the cluster as ratios without units of size, so that a policy carries over to other clusters.
//
// The window holds, in the order of Order, the waiting jobs that could start now, as many as leave a quarter of the window
// (or more, if they are few) to the first of those that could not, which say what is worth waiting for. Among several levels
// of the menu the gang counts as startable if it is with one of them alone.
type StandardEncoder struct {
	Window int     // jobs shown, 0 for 32
	Menu   []Level // nil for AsRequested()
	spec   Spec
	fits   capacity
	ready  []candidate // could start now
	held   []candidate // could not
	head   head
}

var _ Encoder = (*StandardEncoder)(nil)

// NewEncoder returns the standard encoder with its defaults.
func NewEncoder() *StandardEncoder { return &StandardEncoder{} }

type candidate struct {
	job cluster.JobID
	key time.Duration
}

func (c candidate) compare(o candidate) int {
	return cmp.Or(cmp.Compare(c.key, o.key), cmp.Compare(c.job, o.job))
}

// Order is the key by which the window is sorted: the estimated remaining time, or the submit time where there is no
// estimate; ties break by id.
func Order(s *cluster.State, id cluster.JobID) time.Duration {
	if left, ok := s.Remaining(id); ok {
		return left
	}
	return s.Spec(id).Submit
}

// Spec implements Encoder.
func (e *StandardEncoder) Spec(servers int) Spec {
	if e.Window == 0 {
		e.Window = 32
	}
	if e.Menu == nil {
		e.Menu = AsRequested()
	}
	e.spec = Spec{
		Agents: servers, Window: e.Window, Menu: e.Menu,
		Server: serverFeatures, Job: jobFeatures, Item: itemFeatures, Global: globalFeatures,
	}
	return e.spec
}

// Encode implements Encoder. It allocates nothing once its buffers have grown.
func (e *StandardEncoder) Encode(s *cluster.State, ts *TimeStep) {
	e.fits.reset(s)
	e.choose(s, ts.Window)
	if e.head.there = false; len(e.held) > 0 {
		e.head.find(s, e.held[0].job)
	}
	clear(ts.Servers)
	clear(ts.Jobs)
	clear(ts.Items)
	clear(ts.Global)
	for i := range e.spec.Agents {
		observeServer(s, cluster.ServerID(i), ts.Servers[i*len(serverFeatures):])
	}
	for k, id := range ts.Window {
		if id >= 0 {
			observeJob(s, id, e.startable(id), &e.head, ts.Jobs[k*len(jobFeatures):])
		}
	}
	e.items(s, ts)
	observeGlobal(s, len(e.ready), &e.head, ts.Window, ts.Global)
}

// choose fills the window.
func (e *StandardEncoder) choose(s *cluster.State, window []cluster.JobID) {
	e.ready, e.held = e.ready[:0], e.held[:0]
	n := len(window)
	for _, id := range s.Pending() {
		c := candidate{id, Order(s, id)}
		if e.startable(id) {
			e.ready = keep(e.ready, c, n)
		} else {
			e.held = keep(e.held, c, n)
		}
	}
	ready := min(len(e.ready), max(n-len(e.held), n-n/4))
	held := min(len(e.held), n-ready)
	k := 0
	for r, h := 0, 0; r < ready || h < held; k++ {
		if h == held || r < ready && e.ready[r].compare(e.held[h]) < 0 {
			window[k] = e.ready[r].job
			r++
		} else {
			window[k] = e.held[h].job
			h++
		}
	}
	for ; k < n; k++ {
		window[k] = -1
	}
}

// keep inserts c into the sorted best n.
func keep(best []candidate, c candidate, n int) []candidate {
	if len(best) == n {
		if c.compare(best[n-1]) > 0 {
			return best
		}
		best = best[:n-1]
	}
	at, _ := slices.BinarySearchFunc(best, c, candidate.compare)
	return slices.Insert(best, at, c)
}

// startable reports whether one level alone would hold the whole gang now.
func (e *StandardEncoder) startable(id cluster.JobID) bool {
	spec := e.fits.state.Spec(id)
	for l := range e.Menu {
		if e.fits.total(id, e.Menu[l].Of(spec.Request)) >= int64(spec.Workers) {
			return true
		}
	}
	return false
}

// items fills the mask and the features of the legal items.
func (e *StandardEncoder) items(s *cluster.State, ts *TimeStep) {
	clear(ts.Mask)
	levels, actions, width := len(e.Menu), e.spec.Actions(), len(itemFeatures)
	for i := range e.spec.Agents {
		ts.Mask[i*actions] = true
	}
	for k, id := range ts.Window {
		if id < 0 {
			continue
		}
		spec := s.Spec(id)
		left, known := s.Remaining(id)
		end := logTime(left)
		for l := range levels {
			amount := e.Menu[l].Of(spec.Request)
			c := e.fits.of(id, amount)
			if c.total < int64(spec.Workers) {
				continue
			}
			for i, fits := range c.fits {
				if fits == 0 {
					continue
				}
				at := k*levels + l
				ts.Mask[i*actions+1+at] = true
				server := ts.Servers[i*len(serverFeatures):]
				row := ts.Items[(i*e.spec.Items()+at)*width:]
				observeItem(s, cluster.ServerID(i), spec.Workers, fits, amount, end, known, server, row)
			}
		}
	}
}

// capacity remembers, for the shapes and amounts that were asked about, how many workers each server takes.
type capacity struct {
	state *cluster.State
	known []counted
	used  int
}

type counted struct {
	shape  cluster.Shape
	amount cluster.Amount
	total  int64
	fits   []int32
}

func (c *capacity) reset(s *cluster.State) { c.state, c.used = s, 0 }

func (c *capacity) total(id cluster.JobID, a cluster.Amount) int64 { return c.of(id, a).total }

// of returns the count for a job at an amount, valid until the next call.
func (c *capacity) of(id cluster.JobID, a cluster.Amount) *counted {
	shape := c.state.Shape(id)
	for i := range c.known[:c.used] {
		if c.known[i].amount == a && c.known[i].shape == shape {
			return &c.known[i]
		}
	}
	if c.used == len(c.known) {
		c.known = append(c.known, counted{fits: make([]int32, c.state.Servers())})
	}
	n := &c.known[c.used]
	c.used++
	n.shape, n.amount = shape, a
	n.total = c.state.Room(id, a, n.fits)
	return n
}

// logTime maps a duration to [0, 1]: 0 for nothing, about a half for an hour and a half, 1 for a hundred days.
func logTime(d time.Duration) float32 {
	return float32(min(math.Log1p(float64(max(d, 0))/float64(time.Minute))/logTimeSpan, 1))
}

// logTimeSpan is log1p of a hundred days in minutes.
const logTimeSpan = 11.877575
