// Package agents is the learned team: every server is an agent, all agents share one set of weights, and together they decide
// which waiting job starts next and where. It holds the network's production forward pass, the decoder that turns bids into
// joint actions without conflict, the cluster.Scheduler around both, and the policy bundle it travels in. It links no
// Gorgonia; agents/learn builds the same network for training, on the same kernels.
//
// The design follows the idea of MAIFS (Li et al., TPDS 2025), whose internals are not public: multi-agent attention shares
// what the agents see, a dynamic coordination graph couples what they choose. A bid is a heuristic prior plus a learned
// residual that starts at zero, so that an untrained team is the heuristic, bit for bit.
package agents
