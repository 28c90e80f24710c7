package comm

import "fmt"

// Links contains the bandwidths of the links between GPUs in bytes per second. A link with +Inf takes no time.
type Links struct {
	Intra float64 // from each GPU to the other GPUs of its server; a replica of several GPUs uses the links of all of them
	NIC   float64 // of each server, to the other servers; each GPU has an equal share, so a job's time does not depend on other jobs
}

// Validate returns an error about the first field that [Alpha] cannot work with.
func (l Links) Validate() error {
	if !(l.Intra > 0) {
		return fmt.Errorf("intra: %g bytes/s, want more than 0", l.Intra)
	}
	if !(l.NIC > 0) {
		return fmt.Errorf("nic: %g bytes/s, want more than 0", l.NIC)
	}
	return nil
}

// nic returns the bandwidth to other servers of a group of GPUs on one server. The parameter used is the number of GPUs in the
// group, gpus that of the server.
func (l Links) nic(used, gpus int32) float64 {
	return l.NIC * float64(used) / float64(gpus)
}
