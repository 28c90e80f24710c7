// Package belief predicts how long jobs will still run and how fast they would run elsewhere, from what a real cluster knows:
// what each job requests, who submitted it, how long it has run, how long the jobs ran that have ended, and the measured
// throughputs of running jobs. It never sees the true run time of a job that still runs, nor a true speed.
//
// A Distribution is a belief about the run time of one job. It has the probability of each bin of run time, and answers what it
// implies about a job that has run for some time without ending. A Learner computes the distributions of jobs from the jobs that
// have ended, and summarises each as one remaining time by which schedulers can order jobs. Run time here is work: the time that
// the job runs at the speed that it has as requested.
//
// Speeds is a belief about the speed of jobs in each configuration, relative to that in which they run as requested. It is a
// cluster.Profile, so that placers can decide by it.
//
// A Memory is what a runtime learns of both from what it sees of a cluster in production. It is saved and restored.
//
// Nothing in this package is random, and nothing reads the clock: the same calls give the same bits on the same kind of
// processor.
package belief
