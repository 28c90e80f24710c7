// Package comm gives the time of one iteration of a job with mixed parallelism (data, pipeline, tensor) under a mapping
// of its replicas to servers, and finds mappings that keep bytes inside servers. Everything is a pure function of
// numbers; the package knows no cluster state, no time and no scheduler.
//
// Units are seconds, bytes and bytes per second. All functions are deterministic and keep none of their arguments.
//
// # Source
//
// The model follows Luo, Liu, Lee, Shroff: "Prediction-Assisted Online Distributed Deep Learning Workload Scheduling in
// GPU Clusters" (A-SRPT), IEEE INFOCOM 2025, arXiv:2501.05563. Only its abstract and the opening of its introduction
// could be read, so this is a model in the style of A-SRPT and no number that comes out of it is the paper's.
//
// From the source: jobs mix data, model and pipeline parallelism; a job is a graph made from its model and its training
// configuration; it is mapped so as to keep communication between servers small.
//
// Reconstructed, with the confidence that the paper does essentially this:
//
//   - a stage's replicas, compute time, gradient bytes and activation bytes: 85 %; the cluster with one bandwidth inside
//     servers and one NIC for each server: 80 %;
//   - the exact form of [Alpha]: 50 %; the slowest stage sets the pace (55 %) or the stages add up (20 %), see [Combine];
//     a job has its GPUs' share of a NIC (55 %) or all of it (45 %), see [NICShare];
//   - α_min and α_max, here [Best] and [Worst]: the terms are the paper's, their meaning 75 %;
//   - the job graph behind [Cut] and [HeavyEdge]: 75 %, with the all-reduce as a ring rather than a complete graph;
//   - [HeavyEdge]: the name is the paper's, its steps 65 %.
//
// Choices of this package, without a claim on the paper: everything about tensor parallelism (Job.Tensor,
// Stage.TensorBytes), the multiplier on the NICs, the order of [Ranks], and which mappings [Best] tries.
package comm
