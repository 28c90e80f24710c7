package runtimes

import (
	"bytes"
	"fmt"
)

// card describes a network for readers.
func card(r *Recipe, result *Result) []byte {
	var b bytes.Buffer
	c := &r.Beliefs
	fmt.Fprintf(&b, `# A network that predicts run times

`+"`clustergym train beliefs`"+` fitted it with seed %d: %d members of 2 hidden layers of %d units, which correct what the
history of a user and a number of workers says. run.yaml has all settings and the scenarios. To use it, add
`+"`+know:seen=training:time=learned:from=FOLDER`"+` to the name of a policy.

It was fitted on the training splits of the scenarios below, and each member was kept as it did best on the validation
splits: the table is therefore a little too good. Policies that use it must be judged on the test splits.

On the validation splits, for jobs when they are submitted: the mean logarithm of the probability of the bin in which the
job ended (nats, higher is better), and the percentage of run times in intervals that should contain 80 %%.

| scenario | jobs | age | history | learned | age | history | learned |
|---|---|---|---|---|---|---|---|
`, c.Seed, c.Members, c.Hidden)
	for i, s := range result.Scores {
		fmt.Fprintf(&b, "| %s | %d | %.3f | %.3f | %.3f | %.1f %% | %.1f %% | %.1f %% |\n", r.Workloads[i].Scenario, s.Age.Jobs,
			s.Age.Likelihood, s.History.Likelihood, s.Learned.Likelihood,
			100*s.Age.Inside, 100*s.History.Inside, 100*s.Learned.Inside)
	}
	return b.Bytes()
}
