package loan

import (
	"fmt"
	"slices"
	"time"
)

// Config are the options of the orchestrator.
type Config struct {
	// Policy chooses among the servers that cannot go back unless a job is stopped. The default is Lyra's (EuroSys 2023, §4).
	Policy Policy
	// Flexible scales jobs in if that keeps them from being stopped, and first returns the servers for which scaling in suffices.
	// The default is true (§5.3). That servers with the fewest such workers go first is reconstructed. With false every job on a
	// returned server is stopped: loaning only.
	Flexible bool
	// Borrow decides how many of the servers offered to borrow. The default is All (§6).
	Borrow Borrow
	// First decides which servers to borrow first. The paper does not say; Lowest is the default and an own choice.
	First Order
	// Period is the time between two rounds of borrowing and returning servers, which take place at its multiples. The default 0,
	// an own choice, is a round at every decision point; the paper's orchestrator acts every 5 minutes (§7.1). Servers that would
	// be overdue before the next round go back at once.
	Period time.Duration
}

// Policy decides which servers go back.
type Policy string

// The values of Policy.
const (
	Lyra   Policy = "lyra"   // the least preemption cost first; each choice changes the costs of the other servers (§4)
	SCF    Policy = "scf"    // the servers with the fewest jobs (§7.1)
	Random Policy = "random" // any servers (§7.1)
)

// Borrow decides how many servers to borrow.
type Borrow string

// The values of Borrow.
const (
	All Borrow = "all" // all that are offered
	// Needed borrows as many servers as contain the GPUs that waiting jobs ask for beyond the free ones; it counts only jobs that
	// may run on these servers. It borrows all servers if nothing runs and some job does not fit. A server on loan stays on loan
	// until it is owed. Own choice.
	Needed Borrow = "needed"
)

// Order decides which servers to borrow first.
type Order string

// The values of Order.
const (
	Lowest  Order = "lowest"  // ids ascending
	Highest Order = "highest" // ids descending
	Largest Order = "largest" // by GPUs, most first, then ids ascending
)

// Default returns the options of Lyra's orchestrator, with a round at every decision point.
func Default() Config {
	return Config{
		Policy: Lyra, Flexible: true, Borrow: All, First: Lowest,
	}
}

// validate returns an error about the first field that is out of range.
func (c Config) validate() error {
	switch {
	case !slices.Contains([]Policy{Lyra, SCF, Random}, c.Policy):
		return fmt.Errorf("policy %q, want one of %s, %s, %s", c.Policy, Lyra, SCF, Random)
	case c.Borrow != All && c.Borrow != Needed:
		return fmt.Errorf("borrow %q, want %s or %s", c.Borrow, All, Needed)
	case !slices.Contains([]Order{Lowest, Highest, Largest}, c.First):
		return fmt.Errorf("first %q, want one of %s, %s, %s", c.First, Lowest, Highest, Largest)
	case c.Period < 0:
		return fmt.Errorf("period %v, want 0 or more", c.Period)
	}
	return nil
}
