// Package baselines contains the schedulers that learned policies are compared with. Each implements cluster.Scheduler, and one
// registry makes them by name, with options. Orders of jobs, which decide which job starts next, are in this package, one idea a
// file; a placer of package placement decides where the job starts and with which amounts. Schedulers that decide both at once,
// or keep a model of their own, are in packages below this one. Package baselines/all adds the baseline that predicts with
// forests, so that a program that decides in production need not link these. Baselines that only comparisons of papers play are
// in the studies.
package baselines
