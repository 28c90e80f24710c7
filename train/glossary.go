package train

import (
	"slices"
	"strings"
)

// Term explains one number that a run reports.
type Term struct {
	Key string // its key in metrics.jsonl; "" if only event files have it
	// Tag is its tag in event files; "" for the update, which is the step there. If the tag ends in BASELINE, there is a number for
	// each baseline, whose name takes the place of that word; in metrics.jsonl they are an object.
	Tag   string
	Unit  string
	Means string
}

// about returns the unit and the meaning as text.
func (t *Term) about() string { return t.Unit + ": " + t.Means }

// Keys returns the keys of Metrics.Numbers that the term explains, sorted: its own, or one for each baseline.
func (t *Term) Keys(numbers map[string]float64) (keys []string) {
	for key := range numbers {
		if own, _, _ := strings.Cut(key, "/"); own == t.Key {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Tags in event files that no field of Metrics has.
const (
	tagDecisions     = "train/decisions"
	tagReturns       = "train/returns"
	tagAdvantages    = "train/advantages"
	tagProbabilities = "train/probabilities"
	tagWeights       = "weights/" // followed by the name of the part
	tagBaseline      = "BASELINE" // stands for the name of a baseline
)

// Glossary explains all numbers that a run reports: first those of Metrics, in the order of its fields. Event files take their
// tags and descriptions from Glossary, and docs/training.md contains it.
func Glossary() []Term {
	return []Term{
		{"update", "", "updates", "finished so far"},
		{"choices", "train/choices", "decisions", "among several candidates, of the update's windows: all, or those that have labels"},
		{"learned", "train/learned", "decisions", "learned from: of these, or of all with labels so far"},
		{"departs", "train/departs", "share", "of the update's decisions that were not the prior's own"},
		{"return", "train/return", "objective's unit", "minus the cost of an episode, mean over episodes; higher is better"},
		{"relative_jct", "train/relative_jct", "ratio",
			"sum of the sampled policy's costs over the sum of the prior's on the same windows; lower is better"},
		{"against", "train/against/" + tagBaseline, "ratio",
			"the same for each baseline in train.against in place of the prior; lower is better"},
		{"relative_best", "train/relative_best", "ratio",
			"the same for the lowest of the baselines in train.against on each window; lower is better"},
		{"proposed", "train/proposed/" + tagBaseline, "decisions",
			"at which the team could take what this baseline in train.rivals proposed, and the prior did not"},
		{"taken", "train/taken/" + tagBaseline, "decisions", "of these, at which the team took it"},
		{"validation", "validation/relative_jct", "ratio",
			"relative_jct of the greedy policy on the validation windows, at every checkpoint; lower is better"},
		{"validation_error", "validation/error", "ratio", "standard error of that"},
		{"validation_cost", "validation/cost", "objective's unit", "cost of a window there, mean over windows; lower is better"},
		{"validation_prior", "validation/prior", "objective's unit", "the same of the prior"},
		{"margin", "validation/margin", "bid", "with which that was: of several multiples of train.margin the best"},
		{"kept", "validation/kept", "1 or none",
			"the run keeps these weights: better than those before by more than the standard error of the ratio"},
		{"validation_against", "validation/against/" + tagBaseline, "ratio",
			"against of the greedy policy on the validation windows, with that margin"},
		{"validation_best", "validation/relative_best", "ratio", "relative_best of the same policy there"},
		{"validation_proposed", "validation/proposed/" + tagBaseline, "decisions", "proposed of the same policy there"},
		{"validation_taken", "validation/taken/" + tagBaseline, "decisions", "taken of the same policy there"},
		{"start_validation", "validation/start", "ratio",
			"relative_jct, on the validation windows, of the policy that the run began with; only update 1 has it"},
		{"start_kept", "validation/start_kept", "1 or none", "that policy is better than the prior"},
		{"agree", "update/agree", "share",
			"of labelled decisions at which the greedy policy takes the candidate that saves most, before their last epoch's step"},
		{"value", "update/value", "objective's unit",
			"that the greedy policy's candidates save there, mean over labelled decisions; higher is better"},
		{"unseen", "update/unseen", "objective's unit",
			"the same over the decisions labelled for this update, before it learns from them; higher is better"},
		{"scale", "update/scale", "objective's unit", "that a candidate saves or loses, mean over candidates that make a difference"},
		{"entropy", "update/entropy", "nats", "of a decision, mean over the last epoch"},
		{"kl", "update/kl", "nats", "divergence of the policy from the one that played, mean over the last epoch's decisions"},
		{"clipped", "update/clipped", "share", "of the last epoch's decisions whose probability ratio left the clip range"},
		{"grad_norm", "update/grad_norm", "norm", "of the gradient before clipping, mean over the update's batches"},
		{"explained", "critic/explained", "share", "of the variance of what the team saved from a decision on that a learned critic " +
			"foresaw, before it learned from the update: 1 if its estimates were exact, 0 if they were no better than a constant"},
		{"critic_loss", "critic/loss", "loss", "of a learned critic, mean over the last pass of its update; errors are in standard " +
			"deviations of what it learns"},

		{"", tagDecisions, "decisions", "environment decisions since the run began: the sum of train/choices"},
		{"", tagReturns, "objective's unit", "the return of each of the update's episodes: a histogram"},
		{"", tagAdvantages, "objective's unit", "what each decision learned from was worth beside the prior's, or its other " +
			"candidates were, before scaling; with train.against as a fraction of the best baseline's mean cost: a histogram"},
		{"", tagProbabilities, "probability", "of each decision learned from, when it was drawn: a histogram"},
		{"", tagWeights + "PART", "weight", "parameters of a part of the network, at every checkpoint: a histogram; the parts are " +
			"server, job, inducing, jobs_to_servers, servers_to_jobs, inducing_to_servers, servers_to_inducing, offer, bid, pair"},
	}
}
