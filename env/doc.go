// Package env is a simulated GPU cluster behind a gym contract: every server is an agent, with its own observation, its own
// action and, if the reward says so, its own reward. It is PettingZoo's parallel API in Go, with buffers owned by the caller.
//
// What agents see and may do at one instant is package game, which knows no simulator: a production cluster is decided by the
// same rounds. Package env adds the simulator, time and rewards.
//
// The agents of an episode are fixed and ordered: agent i is server i. One Step is one round: every agent names a candidate or
// passes, what is agreed on is carried out inside one transaction, and rounds follow at the same simulated instant until nothing
// is left to decide. Then time moves to the next decision point at which there is a choice. Steps are therefore not equal in
// time: TimeStep.Elapsed says how much passed (a semi-Markov process), and a discount should be per elapsed time.
package env
