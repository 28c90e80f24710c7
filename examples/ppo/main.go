// Command ppo is clustergym with one command more, which learns to schedule by PPO in two ways: every server for itself (ippo),
// or one controller for all (central). Both know the environment by its contract alone: rows of numbers, masks, rewards and the
// time that passes.
//
//	go run ./ppo ppo --scenario embedded-small-v1 --prior fifo --agree lead
//	go run ./ppo ppo --toy agree --who central
package main

import "github.com/clustergym/clustergym/cli"

func main() {
	var s settings
	cli.Main(cli.Learner{Name: "ppo", About: "Learn by PPO, every server for itself or one for all", Flags: s.flags, Learn: s.learn})
}
