// Package baselines holds the schedulers that learned policies are measured against, each behind cluster.Scheduler, with one
// registry that makes them by name, with options. Orders of jobs, which say who starts and when, stand here, one idea a file;
// where a job starts, and with how much, is up to a placer of package place. Systems that decide both at once, or keep a model of
// their own, have packages below. Those that look ahead in the simulator or predict with forests are added by package
// baselines/all, as what decides in production needs to link neither.
package baselines
