package env

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

var (
	rewards   = map[string]Reward{Flow{}.Name(): Flow{}}
	rewarding sync.RWMutex
)

// RegisterReward makes a reward known by its name to training and the command line, before anything uses it, as in the first
// lines of main. Several episodes score by it at a time. A name that is taken panics.
func RegisterReward(r Reward) {
	rewarding.Lock()
	defer rewarding.Unlock()
	if _, taken := rewards[r.Name()]; taken || r.Name() == "" {
		panic(fmt.Sprintf("env: register reward %q: want a new name", r.Name()))
	}
	rewards[r.Name()] = r
}

// NamedReward returns a reward by its name; the empty name is that of Flow.
func NamedReward(name string) (Reward, error) {
	rewarding.RLock()
	defer rewarding.RUnlock()
	if name == "" {
		return Flow{}, nil
	}
	r, known := rewards[name]
	if !known {
		return nil, fmt.Errorf("reward %q is not part of this program, which has %s", name,
			strings.Join(slices.Sorted(maps.Keys(rewards)), ", "))
	}
	return r, nil
}
