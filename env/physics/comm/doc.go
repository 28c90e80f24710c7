// Package comm computes the time of one iteration of a job with mixed parallelism (data, pipeline, tensor), given a mapping of
// its replicas to servers. It also finds mappings that keep traffic inside servers. Its functions are pure: the package does not
// depend on the cluster state, a clock or a scheduler.
//
// Units are seconds, bytes and bytes per second. All functions are deterministic and keep none of their arguments.
//
// # Source
//
// The model follows Luo, Liu, Lee, Shroff: "Prediction-Assisted Online Distributed Deep Learning Workload Scheduling in GPU
// Clusters" (A-SRPT), IEEE INFOCOM 2025, arXiv:2501.05563. We could read only its abstract and the beginning of its introduction.
// So this is a model in the style of A-SRPT, and none of its results is a number of the paper.
//
// From the source: jobs mix data, model and pipeline parallelism; a job is a graph built from its model and its training
// configuration; the scheduler maps the graph so that little communication crosses servers.
//
// Reconstructed, each with our confidence that the paper does essentially the same:
//
//   - a stage's replicas, compute time, gradient bytes and activation bytes: 85 %; the cluster with one bandwidth inside
//     servers and one NIC for each server: 80 %;
//   - the exact form of [Alpha]: 50 %; that the slowest stage determines the time, and that a job gets its GPUs' share of a
//     NIC: 55 %;
//   - α_min and α_max, here [Best] and [Worst]: the terms are the paper's, their meaning 75 %;
//   - the job graph behind [Cut] and [HeavyEdge]: 75 %, with the all-reduce as a ring rather than a complete graph;
//   - [HeavyEdge]: the name is the paper's, its steps 65 %.
//
// Choices of this package, which we do not attribute to the paper: everything about tensor parallelism (Job.Tensor,
// Stage.TensorBytes), the multiplier on the NICs, the order of [Ranks], and the mappings that [Best] tries.
package comm
