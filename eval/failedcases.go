package eval

import (
	"fmt"
	"strings"
)

// FailedError lists the cases of a plan that failed. All other cases are done.
type FailedError struct {
	Cases []Case
	Errs  []error // the reason for each of Cases
	Of    int     // number of cases in the plan
}

// Error has a line for each policy and scenario.
func (e *FailedError) Error() string {
	return fmt.Sprintf("%d of %d cases failed\n  %s", len(e.Cases), e.Of, strings.Join(e.Groups(), "\n  "))
}

// Groups says for each policy and scenario how many cases failed, and why the first of them did.
func (e *FailedError) Groups() (lines []string) {
	type group struct{ scenario, policy string }
	count := map[group]int{}
	for _, c := range e.Cases {
		count[group{c.Scenario, c.Policy}]++
	}
	for i, c := range e.Cases {
		g := group{c.Scenario, c.Policy}
		switch n := count[g]; {
		case n == 1:
			lines = append(lines, e.Errs[i].Error())
		case n > 1:
			lines = append(lines, fmt.Sprintf("%v, and %d more of this policy there", e.Errs[i], n-1))
		}
		delete(count, g)
	}
	return lines
}

// Unwrap returns the errors of the cases.
func (e *FailedError) Unwrap() []error { return e.Errs }
