package agents

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/phrase"
)

// card returns the model card of a policy in Markdown: what it is, how it was trained, what it is for and how to use it. The card
// depends on the arguments only.
func card(p *Policy, training *checkpoints.Provenance) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	say("# Policy %s\n", p.Name)
	say("%s", about)
	s := &p.Shape
	say("* Prior: `%s`", p.Prior)
	say("* Margin: %s", number(p.Margin))
	say("* Network: `%s`, %s", s.network(), phrase.Count(p.Params.Count(), "weight"))
	say("* Sizes: width %d, heads %d, hidden %d, rank %d, kappa %d, inducing %d; attention %s, graph %s",
		s.Width, s.Heads, s.Hidden, s.Rank, s.Kappa, s.Inducing, s.Attention, s.Graph)
	say("* Jobs that it sees at once: %d, beside those that candidates concern", p.Window)

	say("\n## Training\n")
	say("* Scenarios: %s", scenarios(training.Scenario))
	if training.From != nil {
		say("* Began as: %s", beginning(training))
	}
	say("* Updates: %d, with seed %d", training.Updates, training.Seed)
	if training.Memory > 0 {
		say("* Memory: %s, the time constant with which what a decision leads to was discounted",
			phrase.Time(time.Duration(training.Memory*float64(time.Second))))
	}
	sayObjective(say, training)
	say("* Result on validation windows: %s", result(training))
	saySeen(say, training)

	say("\n## Where it decides\n")
	if p.Range == nil {
		say("It carries no range of what training met: it decides everywhere, also far from what it knows.")
	} else {
		say("It carries the least and the greatest value of every feature that training met. Where more than %v %% of the numbers\n"+
			"of a decision lie beyond these, by more than %v %% of their range, the prior's own is taken.",
			100*outOfDistribution, 100*slack)
	}
	say("\n"+limits, aim(training))

	say("\n%s", use(training.Scenario, p.prior.Needs()))
	say("%s", loading)
	return b.String()
}

// aim says what a policy was trained for.
func aim(training *checkpoints.Provenance) string {
	o := objectiveOf(training)
	switch {
	case training.Objective == "":
		return "minimises completion times"
	case o == nil:
		return "maximises the reward `" + training.Objective + "`"
	}
	return "lowers the cost by the objective `" + o.Name + "`"
}

// objectiveOf returns the objective that a policy was trained for, nil for completion times and for rewards.
func objectiveOf(training *checkpoints.Provenance) *objectives.Objective {
	o, err := objectives.Read(strings.NewReader(training.Objective))
	if err != nil {
		return nil
	}
	return o
}

// sayObjective tells the objective with its text, as far as it is not the usual one.
func sayObjective(say func(string, ...any), training *checkpoints.Provenance) {
	o := objectiveOf(training)
	switch {
	case training.Objective == "":
	case o == nil:
		say("* Objective: the reward `%s`", training.Objective)
	default:
		say("* Objective: `%s`, %s:\n\n      %s\n", o.Name, o.About, strings.ReplaceAll(strings.TrimSpace(o.Text()), "\n", "\n      "))
	}
}

// saySeen lists the parts of traces that a policy was trained on.
func saySeen(say func(string, ...any), training *checkpoints.Provenance) {
	say("\nParts of traces that it was trained and chosen on, in days since the first job. Jobs of these do not judge it.\n")
	for _, t := range training.Seen {
		const day = 86400
		say("* `%s`, from %.2f to %.2f", place(t.Trace), t.From/day, t.To/day)
	}
	if len(training.Seen) == 0 {
		say("* not recorded")
	}
}

// use says by which commands a policy is used. One whose prior begins with what a training split teaches needs a file of that.
func use(scenario string, needs baselines.Needs) string {
	scenario, teach, taught := cmp.Or(scenario, "SCENARIO"), "", ""
	if needs.Learned || needs.Speeds {
		first, _, _ := strings.Cut(scenario, ",")
		teach, taught = "    clustergym beliefs --scenario "+first+" --save beliefs.json\n", " --beliefs beliefs.json"
	}
	return "## Use\n\nDIR is this folder. `eval` refuses windows that share jobs with the parts of traces above.\n\n" +
		"    clustergym eval --scenario " + scenario + " --policies prior,DIR --baseline prior\n" + teach +
		"    clustergym plan --snapshot cluster.json --policy DIR" + taught + "\n"
}

// scenarios describes the scenarios of a training.
func scenarios(list string) string {
	if list == "" {
		return "not recorded"
	}
	return "`" + strings.ReplaceAll(list, ",", "`, `") + "`"
}

// beginning describes the policy that the training began with.
func beginning(training *checkpoints.Provenance) string {
	from := training.From
	text := fmt.Sprintf("policy `%s` (%.12s), which was trained for %s.\n  Its scenarios: %s",
		from.Policy, from.SHA256, phrase.Count(from.Updates, "update"), scenarios(from.Scenario))
	if from.Validation > 0 {
		text += fmt.Sprintf("; on the validation windows here it is at %.4f of the\n  prior's %s", from.Validation, compared(training))
	}
	return text
}

// compared says what of the policy is divided by that of its prior.
func compared(training *checkpoints.Provenance) string {
	if training.Objective != "" {
		return "cost by the objective"
	}
	return "completion times"
}

// result describes the result of validation.
func result(training *checkpoints.Provenance) string {
	relative, from, of := training.Validation, training.From, compared(training)
	switch {
	case relative == 0:
		return "none, for want of such windows; the weights are the last ones"
	case relative == 1 && from != nil:
		return "neither trained weights nor those it began with did better than the\n" +
			"  prior. The weights are untrained, and it decides as its prior"
	case relative == 1:
		return "no trained weights did better than the prior. The weights are those it began\n  with, and it decides as its prior"
	case from != nil && relative == from.Validation:
		return fmt.Sprintf("%.4f of the prior's %s, in the mean. No update did better\n"+
			"  than the policy that it began as: the weights and the margin are those", relative, of)
	}
	return fmt.Sprintf("%.4f of the prior's %s, in the mean. Weights and margin were\n"+
		"  chosen by this number, so it flatters: test windows tell what the policy is worth", relative, of)
}

// place returns the name of a trace. It removes the folders of an absolute path, which mean nothing on another machine.
func place(trace string) string {
	if filepath.IsAbs(trace) {
		return filepath.Base(trace)
	}
	return trace
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

const about = `A scheduler of deep-learning jobs on GPU clusters, made with clustergym: a team of server agents that reviews a
baseline, its prior. At every decision the prior says what it would do. The team looks at that and at other candidates, and takes
another one only if its bid exceeds that for the prior's own by more than the margin.
`

const limits = `## What it is for, and what not

* It is for comparing schedulers in simulation, for proposals on a snapshot of a cluster, and as a start for research.
* It %s. It knows nothing of fairness, deadlines or costs other than its prior does.
* It learned in a simulator. Speeds, restarts and run times there follow from the scenarios above and their assumptions; those
  of a real cluster differ. Compare it with its prior on arrivals of your own before you rely on it.
* Where it does no better than its prior, use the prior: it is simpler.`

const loading = "A Go program loads it with the package `agents`:\n\n" +
	"    p, _, err := agents.Load(\"DIR\")\n" +
	"    // ...\n" +
	"    s := agents.NewTeam(p) // a cluster.Scheduler\n\n" +
	"`manifest.json` lists every feature with its unit and range, and the SHA-256 of `weights.safetensors`.\n\n" +
	licences

const licences = "## Licences\n\n" +
	"No jobs of any trace are in this folder. Traces stand under licences of their own, those of whoever published them."
