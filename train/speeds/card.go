package speeds

import (
	"bytes"
	"fmt"
)

// card describes a network for readers.
func card(r *Recipe, result *Result) []byte {
	var b bytes.Buffer
	c := &r.Speeds
	fmt.Fprintf(&b, `# A network that predicts speeds

`+"`clustergym train beliefs --what speeds`"+` fitted it with seed %d: %d members of layers of %d units, which correct what a
regression on measured throughputs says. run.yaml has all settings and the scenarios. To use it, add
`+"`+know:speed=learned:speeds=FOLDER`"+` to the name of a policy, and `+"`:seen=training`"+` to let it begin with readings of the
scenario's training split.

It was fitted on training windows of the scenarios below, each played on %d clusters whose models run at speeds that differ from
the catalogue's by factors of up to %g. Each member was kept as it did best on validation windows, played on %d other clusters:
the table is therefore a little too good. Policies that use it must be judged on the test splits, and on other clusters.

On the validation windows: the root of the mean square error of the logarithm, and the percentage in intervals that should contain
80 %%. Speeds are true ones in configurations that the policy considered. Readings are the next ones of a job that has had one.

| scenario | speeds | fit | learned | fit | learned | readings | fit | learned | fit | learned |
|---|---|---|---|---|---|---|---|---|---|---|
`, c.Seed, c.Members, c.Hidden, c.Clusters, 1+c.Within, c.Held)
	for i, s := range result.Scores {
		fmt.Fprintf(&b, "| %s |", r.Workloads[i].Scenario)
		for _, pair := range [][2]Score{{s.Fit, s.Learned}, {s.FitReadings, s.LearnedReadings}} {
			fit, learned := pair[0], pair[1]
			fmt.Fprintf(&b, " %d | %.3f | %.3f | %.1f %% | %.1f %% |", fit.Examples, fit.Error, learned.Error, 100*fit.Inside,
				100*learned.Inside)
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}
