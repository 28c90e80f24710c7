package env

import (
	"cmp"

	"github.com/clustergym/clustergym/internal/registry"
)

var rewards = registry.New[Reward]("reward").With("flow", Flow{})

// RegisterReward makes a reward function available to training and the command line under its name. It is for what no objective
// can say. Call it in the first lines of main, before anything looks up a reward. Several episodes call the reward concurrently.
// RegisterReward panics if the name is taken.
func RegisterReward(r Reward) { rewards.Add(r.Name(), r) }

// NamedReward returns the reward function with the given name. The empty name means Flow. An unknown name is an error.
func NamedReward(name string) (Reward, error) { return rewards.Get(cmp.Or(name, Flow{}.Name())) }

// RewardNames returns the names of all reward functions.
func RewardNames() []string { return rewards.Names() }
