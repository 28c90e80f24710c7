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

// Reference is the policy that the costs of all others are divided by: least attained service, which needs neither run times nor
// a training split and plays every task.
const Reference = "las:place=compact"

const (
	// Learns is the suffix of policies that learn run times and speeds, beginning with what the training split of the task shows.
	Learns   = "+know:speed=fit:seen=training"
	released = "released"
)

// Standard returns the policies that are played by default. The parameter prior is the prior of the released policy, by name.
func Standard(prior string) []Entry {
	all := []Entry{
		{Reference, Reference, Reference},
		{"qssf:backfill=easy", "qssf:backfill=easy", "qssf:backfill=easy+know:time=history:by=mean:seen=training"},
	}
	const best = "index"
	for _, name := range []string{
		"sjfskip:place=compact", "srtf:place=compact", "srsf:gain=240", "srsf:gain=1000", "srsf:evict=true+menu:places=8+move",
		"serverfilling:place=compact", "gittins:place=compact", "lyra", best, "index:stops=1", "index+move",
	} {
		all = append(all, Entry{name, name, name + Learns})
	}
	return append(all, ofTeam("prior", prior, prior), ofTeam(released, released, prior),
		Entry{"told the truth", best, best + "+know:speed=truth:time=truth"})
}

// ofTeam returns the entry of a policy that is a learned team with the given prior, or that prior. A prior that learns run
// times by itself needs no suffix for it.
func ofTeam(name, policy, prior string) Entry {
	if strings.Contains(prior, "+know") {
		return Entry{name, policy, policy}
	}
	return Entry{name, policy, policy + Learns}
}

// FindStandard returns the standard entry of that name.
func FindStandard(all []Entry, name string) (Entry, bool) {
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}
