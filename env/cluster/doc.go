// Package cluster models a GPU cluster at one instant: servers, jobs, the placements that bind them, and the transaction
// through which a scheduler changes them. It knows nothing of how time advances, of learning or of Kubernetes: the simulator
// and a production adapter build the same State, open the same Txn and carry out the same Ops.
//
// Feasibility is decided here and nowhere else. Units: time is time.Duration since the episode's start, GPU shares are
// thousandths of a GPU, CPU is thousandths of a core, memory is MiB.
package cluster
