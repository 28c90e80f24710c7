package trace

import (
	"strconv"
	"strings"
	"time"
)

// maxTime is the upper limit of every submit time and duration: a hundred years, so that sums of two never overflow.
const maxTime = 100 * 365 * 24 * time.Hour

// The limits of what one job may ask for are far above any cluster, and small enough that products do not overflow.
const (
	maxWorkers = 1 << 20
	maxMilli   = 1 << 30 // CPU milli or MiB of one worker
)

// parseDecimal reads an unsigned decimal such as 12, 12.5 or .5 exactly, as an integer in units of 10^-digits. It returns false
// if s is not such a number, needs more digits than that, or does not fit into an int64.
func parseDecimal(s string, digits int) (int64, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	frac = strings.TrimRight(frac, "0")
	if len(frac) > digits || s == "" || s == "." {
		return 0, false
	}
	var v int64
	for _, part := range [...]string{whole, frac} {
		for i := range len(part) {
			d := int64(part[i]) - '0'
			if d < 0 || d > 9 || v > (1<<63-1-d)/10 {
				return 0, false
			}
			v = 10*v + d
		}
	}
	for range digits - len(frac) {
		if v > (1<<63-1)/10 {
			return 0, false
		}
		v *= 10
	}
	return v, true
}

// parseSeconds reads decimal seconds exactly, with at most nine decimals. It returns false above maxTime.
func parseSeconds(s string) (time.Duration, bool) {
	ns, ok := parseDecimal(s, 9)
	return time.Duration(ns), ok && time.Duration(ns) <= maxTime
}

// appendSeconds appends d, which must not be negative, as the shortest decimal from which parseSeconds returns d.
func appendSeconds(b []byte, d time.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/time.Second), 10)
	frac := int64(d % time.Second)
	if frac == 0 {
		return b
	}
	digits := strconv.AppendInt(nil, int64(time.Second)+frac, 10)
	digits[0] = '.'
	return append(b, strings.TrimRight(string(digits), "0")...)
}
