// Package env is the gym contract: a GPU cluster in which every server is an agent. It is PettingZoo's parallel API in Go,
// with buffers owned by the caller. It advances no time and decides no feasibility itself: env/sim and env/cluster do.
//
// The agents of an episode are fixed and ordered: agent i is server i. One Step is one round: every agent answers with one
// Action, the joint action is carried out inside one transaction (Round.Apply says who wins a conflict), and rounds repeat
// at the same simulated instant until a round carries out nothing; then time moves to the next decision point. Steps are
// therefore not equal in time: TimeStep.Elapsed says how much passed (a semi-Markov process), and a discount should be per
// elapsed time.
package env
