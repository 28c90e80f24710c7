// Package asrpt schedules in the style of A-SRPT: a single machine that stands for the whole cluster runs all jobs by
// preemptive shortest remaining processing time, on predictions alone, and the order in which jobs end there is the order in
// which they start, not preemptively, on the real cluster.
//
// # Source
//
// Luo, Liu, Lee, Shroff: "Prediction-Assisted Online Distributed Deep Learning Workload Scheduling in GPU Clusters"
// (A-SRPT), IEEE INFOCOM 2025, arXiv:2501.05563. Only its abstract and the opening of its introduction could be read, so
// this is a scheduler in the style of A-SRPT, and no number that comes out of it is the paper's.
//
// From the source: the number of training iterations is predicted, by random-forest regression over recurring jobs; the
// problem is mapped to one machine, solved there by preemptive SRPT, and that solution guides the cluster's schedule; jobs
// are mapped to GPUs so as to keep communication between servers small.
//
// Reconstructed, with the confidence that the paper does essentially this:
//
//   - the work on the one machine, GPUs / GPUs of the cluster x predicted iterations x α_min: 80 %, α_min rather than
//     another α 65 %; the machine is never corrected by what really happens: 70 %;
//   - a job starts no sooner than it ends on the machine (70 %) or as soon as GPUs are free, in the projected order (30 %),
//     see [StartRule]; the first in the queue blocks the others (60 %), see Config.Backfill;
//   - the delay rule for jobs that communicate much: that there is one is the paper's, its form 45 %; that others may
//     overtake a job that it holds 55 %. Its constants are this project's own;
//   - servers: as few as possible (65 %), the tightest where one holds the job (45 %), see [NewHeavyEdge]; the mapping by
//     heavy edges: see env/physics/comm.
//
// The paper states a competitive guarantee, in a form that is not known here. What holds for this code is in [New].
package asrpt
