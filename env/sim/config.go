package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// Config describes the cluster of an episode and the rules that the simulator follows.
type Config struct {
	Cluster cluster.Spec  `log:",inline"`
	Physics physics.Model `log:"physics,need,physics"` // nil: ideal
	// Misprofile distorts the speeds that the simulator reports to schedulers. Jobs still run at the speeds of Physics. The event
	// log does not contain it.
	Misprofile physics.Misprofile
	// Hidden is what schedulers are not told. The zero value hides nothing.
	Hidden Hidden `log:"hidden"`
	// Phases makes jobs change their speed as they go. The zero value does not.
	Phases Phases `log:"phases"`
	// Readings describes how the throughput of running jobs is measured. The zero value measures nothing.
	Readings Readings `log:"readings"`
	Restart  Restart  `log:"restart,need"`
	// Outages lists the failures of the episode. Schedulers learn of each failure when it happens.
	Outages []Outage `log:"outages,outages"`
	// Demand lists, in order of time, what the inference pool needs and how many servers it offers to lend. If it is empty, the
	// pool needs nothing and offers every server. Schedulers learn of an offer only when the pool makes it.
	Demand []Demand `log:"demand,demand"`
	// Grace is how long a scheduler may take to return servers that the pool no longer offers. After that the simulator seizes
	// the servers that are still on loan and interrupts the jobs on them.
	Grace time.Duration `log:"grace,0..maxTime"`
	// Horizon truncates the episode at that instant. 0 means no limit.
	Horizon time.Duration `log:"horizon,need,0..maxTime"`
	// Warm is the number of jobs, those with the lowest ids, that serve only to fill the cluster. Results leave them out.
	Warm int `log:"warm,0..maxLogJobs"`
}

// Restart is the cost of stopping a job and starting it again.
type Restart struct {
	// Preempt, Migrate and Resize are how long a job holds its GPUs without progress: after it restarts because of a preemption
	// or a failure, after it moves to other servers, and after its workers or amounts change. Changes within the transaction of
	// the job's first start cost nothing.
	Preempt time.Duration `log:"preempt,need,0..maxTime"`
	Migrate time.Duration `log:"migrate,need,0..maxTime"`
	Resize  time.Duration `log:"resize,need,0..maxTime"`
	// FromScratch makes a stopped job lose all its work. Without it, a job that the scheduler stops keeps its work.
	FromScratch bool `log:"from_scratch,need"`
	// Interval is the amount of work between two checkpoints. A job interrupted by a failure or a seizure loses its work since
	// the last checkpoint. With 0 it loses nothing.
	Interval time.Duration `log:"interval,need,0..maxTime"`
	// Save is how long one of these checkpoints takes. It multiplies the speed of every job by Interval / (Interval + Save).
	Save time.Duration `log:"save,need,0..maxTime"`
}

// Pause returns a Restart with the same pause after a preemption, a migration and a resize, in which no work is lost.
func Pause(d time.Duration) Restart { return Restart{Preempt: d, Migrate: d, Resize: d} }

// Outage is the time [From, To) during which a server, or one of its GPUs, is out of service.
type Outage struct {
	From, To time.Duration
	Server   cluster.ServerID
	GPU      int32 // -1 for the whole server
}

// Demand is what the inference pool needs, and how many servers it offers to lend, from the instant At until the next Demand.
// The pool alone decides both.
type Demand struct {
	At    time.Duration
	Need  int64 // thousandths of servers
	Offer int32 // servers that may be on loan
}

func (c *Config) validate() error {
	return c.validateOn(len(c.Cluster.Servers), func(id cluster.ServerID) *cluster.ServerSpec { return &c.Cluster.Servers[id] })
}

// validateOn returns an error about the first invalid value of the configuration, on a cluster with the given servers. It does
// not read c.Cluster.
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
	if err := c.Readings.validate(); err != nil {
		return err
	}
	if err := c.Phases.validate(); err != nil {
		return err
	}
	if err := c.Hidden.validate(); err != nil {
		return err
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

// fault is the start or the end of an outage.
type fault struct {
	at     time.Duration
	repair bool
	*Outage
}

// faults returns the starts and ends of the outages by time. At the same instant repairs come before failures.
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
