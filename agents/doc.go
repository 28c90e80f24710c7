// Package agents implements the learned team. Every server is an agent, all agents share one set of weights, and together they
// bid for the candidates of a decision. The team reviews the proposals of its prior, a base policy that can be any baseline.
// Package env/candidates walks through the prior's proposals and finds candidates; the team chooses among them. The package
// contains the network's production forward pass, the cluster.Scheduler around it, and the reading of policy bundles. It depends
// on neither Gorgonia nor the ONNX writer; agents/learn builds the same network for training, on the same kernels, and
// agents/export writes bundles with an ONNX model.
//
// The design follows the idea of MAIFS (Li et al., TPDS 2025), whose internals are not public: multi-agent attention shares the
// agents' observations, and a dynamic coordination graph couples the agents that act together. The logit of the prior's own
// choice is its bid; the logit of any other candidate is its bid minus the margin. All bids are 0 at first, so an untrained team
// decides exactly as its prior.
//
// The files: policy.go defines what a team consists of; team.go decides; observation.go defines the network's input; network.go
// defines which layer feeds which, for the forward pass in net.go and forward.go as well as for training and ONNX; shape.go and
// params.go define sizes and weights; bundle.go reads and writes bundles.
package agents
