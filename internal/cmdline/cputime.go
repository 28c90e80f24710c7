package cmdline

import (
	"fmt"
	"syscall"
	"time"
)

// CPUTime returns the CPU time, user plus system, that the process has used so far.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("cmdline: getrusage: %v", err)) // fails only for invalid arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
