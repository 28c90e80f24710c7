package cli

import (
	"fmt"
	"syscall"
	"time"
)

// cpuTime is the CPU time, user and system, that the process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("clustergym: getrusage: %v", err)) // fails only for arguments that are wrong
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
