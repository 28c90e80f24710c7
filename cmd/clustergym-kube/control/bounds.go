package control

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// stretch bounds what pods may hold of a resource, as factors on what they requested: least is at most 1, and most at least 1.
type stretch struct{ least, most float64 }

// amountBounds bounds CPU and memory.
type amountBounds struct{ cpu, mem stretch }

// elsewhere stands for all namespaces that are not named.
const elsewhere = "*"

// The limits of the bounds in the control ConfigMap.
const (
	mostSpaces  = 10_000
	leastFactor = 0.1
	mostFactor  = 100
)

const amountsForm = "lines such as team-a: cpu=0.5..4 memory=1..2, with factors from 0.1 to 1 and from 1 to 100"

// readAmounts reads the bounds by namespace: a line for each, such as "team-a: cpu=1..4 memory=1..2". A resource that is not
// named stays as requested.
func readAmounts(text string) (map[string]amountBounds, error) {
	all := map[string]amountBounds{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		bad := func(value string) error { return fmt.Errorf("line %d is %q, want %s", i+1, value, amountsForm) }
		space, rest, ok := strings.Cut(line, ":")
		if space = strings.TrimSpace(space); !ok || space == "" {
			return nil, bad(line)
		}
		if len(all) == mostSpaces {
			return nil, fmt.Errorf("line %d names one namespace more, want at most %d", i+1, mostSpaces)
		}
		if _, twice := all[space]; twice {
			return nil, fmt.Errorf("line %d names %q again, want each namespace once", i+1, space)
		}
		b := amountBounds{stretch{1, 1}, stretch{1, 1}}
		for field := range strings.FieldsSeq(rest) {
			name, bounds, _ := strings.Cut(field, "=")
			low, high, ok := strings.Cut(bounds, "..")
			least, errLow := strconv.ParseFloat(low, 64)
			most, errHigh := strconv.ParseFloat(high, 64)
			if !ok || errLow != nil || errHigh != nil || !(least >= leastFactor && least <= 1) || !(most >= 1 && most <= mostFactor) {
				return nil, bad(field)
			}
			switch name {
			case "cpu":
				b.cpu = stretch{least, most}
			case "memory":
				b.mem = stretch{least, most}
			default:
				return nil, bad(field)
			}
		}
		all[space] = b
	}
	return all, nil
}

// of returns the bounds of an amount that was requested.
func (s stretch) of(requested int32) (least, most int32) {
	return int32(math.Ceil(float64(requested) * s.least)), int32(min(float64(requested)*s.most, math.MaxInt32))
}
