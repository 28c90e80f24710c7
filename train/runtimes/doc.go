// Package runtimes fits the network with which package belief predicts how long jobs run. It plays the training split of
// scenarios to a belief.Learner, asks at many instants what the learner knows of a job, and fits the network, as a Gorgonia
// graph, to how long the job then ran. Jobs that still run at the end of the split count as jobs that ran at least so long.
//
// Everything is deterministic: the same settings and scenarios give the same bytes, also if a run is killed and resumed.
package runtimes
