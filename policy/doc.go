// Package policy finds scheduling policies by name, for comparisons, for production and for the command line. A name stands for
// a baseline, for the policy released with the program, for a prior (the base policy that a learned team of agents reviews), or
// for the folder of an exported policy or of a training run. A Policy contains what makes its
// schedulers, its weights, its prior, and the jobs that it was trained on.
package policy
