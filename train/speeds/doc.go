// Package speeds fits the network with which package belief corrects what its regression says of the speed of jobs. It plays
// windows of scenarios on many clusters, each with models of other speeds, asks at many instants what the regression believes of
// a job in two configurations, and fits the network, as a Gorgonia graph, to how fast the job truly was, or was measured.
//
// Everything is deterministic: the same settings and scenarios give the same bytes, also if a run is killed and resumed.
package speeds
