package measure

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Annotation is the annotation of a pod in which a job reports the throughput of its whole gang, as NUMBER@INSTANT: the number is
// in any unit, which has to stay the same, and the measurement ended at the instant, as in 1843.2@2026-11-25T20:00:00Z.
const Annotation = "clustergym.dev/throughput"

// longestReport is the most bytes of a report, and skew the longest time by which the clock of a job may be ahead.
const (
	longestReport = 64
	skew          = time.Minute
)

// fastest is the highest throughput that is believed.
const fastest = 1e15

// reported is a throughput and the instant at which its measurement ended.
type reported struct {
	speed float64
	at    time.Time
}

// parseReport reads the value of the annotation. An instant a little after now counts as now.
func parseReport(value string, now time.Time) (r reported, err error) {
	if len(value) > longestReport {
		return r, fmt.Errorf("%d bytes, want at most %d", len(value), longestReport)
	}
	number, instant, ok := strings.Cut(value, "@")
	if !ok {
		return r, fmt.Errorf("%q, want NUMBER@INSTANT, as in 1843.2@2026-11-25T20:00:00Z", value)
	}
	if r.speed, err = strconv.ParseFloat(number, 64); err != nil || !plausible(r.speed) {
		return r, fmt.Errorf("throughput %q, want a number above 0 and up to %g", number, float64(fastest))
	}
	if r.at, err = time.Parse(time.RFC3339Nano, instant); err != nil || r.at.Year() < 1970 {
		return r, fmt.Errorf("instant %q, want one such as 2026-11-25T20:00:00Z", instant)
	}
	if r.at.After(now.Add(skew)) {
		return r, fmt.Errorf("instant %q is in the future", instant)
	}
	if r.at.After(now) {
		r.at = now
	}
	return r, nil
}

// plausible reports whether a number can be a throughput.
func plausible(speed float64) bool { return speed > 0 && speed <= fastest } // false for NaN
