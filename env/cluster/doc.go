// Package cluster models a GPU cluster at one instant: servers, jobs, the placements of jobs on servers, and the transaction
// through which a scheduler changes placements. It does not depend on how time advances, on learning or on Kubernetes. The
// simulator and a production adapter (both are called drivers) build the same State, open the same Txn and carry out the same
// Ops.
//
// This package alone decides which operations are feasible. Units: time is time.Duration since the episode's start, GPU shares
// are thousandths of a GPU, CPU is thousandths of a core, memory is MiB.
package cluster
