// Package phrase formats numbers as people write them.
package phrase

import (
	"fmt"
	"time"
)

// Count returns a number with its noun: "1 window", "2 windows".
func Count[N int | int32 | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Seconds formats a time in seconds, in a suitable unit: "90s", "15.0min", "6.5h", "3.0d".
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

// Time formats a duration like Seconds.
func Time(d time.Duration) string { return Seconds(d.Seconds()) }
