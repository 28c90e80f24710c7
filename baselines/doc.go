// Package baselines holds the schedulers that learned policies are measured against, one idea a file, each behind
// cluster.Scheduler, with one registry. They decide when and which; where is cluster.State.BestFit's choice: as few servers
// as it finds. Orders and what becomes of a job that does not fit are those of the published simulators.
package baselines
