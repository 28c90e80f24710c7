package train

import "github.com/clustergym/clustergym/env"

// Compared says in which words results by a reward are told, named as in Config.Reward: what is divided by the prior's, and in
// which unit a choice saves. Only the usual reward is about completion times.
func Compared(reward string) (what, unit string) {
	if reward == "" || reward == (env.Flow{}).Name() {
		return "mean JCT", "job-h"
	}
	return "cost", "reward units"
}
