package baselines

import (
	"fmt"

	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/cluster"
)

// CutLoan cuts LoanSuffix and its options off a name. It returns the rest of the name and a function that makes a scheduler
// borrow servers with these options; the function is nil if the name has no such suffix.
func CutLoan(name string) (inner string, borrow func(cluster.Scheduler) cluster.Scheduler, err error) {
	inner, options, found := cutSuffix(name, LoanSuffix)
	if !found {
		return name, nil, nil
	}
	var s option.Set
	c := loan.Default()
	loans(&s, &c)
	if err := s.Parse(options); err != nil {
		return name, nil, fmt.Errorf("policy %q: %s: %w", name, LoanSuffix, err)
	}
	suffix := name[len(inner):]
	return inner, func(s cluster.Scheduler) cluster.Scheduler { return loan.New(s.Name()+suffix, s, c) }, nil
}

// borrowers describes LoanSuffix.
func borrowers() Baseline {
	return Baseline{
		LoanSuffix, "behind any policy: it borrows servers of the inference pool",
		"Every server that is offered is borrowed. Of those that are owed, idle ones go back first, then those from which all jobs" +
			" can be scaled in, then those whose jobs run on the fewest others besides.",
		"Lyra (Li et al., EuroSys 2023), §4 and §5.3: the resource orchestrator", "what the inference pool offers",
		func(s *Settings) maker {
			c := loan.Default()
			loans(&s.Set, &c)
			return nil
		},
	}
}

// loans declares the options of borrowing servers and returning them.
func loans(s *option.Set, c *loan.Config) {
	option.Choice(s, &c.Policy, "reclaim", []loan.Policy{loan.Lyra, loan.SCF, loan.Random},
		"which servers go back where jobs must be stopped: least preemption cost, fewest jobs, or any",
		"Lyra, §4; the others are its rivals")
	s.Gone("cost", "limit", "flexible", "borrow", "first", "period")
}
