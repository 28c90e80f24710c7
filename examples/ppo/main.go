// Command ppo is clustergym with one more command, which learns to schedule by PPO in one of two ways: every server decides for
// itself (ippo), or one controller decides for all (central). Both use nothing of the environment but its interface: rows of
// numbers, masks, rewards and the time that passes.
//
//	go run ./ppo ppo --scenario embedded-small-v1 --prior fifo --agree lead
//	go run ./ppo ppo --toy agree --who central
package main

import "github.com/clustergym/clustergym/cli"

func main() {
	var s settings
	cli.Main(cli.Learner{Name: "ppo", About: "Learn by PPO, every server for itself or one for all", Flags: s.flags, Learn: s.learn})
}
