package env

import "github.com/clustergym/clustergym/env/cluster"

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

	outlook   outlook
	demand    demand
	speeds    speeds
	head      head
	shown     []shown // by place in the window
	rank      []int32 // likewise: waiting jobs before it in order
	turn      []int32 // likewise: submitted before it
	marks     []mark
	before    []int32
	typeSpeed []float32 // by type of GPUs: mean speed of the jobs shown
	hosts     []host    // scratch
	trial     trial
	window    []cluster.JobID // of a Review
}

var _ Encoder = (*StandardEncoder)(nil)

// NewEncoder returns the standard encoder with its defaults.
func NewEncoder() *StandardEncoder { return &StandardEncoder{} }

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

// Encode implements Encoder. It allocates nothing once its buffers have grown and the kinds of jobs are known.
func (e *StandardEncoder) Encode(s *cluster.State, ts *TimeStep) {
	e.look(s, ts.Window)
	e.rankAll(s, ts.Window)
	clear(ts.Jobs)
	clear(ts.Items)
	e.observeServers(ts.Servers)
	for k, id := range ts.Window {
		if id >= 0 {
			e.observeJob(k, id, ts.Jobs[k*len(jobFeatures):])
		}
	}
	e.items(s, ts)
	clear(ts.Global)
	e.observeGlobal(ts.Window, ts.Global)
}

// look reads the state and chooses the window.
func (e *StandardEncoder) look(s *cluster.State, window []cluster.JobID) {
	e.fits.reset(s)
	e.outlook.look(s)
	e.demand.count(s)
	e.speeds.read(s, e.Menu)
	e.choose(s, window)
	e.learn(s, window)
	e.pace(s, window)
	if e.head.there = false; len(e.held) > 0 {
		e.head.find(s, e.held[0].job, &e.outlook)
	}
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
		for l := range levels {
			c := e.claim(s, k, id, l)
			if c.rooms.total < int64(c.workers) {
				continue
			}
			at := k*levels + l
			for i, fits := range c.rooms.fits {
				if fits > 0 {
					ts.Mask[i*actions+1+at] = true
					server := ts.Servers[i*len(serverFeatures):]
					e.observeItem(cluster.ServerID(i), fits, &c, server, ts.Items[(i*e.spec.Items()+at)*width:])
				}
			}
		}
	}
}

// claim gathers what the items of a job at a level share.
func (e *StandardEncoder) claim(s *cluster.State, k int, id cluster.JobID, level int) claim {
	spec, j := s.Spec(id), &e.shown[k]
	c := claim{shown: j, workers: spec.Workers, amount: e.Menu[level].Of(spec.Request), log: logTime(j.left)}
	c.rooms = e.fits.of(id, c.amount)
	if e.head.there {
		c.delays = logTime(e.head.delay(int64(c.workers)*int64(c.amount.GPUMilli), j.end()))
	}
	if j.kind != nil {
		types := len(e.typeSpeed)
		c.speed = j.kind.speed[level*types : (level+1)*types]
	}
	return c
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
	alone  int32   // servers that take the whole gang
	racks  []int64 // workers that each rack takes
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
	n.sum(c.state)
	return n
}

// sum adds up what the servers take.
func (n *counted) sum(s *cluster.State) {
	n.alone = 0
	clear(n.racks)
	for i, fits := range n.fits {
		if fits >= n.shape.Workers {
			n.alone++
		}
		if r := int(s.Server(cluster.ServerID(i)).Rack); r > 0 {
			for len(n.racks) <= r {
				n.racks = append(n.racks, 0)
			}
			n.racks[r] += int64(fits)
		}
	}
}
