// Package observe turns a cluster's state and the candidates for it into rows of numbers, which learners observe. An Encoder
// writes these rows; Standard is the built-in encoder. Most of its numbers are ratios, which do not depend on the size of the
// cluster, so that what is learned on one cluster applies to others.
//
// The files: observation.go defines what an encoder fills. encoder.go and window.go choose which jobs are shown. rows.go,
// freeforecast.go, demand.go, speeds.go and firstheldjob.go compute the rows of servers, jobs and the cluster;
// candidateeffects.go and candidaterow.go those of candidates; uncertain.go adds numbers that say how uncertain beliefs are,
// costs.go those of an objective. features.go and candidatefeatures.go name all others.
package observe
