package control

import (
	"testing"
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

// TestBoth checks that both returns times with two clocks.
func TestBoth(t *testing.T) {
	wall := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, by := range []time.Duration{time.Second, -time.Hour, 1000 * time.Hour} {
		was, is := both(wall, time.Hour), both(wall.Add(by), time.Hour+time.Second)
		if !was.Equal(wall) || is.Round(0).Sub(was.Round(0)) != by {
			t.Errorf("the wall clock shows %v and %v, want %v and %v more", was, is, wall, by)
		}
		if got := is.Sub(was); got != time.Second {
			t.Errorf("by the monotonic clock %v have passed, want 1 s", got)
		}
	}
}
