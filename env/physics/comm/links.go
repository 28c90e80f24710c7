package comm

import "fmt"

// NICShare says how much of a server's NIC a job has.
type NICShare uint8

// Proportional is the default.
const (
	Proportional NICShare = iota // each GPU has an equal share, so that a job's time does not depend on other jobs
	Full                         // each stage has the whole NIC
)

// Links is what connects GPUs, in bytes per second; +Inf makes a link free.
type Links struct {
	Intra    float64 // of each GPU to the others of its server; a replica of several GPUs moves its bytes over all of them
	NIC      float64 // of each server
	NICShare NICShare
}

// Validate reports the first field that [Alpha] cannot work with.
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

// nic is the bandwidth that used of a server's GPUs have to the other servers.
func (l Links) nic(used, gpus int32) float64 {
	if l.NICShare == Full {
		return l.NIC
	}
	return l.NIC * float64(used) / float64(gpus)
}
