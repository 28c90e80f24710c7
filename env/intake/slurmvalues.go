package intake

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/slurmtext"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// slurmLists is the format of what Slurm's tools print.
var slurmLists = strictjson.Format{
	Key: "slurm", Partial: true, Most: "mostEntries", Limits: map[string]int64{"mostEntries": mostEntries},
	Kinds: map[string]strictjson.Kind{
		"name":    strictjson.As(func(r *strictjson.Reader, to *string) { *to = name(r) }),
		"text":    strictjson.As(func(r *strictjson.Reader, to *string) { *to = text(r) }),
		"last":    strictjson.As(func(r *strictjson.Reader, to *string) { *to = cmp.Or(text(r), *to) }),
		"joined":  strictjson.As(func(r *strictjson.Reader, to *string) { *to = textOrList(r) }),
		"reason":  strictjson.As(func(r *strictjson.Reader, to *string) { *to = reasonOf(text(r)) }),
		"number":  strictjson.As(func(r *strictjson.Reader, to *int64) { *to = maybe(r).n }),
		"maybe":   strictjson.As(func(r *strictjson.Reader, to *optional) { *to = maybe(r) }),
		"words":   strictjson.As(func(r *strictjson.Reader, to *[]string) { *to = words(r) }),
		"states":  strictjson.As(func(r *strictjson.Reader, to *[]string) { *to = append(*to, states(r)...) }),
		"list":    strictjson.As(func(r *strictjson.Reader, to *string) { *to = strings.Join(words(r), ",") }),
		"hosts":   strictjson.As(func(r *strictjson.Reader, to *[]string) { *to = hosts(r) }),
		"amounts": strictjson.As(func(r *strictjson.Reader, to *slurmtext.Amounts) { *to = slurmAmounts(r) }),
		"details": strictjson.As(func(r *strictjson.Reader, to *[]slurmtext.Amounts) { *to = gresDetail(r) }),
		"nodes":   strictjson.As(readAllocated),
	},
}

// optional is a number that may not be set.
type optional struct {
	n   int64
	set bool
}

// Slurm's marks for numbers that are not set.
const (
	noValue  = 1<<32 - 2
	infinite = 1<<32 - 1
)

// maybe reads a number from 0 on, which is plain or an object of set, infinite and number. One that is not set is 0.
func maybe(r *strictjson.Reader) optional {
	const most = 1 << 53 // what every JSON reader can represent
	if v := r.Numeral(); v != nil {
		x, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil || x < 0 || x > most {
			r.Refuse(fmt.Sprintf("a whole number from 0 to %d", int64(most)))
			return optional{}
		}
		return optional{x, x != noValue && x != infinite}
	}
	v, endless := optional{}, false
	r.Fields([]string{"set", "infinite", "number"}, 0, func(field int) {
		switch field {
		case 0:
			v.set = r.Flag()
		case 1:
			endless = r.Flag()
		case 2:
			v.n = r.Number(0, most)
		}
	})
	if !v.set || endless {
		return optional{}
	}
	return v
}

// words reads a list of texts, or one text with commas outside brackets.
func words(r *strictjson.Reader) (all []string) {
	if s, ok := r.String(longestText); ok {
		for _, one := range slurmtext.Split(s) {
			if one != "" {
				all = append(all, one)
			}
		}
		return all
	}
	r.List(mostEntries, func(int) { all = append(all, name(r)) })
	return all
}

// stateMarks are the characters that Slurm appends to the state of a node.
var stateMarks = map[byte]string{
	'*': "NOT_RESPONDING", '~': "POWERED_DOWN", '#': "POWERING_UP", '!': "POWER_DOWN", '%': "POWERING_DOWN", '$': "MAINTENANCE",
	'@': "REBOOT_REQUESTED", '^': "REBOOT_ISSUED", '-': "PLANNED",
}

// states reads the state of a node or a job with its flags, in any of the forms ["IDLE","DRAIN"], "IDLE+DRAIN", "idle" and
// "DOWN*".
func states(r *strictjson.Reader) (all []string) {
	for _, word := range words(r) {
		word, _, _ = strings.Cut(strings.ToUpper(word), " BY ") // CANCELLED by 1001
		for one := range strings.SplitSeq(word, "+") {
			for n := len(one); n > 0 && stateMarks[one[n-1]] != ""; n = len(one) {
				all = append(all, stateMarks[one[n-1]])
				one = one[:n-1]
			}
			if one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}

// hosts reads a list of hosts.
func hosts(r *strictjson.Reader) []string {
	return parsed(r, func(s string) ([]string, error) { return slurmtext.ExpandHosts(s, cluster.MaxServers) })
}

// slurmAmounts reads an amount of resources.
func slurmAmounts(r *strictjson.Reader) slurmtext.Amounts {
	return parsed(r, func(s string) (slurmtext.Amounts, error) { return slurmtext.Parse(s, cluster.MaxGPUs) })
}

// textOrList reads one text, or a list of texts that belong together, which it joins with commas.
func textOrList(r *strictjson.Reader) string {
	if s, ok := r.String(longestText); ok {
		return s
	}
	var all []string
	r.List(mostEntries, func(int) { all = append(all, text(r)) })
	return strings.Join(all, ",")
}

// parsed reads text with the function parse.
func parsed[T any](r *strictjson.Reader, parse func(string) (T, error)) T {
	v, err := parse(textOrList(r))
	if err != nil {
		r.Refuse(err.Error())
	}
	return v
}
