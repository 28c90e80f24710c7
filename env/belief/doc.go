// Package belief predicts how long jobs will still run, from what a real cluster knows: what each job requests, who submitted it,
// how long it has run, and how long the jobs ran that have ended. It never sees the true run time of a job that still runs.
//
// A Distribution is a belief about one job. It has the probability of each bin of run time, and answers what it implies about a
// job that has run for some time without ending. A Learner computes the distributions of jobs from the jobs that have ended, and
// summarises each as one remaining time by which schedulers can order jobs.
//
// Run time here is work: the time that the job runs at the speed that it has as requested. Nothing in this package is random, and
// nothing reads the clock: the same calls give the same bits on the same kind of processor.
package belief
