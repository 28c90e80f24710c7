package baselines

import "fmt"

// gone contains policies that served only experiments of papers, and what to use in place of each. The studies have those that
// their experiments play.
var gone = map[string]string{
	"spjf":         "sjf+know:time=history",
	"spwf":         "qssf+know:time=history",
	"wcs-duration": "sjfskip+know:time=history",
	"wcs-workload": "qssf:backfill=easy+know:time=history",
	"wcs-subtime":  "fjf:place=heavy-edge",

	"opportunistic": "fifo+loan",
	"gandiva":       "lyra",
	"afs":           "lyra",
	"optimus":       "lyra",
}

// leaves returns the error about a policy that is gone.
func leaves(policy, base string) error {
	return fmt.Errorf("policy %q: %s served only experiments of papers, which are now in clustergym-studies; use %s",
		policy, base, gone[base])
}
