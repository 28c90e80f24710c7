// Package trace reads and generates workloads. It reads job traces of real clusters, cuts windows out of them, fills in job
// properties that a trace lacks (Mix), sets the estimates that schedulers see, generates synthetic workloads, and computes
// statistics of workloads. It neither places jobs nor simulates time.
//
// Every time in a workload is a whole number of nanoseconds, read exactly from the trace's decimals. Randomness is always an
// argument: the same input and the same seed give the same workload, byte for byte.
package trace
