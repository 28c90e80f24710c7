package loan

import (
	"fmt"
	"slices"
)

// Config are the options of the orchestrator.
type Config struct {
	// Policy chooses among the servers that cannot go back unless a job is stopped. The default is Lyra's (EuroSys 2023, §4).
	Policy Policy
	// Flexible scales jobs in if that keeps them from being stopped, and first returns the servers for which scaling in suffices.
	// The default is true (§5.3). That servers with the fewest such workers go first is reconstructed. With false every job on a
	// returned server is stopped: loaning only.
	Flexible bool
}

// Policy decides which servers go back.
type Policy string

// The values of Policy.
const (
	Lyra   Policy = "lyra"   // the least preemption cost first; each choice changes the costs of the other servers (§4)
	SCF    Policy = "scf"    // the servers with the fewest jobs (§7.1)
	Random Policy = "random" // any servers (§7.1)
)

// Default returns the options of Lyra's orchestrator.
func Default() Config { return Config{Policy: Lyra, Flexible: true} }

// validate returns an error about a policy that does not exist.
func (c Config) validate() error {
	if all := []Policy{Lyra, SCF, Random}; !slices.Contains(all, c.Policy) {
		return fmt.Errorf("policy %q, want one of %q", c.Policy, all)
	}
	return nil
}
