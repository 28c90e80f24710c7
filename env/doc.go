// Package env makes a simulated GPU cluster into a multi-agent environment. Every server is an agent: it has its own observation
// and its own action, and its own reward if the reward function gives one. The interface is PettingZoo's parallel API in Go, and
// the caller owns all buffers.
//
// Package game defines what agents observe and may do at one instant. It does not depend on the simulator, so the same rounds can
// also schedule a production cluster. Package env adds the simulator, time and rewards.
//
// The agents of an episode are fixed and ordered: agent i is server i. One Step is one round: every agent names a candidate or
// passes, and the candidates that are agreed on are carried out inside one transaction. Rounds follow each other at the same
// simulated instant until nothing is left to decide. Then time moves to the next decision point at which there is a choice.
//
// Steps are therefore not of equal length in time (a semi-Markov process). TimeStep.Elapsed says how much simulated time has
// passed, and a learner should discount by it rather than by the number of steps.
package env
