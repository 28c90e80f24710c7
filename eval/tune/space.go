package tune

import "strings"

// Names returns the candidates for a scenario: every rule as it comes, and with the options that change what it does most. What
// rules need that the scenario does not tell is left to the caller.
func Names() []string {
	var all []string
	for _, pattern := range patterns {
		all = append(all, expand(pattern)...)
	}
	return all
}

// patterns are names of policies in which {a,b} stands for a and for b.
var patterns = []string{
	"index{,:stops=1,:stops=4}{,:holds=0,:holds=0.5}{,:place=compact,:place=bestfit,:place=tune}",
	"index{,:stops=1,:stops=4}+move",
	"fifo{,:backfill=easy}{,:place=compact}",
	"fjf{,:place=compact}",
	"sjf{,:backfill=easy}{,:place=compact}",
	"sjfskip{,:place=compact,:place=tune,+menu}",
	"sjfhold{,:place=compact}",
	"qssf{,:backfill=easy}{,:place=compact}",
	"srtf{,:place=compact,:place=tune}{,:gain=4,:gain=60,:gain=240,:gain=1000}",
	"srsf{,:place=compact,:place=tune}{,:gain=4,:gain=60,:gain=240,:gain=1000}",
	"srsf{,:evict=true}+menu{,:places=8}{,+move}",
	"las{,:place=compact}{,:quantum=0,:quantum=16}{,:gain=60,:gain=240}",
	"serverfilling{,:place=compact}",
	"gittins{,:place=compact}",
	"wfp3", "unicep", "f1",
	"a-srpt{,:backfill=easy}", "lyra",
}

// expand returns the names that a pattern stands for, in the order of its alternatives.
func expand(pattern string) []string {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	choices, after, _ := strings.Cut(rest, "}")
	var all []string
	tails := expand(after)
	for choice := range strings.SplitSeq(choices, ",") {
		for _, tail := range tails {
			all = append(all, before+choice+tail)
		}
	}
	return all
}
