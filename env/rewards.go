package env

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/internal/registry"
)

var rewards = registry.New[Reward]("reward").With("flow", Flow{}).With("makespan", Makespan{}).With("p99", P99{Power: 5}).
	With("tenants", Tenants{})

// RegisterReward makes a reward function available to training and the command line under its name. Call it in the first lines of
// main, before anything looks up a reward. Several episodes call the reward concurrently. RegisterReward panics if the name is
// taken.
func RegisterReward(r Reward) { rewards.Add(r.Name(), r) }

// NamedReward returns the reward function with the given name, which its options may follow: "p99:power=4",
// "tenants:ada=3:ben=2". The empty name means Flow. An unknown name and an unknown option are errors.
func NamedReward(text string) (Reward, error) {
	name, options, given := strings.Cut(cmp.Or(text, Flow{}.Name()), ":")
	r, err := rewards.Get(name)
	if err != nil || !given {
		return r, err
	}
	c, ok := r.(configurable)
	if !ok {
		return nil, fmt.Errorf("reward %s: options %q, but it has none", name, options)
	}
	if r, err = c.with(options); err != nil {
		return nil, fmt.Errorf("reward %s: option %w", name, err)
	}
	return r, nil
}

// RewardNames returns the names of all reward functions, without options.
func RewardNames() []string { return rewards.Names() }
