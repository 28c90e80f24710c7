package control

import (
	"time"
	"unsafe"
)

// both returns a time with a wall clock and a monotonic clock that do not agree, as after somebody set the clock of the machine.
// Package time has no function for that, and the times of a bubble have no monotonic clock.
func both(wall time.Time, monotonic time.Duration) (t time.Time) {
	const hasMonotonic, secondsAt = 1 << 63, 30
	since := time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	layout := (*struct { // of time.Time
		wall uint64
		ext  int64
	})(unsafe.Pointer(&t))
	layout.wall = hasMonotonic | uint64(wall.Unix()-since)<<secondsAt | uint64(wall.Nanosecond())
	layout.ext = int64(monotonic)
	return t
}
