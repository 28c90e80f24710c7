package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// Config is a cluster and the rules that it lives by.
type Config struct {
	Cluster cluster.Spec
	Physics physics.Model // nil: ideal
	// Misprofile is how far off what schedulers are told of speed is. Jobs run as Physics says. A log does not have it.
	Misprofile physics.Misprofile
	Restart    Restart
	// Outages are the failures of the episode. Schedulers see each when it happens.
	Outages []Outage
	// Demand is what the inference pool needs and offers over time, in order of time; empty: it needs nothing and offers every
	// server. Schedulers see an offer when it is made.
	Demand []Demand
	// Grace is how long a scheduler may take to give servers back that are no longer offered. What it still holds then is
	// taken from it, with the jobs on it interrupted.
	Grace time.Duration
	// Horizon truncates the episode at that instant, 0 for never.
	Horizon time.Duration
	// Warm counts the jobs, those with the lowest ids, that are there only to fill the cluster: results leave them out.
	Warm int
}

// Restart is what it costs a job to be stopped and started again.
type Restart struct {
	// How long a job holds its GPUs without progress when it starts again after a preemption or a failure, when it moves, and
	// when its workers or amounts change. Moves within the transaction of its first start are free.
	Preempt, Migrate, Resize time.Duration
	// FromScratch makes a stopped job lose its work. Otherwise one that the scheduler stops saves what it has done.
	FromScratch bool
	// Interval is the work between two checkpoints: a job that is interrupted falls back to the last. 0: nothing is lost.
	Interval time.Duration
	// Save is the time that one of these checkpoints takes. It slows every job by Interval / (Interval + Save).
	Save time.Duration
}

// Pause returns the restart that costs a job the same whatever stopped it, and none of its work.
func Pause(d time.Duration) Restart { return Restart{Preempt: d, Migrate: d, Resize: d} }

// Outage is a time during which a server, or one GPU of it, is out of service: [From, To).
type Outage struct {
	From, To time.Duration
	Server   cluster.ServerID
	GPU      int32 // -1 for the whole server
}

// Demand is what the inference pool needs from an instant on, and how many servers it then offers. It alone decides.
type Demand struct {
	At    time.Duration
	Need  int64 // thousandths of servers
	Offer int32 // servers that may be on loan
}

func (c *Config) validate() error {
	return c.validateOn(len(c.Cluster.Servers), func(id cluster.ServerID) *cluster.ServerSpec { return &c.Cluster.Servers[id] })
}

// validateOn reports the first thing that cannot be on a cluster of so many servers, whatever the configuration's own is.
func (c *Config) validateOn(servers int, spec func(cluster.ServerID) *cluster.ServerSpec) error {
	r := &c.Restart
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"preemption", r.Preempt}, {"migration", r.Migrate}, {"resize", r.Resize}, {"checkpoint interval", r.Interval},
		{"checkpoint save", r.Save}, {"grace", c.Grace}, {"horizon", c.Horizon},
	} {
		if d.value < 0 {
			return fmt.Errorf("%s %v, want 0 or more", d.name, d.value)
		}
	}
	if r.Save > 0 && r.Interval == 0 {
		return fmt.Errorf("checkpoint save %v without an interval, want both or none", r.Save)
	}
	pool := int32(0)
	for i := range servers {
		if spec(cluster.ServerID(i)).Pool == cluster.Inference {
			pool++
		}
	}
	for i, d := range c.Demand {
		if d.At < 0 || i > 0 && d.At <= c.Demand[i-1].At || d.Need < 0 || d.Offer < 0 || d.Offer > pool {
			return fmt.Errorf("demand %d: at %v, need %d, offer %d: want later than the one before, 0 or more, 0 to %d",
				i, d.At, d.Need, d.Offer, pool)
		}
	}
	return c.validateOutages(servers, spec)
}

func (c *Config) validateOutages(servers int, spec func(cluster.ServerID) *cluster.ServerSpec) error {
	type unit struct {
		server cluster.ServerID
		gpu    int32
	}
	last := map[unit]Outage{}
	for i, o := range c.Outages {
		if o.Server < 0 || int(o.Server) >= servers || o.GPU < -1 || o.GPU >= spec(o.Server).GPUs {
			return fmt.Errorf("outage %d: server %d, GPU %d: no such unit", i, o.Server, o.GPU)
		}
		before, again := last[unit{o.Server, o.GPU}]
		if o.From < 0 || o.To <= o.From || again && o.From < before.To {
			return fmt.Errorf("outage %d: from %v to %v: want 0 or later, an end after it, and after the last of the same unit (%v)",
				i, o.From, o.To, before.To)
		}
		last[unit{o.Server, o.GPU}] = o
	}
	return nil
}

// fault is the beginning or the end of an outage.
type fault struct {
	at     time.Duration
	repair bool
	*Outage
}

// faults puts the beginnings and ends in order of time, repairs first.
func faults(outages []Outage) []fault {
	all := make([]fault, 0, 2*len(outages))
	for i := range outages {
		o := &outages[i]
		all = append(all, fault{o.From, false, o}, fault{o.To, true, o})
	}
	slices.SortFunc(all, func(a, b fault) int {
		first := 0
		if a.repair != b.repair {
			if first = 1; a.repair {
				first = -1
			}
		}
		return cmp.Or(cmp.Compare(a.at, b.at), first, cmp.Compare(a.Server, b.Server), cmp.Compare(a.GPU, b.GPU))
	})
	return all
}
