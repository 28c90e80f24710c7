// Package asrpt schedules in the style of A-SRPT. A virtual machine, a single machine that stands for the whole cluster, runs
// all jobs by preemptive shortest remaining processing time, using predictions only. On the real cluster jobs start, without
// preemption, in the order in which they end on the virtual machine.
//
// # Source
//
// Luo, Liu, Lee, Shroff: "Prediction-Assisted Online Distributed Deep Learning Workload Scheduling in GPU Clusters" (A-SRPT),
// IEEE INFOCOM 2025, arXiv:2501.05563. Only its abstract and the beginning of its introduction could be read. This is therefore
// a scheduler in the style of A-SRPT, and none of its results are the paper's.
//
// From the source: random-forest regression over recurring jobs predicts the number of training iterations. The problem is
// mapped to one machine and solved there by preemptive SRPT, and that solution guides the schedule of the cluster. Jobs are
// mapped to GPUs so that communication between servers is small.
//
// Reconstructed, with the confidence that the paper does essentially this:
//
//   - the work on the virtual machine, (GPUs of the job / GPUs of the cluster) x predicted iterations x α_min: 80 %; α_min rather
//     than another α: 65 %; what really happens never corrects the virtual machine: 70 %;
//   - a job starts after it has ended on the virtual machine (70 %), or as soon as GPUs are free, in projected order (30 %),
//     see [StartRule]; the first job in the queue blocks the others (60 %), see [Backfill];
//   - the delay rule for jobs that communicate much: the paper has one; its form: 45 %; other jobs may overtake a job that it
//     holds back: 55 %; its constants are our own;
//   - servers: as few as possible (65 %), the fullest if one can hold the job (45 %), see [NewHeavyEdge]; for the mapping by
//     heavy edges, see env/physics/comm.
//
// The paper states a competitive guarantee, whose form we do not know. [New] states what holds for this code.
package asrpt
