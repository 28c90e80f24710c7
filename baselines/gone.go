package baselines

import "fmt"

// gone contains the policies that clustergym had and now has only in its studies, and what to use in place of each.
var gone = map[string]string{
	"spjf":         "sjf+know:time=history",
	"spwf":         "qssf+know:time=history",
	"wcs-duration": "sjfskip+know:time=history",
	"wcs-workload": "qssf:backfill=easy+know:time=history",
	"wcs-subtime":  "fjf:place=heavy-edge",

	"opportunistic": "fifo+loan",
}

// leaves returns the error about a policy that is gone.
func leaves(policy, base string) error {
	return fmt.Errorf("policy %q: %s serves only experiments of papers and is now only in clustergym-studies; use %s", policy, base, gone[base])
}
