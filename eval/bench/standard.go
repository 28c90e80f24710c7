package bench

import (
	"slices"
	"strings"
)

// Entry is a policy of the benchmark. A policy that is told run times and speeds is another one than a policy that has to learn
// them, so it has two settings: for tasks that tell them, and for tasks that do not. Both are policies as eval takes them.
type Entry struct {
	Name   string `json:"policy"`
	Told   string `json:"told"`
	Untold string `json:"untold"`
}

// On returns the setting of the entry for a task.
func (e *Entry) On(told bool) string {
	if told {
		return e.Told
	}
	return e.Untold
}

// Reference is the policy that the completion times of all others are divided by: least attained service, which needs neither run
// times nor a training split and plays every task.
const Reference = "las:place=compact"

const (
	// learns lets a policy learn run times and speeds, beginning with what it learned on the training split of the task.
	learns = "+know:speed=fit:seen=training"
	// careful lets a policy with fixed demands learn run times. It leaves speeds alone: it does not choose by them.
	careful  = "+know:speed=none"
	released = "released"
)

// Standard returns the policies that are played by default. Each has the strongest settings that are known; docs/bench.md says
// how they were chosen. The parameter prior is the prior of the released policy, by name.
func Standard(prior string) []Entry {
	both := func(name string) Entry { return Entry{name, name, name} }
	with := func(suffix string, names ...string) (all []Entry) {
		for _, name := range names {
			all = append(all, Entry{name, name, name + suffix})
		}
		return all
	}
	all := []Entry{both(Reference), both("las:evict=true:place=compact"), both("fjf"), {"qssf:backfill=easy", "qssf:backfill=easy",
		"qssf:backfill=easy+know:time=history:by=mean:seen=training"}}
	all = append(all, with(learns+":time=history", "sjfskip+menu", "lucid")...)
	all = append(all, with(careful, "srsf:place=compact", "srsf:evict=true:place=compact", "serverfilling:place=compact")...)
	all = append(all, with(learns, "las+menu+move", "gittins+menu+move", "srsf+menu+move", "srsf+menu+move+loan",
		"srsf+menu:places=8:idle=true+move", "srsf:evict=true+menu:places=8:idle=true+move", "synergy",
		"lyra+loan")...)
	const srpt = "a-srpt:predictor=granted:backfill=true+menu"
	all = append(all, with(learns+":time=history", srpt)...)
	all = append(all, ofTeam("prior", prior, prior), ofTeam(released, released, prior))
	const truth = "srsf:evict=true+menu:places=8:idle=true+move"
	return append(all, Entry{"told the truth", truth, truth + "+know:speed=truth:time=truth"})
}

// ofTeam returns the entry of a policy that is a learned team with the given prior, or that prior. A prior that learns run
// times by itself needs no suffix for it.
func ofTeam(name, policy, prior string) Entry {
	if strings.Contains(prior, "+know") {
		return Entry{name, policy, policy}
	}
	return Entry{name, policy, policy + learns}
}

// FindStandard returns the standard entry of that name.
func FindStandard(all []Entry, name string) (Entry, bool) {
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}
