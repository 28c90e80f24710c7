// Package phrase writes numbers as a person says them.
package phrase

import (
	"fmt"
	"time"
)

// Count is a number of things: "1 window", "2 windows".
func Count[N int | int32 | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Seconds is a time in seconds in a unit that suits it: "90s", "15.0min", "6.5h", "3.0d".
func Seconds(seconds float64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%.3gs", seconds)
	case seconds < 2*3600:
		return fmt.Sprintf("%.1fmin", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%.1fh", seconds/3600)
	}
	return fmt.Sprintf("%.1fd", seconds/86400)
}

// Time is a length of time as Seconds has it.
func Time(d time.Duration) string { return Seconds(d.Seconds()) }
