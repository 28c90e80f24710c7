package loan

import (
	"fmt"
	"slices"
	"time"
)

// Config is the orchestrator's options.
type Config struct {
	// Policy chooses among the servers that cannot go back without a job being stopped. Lyra's by default (EuroSys 2023, §4).
	Policy Policy
	// Cost is what Lyra's policy minimises. ServerFractions by default (§4); the others are those that the paper rejects.
	Cost Cost
	// Flexible scales jobs in where that spares them a stop, and gives servers back first from which that suffices. On by
	// default (§5.3). That servers with the fewest such workers go first is reconstructed. Off, every job is stopped: loaning
	// alone.
	Flexible bool
	// Limit bounds Optimal: so many nodes of its search, beyond which the best found so far counts. Own choice.
	Limit int
	// Borrow says how many of the servers that are offered to take. All by default (§6).
	Borrow Borrow
	// First says which servers to borrow first. The paper is silent; Lowest by default, own choice.
	First Order
	// Period is the time between two rounds of borrowing and giving back, which take place at its multiples. 0, the default and
	// an own choice, is every decision point; the paper's orchestrator acts every 5 minutes (§7.1). What would be overdue
	// before the next round goes back at once.
	Period time.Duration
}

// Policy names who chooses the servers that go back.
type Policy string

// The policies.
const (
	Lyra    Policy = "lyra"    // the least preemption cost first; each choice changes the costs of the others (§4)
	SCF     Policy = "scf"     // the servers with the fewest jobs (§7.1)
	Random  Policy = "random"  // any servers (§7.1)
	Optimal Policy = "optimal" // the fewest jobs stopped, then the least collateral damage, by search: for small cases (§7.3)
)

// Cost defines what it costs to give a server back: a sum over the jobs that would be stopped for it.
type Cost string

// The definitions of preemption cost (Lyra, §4, table 1).
const (
	ServerFractions Cost = "servers" // of each job, 1 / the servers that host it
	JobCount        Cost = "jobs"    // of each job, 1
	GPUFractions    Cost = "gpus"    // of each job, the fraction of its GPUs that is on the server
)

// Borrow says how much to borrow.
type Borrow string

// How much to borrow.
const (
	All Borrow = "all" // all that is offered
	// Needed is as many servers as hold the GPUs that waiting jobs ask for, of those that may run there, beyond the GPUs that
	// are free; and all, where nothing runs and some job does not fit. What is on loan stays there until it is owed. Own
	// choice.
	Needed Borrow = "needed"
)

// Order says which servers to borrow first.
type Order string

// The orders.
const (
	Lowest  Order = "lowest"  // ids ascending
	Highest Order = "highest" // ids descending
	Largest Order = "largest" // by GPUs, most first, then ids ascending
)

// Default returns Lyra's orchestrator, at every decision point.
func Default() Config {
	return Config{
		Policy: Lyra, Cost: ServerFractions, Flexible: true, Limit: 10_000, Borrow: All, First: Lowest,
	}
}

// validate reports the first field that is out of range.
func (c Config) validate() error {
	switch {
	case !slices.Contains([]Policy{Lyra, SCF, Random, Optimal}, c.Policy):
		return fmt.Errorf("policy %q, want one of %s, %s, %s, %s", c.Policy, Lyra, SCF, Random, Optimal)
	case !slices.Contains([]Cost{ServerFractions, JobCount, GPUFractions}, c.Cost):
		return fmt.Errorf("cost %q, want one of %s, %s, %s", c.Cost, ServerFractions, JobCount, GPUFractions)
	case c.Limit < 0:
		return fmt.Errorf("limit %d, want 0 or more", c.Limit)
	case c.Borrow != All && c.Borrow != Needed:
		return fmt.Errorf("borrow %q, want %s or %s", c.Borrow, All, Needed)
	case !slices.Contains([]Order{Lowest, Highest, Largest}, c.First):
		return fmt.Errorf("first %q, want one of %s, %s, %s", c.First, Lowest, Highest, Largest)
	case c.Period < 0:
		return fmt.Errorf("period %v, want 0 or more", c.Period)
	}
	return nil
}
