// Package phrase formats numbers and lists of names as people write them.
package phrase

import (
	"fmt"
	"strconv"
	"strings"
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

// Quantity returns a number with four significant digits and its noun: "0.5 GPUs".
func Quantity(n float64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatFloat(n, 'g', 4, 64) + " " + noun
}

// Few returns one or two names, or the first name and the number of others.
func Few(names []string) string {
	if len(names) > 2 {
		return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
	}
	return strings.Join(names, ", ")
}
