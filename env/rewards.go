package env

import (
	"cmp"

	"github.com/clustergym/clustergym/internal/registry"
)

var rewards = registry.New[Reward]("reward").With(Flow{}.Name(), Flow{})

// RegisterReward makes a reward known by its name to training and the command line, before anything uses it, as in the first
// lines of main. Several episodes score by it at a time. A name that is taken panics.
func RegisterReward(r Reward) { rewards.Add(r.Name(), r) }

// NamedReward returns a reward by its name; the empty name is that of Flow.
func NamedReward(name string) (Reward, error) { return rewards.Get(cmp.Or(name, Flow{}.Name())) }

// RewardNames lists the rewards.
func RewardNames() []string { return rewards.Names() }
