package baselines

// missing contains policies that this package does not have: that of package baselines/all, and others that served only
// comparisons of papers, with what to use in place of each. The table of studies/rivals has most of them.
var missing = map[string]string{
	"a-srpt": "",

	"spjf":         "sjf+know:time=history",
	"spwf":         "qssf+know:time=history",
	"wcs-duration": "sjfskip+know:time=history",
	"wcs-workload": "qssf:backfill=easy+know:time=history",
	"wcs-subtime":  "fjf:place=heavy-edge",

	"gavel":         "las+menu+move",
	"rollout":       "sjfskip+menu",
	"opportunistic": "fifo+loan",
	"pollux":        "lyra",
	"gandiva":       "lyra",
	"afs":           "lyra",
	"optimus":       "lyra",
}
