package comm

import "fmt"

// NICShare selects how much of a server's NIC bandwidth a job gets.
type NICShare uint8

// The ways to share a NIC. Proportional is the default.
const (
	Proportional NICShare = iota // each GPU gets an equal share, so a job's time does not depend on other jobs
	Full                         // each stage gets the whole NIC
)

// Links contains the bandwidths of the links between GPUs in bytes per second. A link with +Inf takes no time.
type Links struct {
	Intra    float64 // from each GPU to the other GPUs of its server; a replica of several GPUs uses the links of all of them
	NIC      float64 // of each server, to the other servers
	NICShare NICShare
}

// Validate returns an error about the first field that [Alpha] cannot work with.
func (l Links) Validate() error {
	if !(l.Intra > 0) {
		return fmt.Errorf("intra: %g bytes/s, want more than 0", l.Intra)
	}
	if !(l.NIC > 0) {
		return fmt.Errorf("nic: %g bytes/s, want more than 0", l.NIC)
	}
	if l.NICShare > Full {
		return fmt.Errorf("nic share: %d, want %d (proportional) or %d (full)", l.NICShare, Proportional, Full)
	}
	return nil
}

// nic returns the bandwidth to other servers of a group of GPUs on one server. The parameter used is the number of GPUs in the
// group, gpus that of the server.
func (l Links) nic(used, gpus int32) float64 {
	if l.NICShare == Full {
		return l.NIC
	}
	return l.NIC * float64(used) / float64(gpus)
}
