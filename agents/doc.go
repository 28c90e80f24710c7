// Package agents is the learned team: every server is an agent, all agents share one set of weights, and together they bid for
// what to do in place of what a prior proposes. The prior is any baseline by name; package env/candidates walks through its
// proposals and finds candidates, and the team is the judge among them. The package holds the network's production forward
// pass, the cluster.Scheduler around it, and the policy bundle that it travels in. It links no Gorgonia and writes no ONNX
// models; agents/learn builds the same network for training, on the same kernels, and agents/export writes bundles with a
// model.
//
// The design follows the idea of MAIFS (Li et al., TPDS 2025), whose internals are not public: multi-agent attention shares
// what the agents see, a dynamic coordination graph couples those who act together. A logit is 0 for the prior's own choice and
// minus a margin for every other, plus a bid that is 0 until it is learned, so that an untrained team is its prior, bit for bit.
//
// The files: policy.go is what a team consists of, team.go decides, observation.go is what it reads, network.go says
// which layer of the network feeds which, for the forward pass in net.go and forward.go as for training and ONNX; shape.go and
// params.go say of which size and with which weights, bundle.go reads them.
package agents
