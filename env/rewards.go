package env

import (
	"cmp"

	"github.com/clustergym/clustergym/internal/registry"
)

var rewards = registry.New[Reward]("reward").With(Flow{}.Name(), Flow{})

// RegisterReward lets training and the command line find a reward function by its name. Call it in the first lines of main,
// before anything looks a reward up. Several episodes call the reward at a time. RegisterReward panics if the name is taken.
func RegisterReward(r Reward) { rewards.Add(r.Name(), r) }

// NamedReward returns the reward function of a name. The empty name stands for Flow. An unknown name is an error.
func NamedReward(name string) (Reward, error) { return rewards.Get(cmp.Or(name, Flow{}.Name())) }

// RewardNames lists the names of all reward functions.
func RewardNames() []string { return rewards.Names() }
