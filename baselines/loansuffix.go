package baselines

import (
	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/baselines/option"
)

// borrowers describes LoanSuffix.
func borrowers() Baseline {
	return Baseline{
		LoanSuffix, "behind any policy: it borrows servers of the inference pool",
		"Every server that is offered is borrowed. Of those that are owed, idle ones go back first, then those from which all jobs" +
			" can be scaled in, then those whose jobs run on the fewest others besides.",
		"Lyra (Li et al., EuroSys 2023), §4 and §5.3: the resource orchestrator", "what the inference pool offers",
		declares(loans),
	}
}

// loans declares the options of borrowing servers and returning them.
func loans(s *option.Set) *loan.Config {
	c := loan.Default()
	option.Choice(s, &c.Policy, "reclaim", []loan.Policy{loan.Lyra, loan.SCF, loan.Random},
		"which servers go back where jobs must be stopped: least preemption cost, fewest jobs, or any",
		"Lyra, §4; the others are its rivals")
	s.Gone("cost", "limit", "flexible", "borrow", "first", "period")
	return &c
}
