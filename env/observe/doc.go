// Package observe shows a cluster's state, and what could be done in it, as rows of numbers for learners. An Encoder is what
// writes them; Standard is the one that comes with the program. Its numbers are ratios without units of size, so that what is
// learned on one cluster carries over to others.
//
// The files: observation.go is what an encoder fills, encoder.go and window.go choose which jobs are shown, rows.go, outlook.go,
// demand.go, speeds.go and head.go work out the rows of servers, jobs and the cluster, trial.go and candidaterow.go those of
// candidates; features.go and candidatefeatures.go name the numbers.
package observe
