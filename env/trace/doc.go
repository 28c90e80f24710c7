// Package trace holds workloads: it reads job traces of real clusters, cuts them into windows, gives jobs what a trace
// leaves open, grants estimates, generates synthetic ones and describes either. It reads machine lists of real clusters too. It
// does not place jobs, and no time passes in it.
//
// Every time in a workload is a whole number of nanoseconds, read exactly from the trace's decimals. Randomness is always an
// argument: the same input and the same seed give the same workload, byte for byte.
package trace
