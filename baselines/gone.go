package baselines

// missing contains policies that this package does not have: those of package baselines/all, and others that served only
// experiments of papers, with what to use in place of each. The studies have those that their experiments play.
var missing = map[string]string{
	"a-srpt":  "",
	"rollout": "",

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
