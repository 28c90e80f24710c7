package words

import (
	"regexp"
	"slices"
	"strings"
)

// place is a set of places where a retired word is allowed.
type place struct {
	words []string       // nil: all words
	paths []string       // files, or folders with a slash at the end; nil: all
	says  *regexp.Regexp // the line must match; nil: any line
	why   string
}

var offer, strange = []string{"offer", "offers"}, []string{"strange"}

// places lists where retired words are allowed permanently.
var places = []place{
	{nil, []string{"internal/words/", "docs/words.md"}, nil, "they name them"},
	{offer, nil, regexp.MustCompile(`(?i)pool|inference|demand|reclaim|owed|\b(loan|loans|lend|lends|lent)\b`),
		"the inference pool offers servers to lend"},
	{offer, []string{
		"env/cluster/", "env/sim/", "env/inference/", "baselines/loan/", "studies/headroom/volume.go", "cmd/clustergym-kube/",
		"docs/inference.md", "docs/snapshots.md", "docs/kubernetes.md", "docs/runbook-kubernetes.md", "docs/concepts.md",
		"docs/events.md",
	}, nil, "the same, where pools lend or borrow, and the field of event logs, snapshots and the control ConfigMap"},
	{offer, nil, regexp.MustCompile(`State\.Offer|SetOffer\(|\.Offer\(\)|d\.Offer\b|"offer":`), "the same, in calls and files"},
	{offer, []string{
		"env/observe/stage_test.go", "env/observe/state_test.go", "env/observe/sight_test.go", "env/scenario/inference_test.go",
		"eval/whatif/property_test.go",
	}, nil, "the same, in tests that draw pools"},
	{offer, []string{"cli/", "docs/cli/"}, nil, "shells offer completions, and traces offer a load; event logs have an offer"},
	{offer, []string{"env/observe/candidatefeatures.go", "internal/pins/"}, nil, "units of features, which bundles and pins hold"},
	{offer, []string{"checkpoints/", "docs/production.md", "agents/card.go", "agents/export/onnx.go"}, nil,
		"the key of bundles, the names in their ONNX models and the text of their cards"},
	{offer, []string{"train/labelfile.go", "train/labels_test.go", "train/glossary.go", "docs/training.md"}, nil,
		"names of tensors in stored labels and weights"},
	{offer, []string{"agents/", "train/learner_test.go"},
		regexp.MustCompile(`"(server-)?offers?["-]|\boffer\.[a-z]|\boffer_kinds\b|"offer features"|\bOffer\b`),
		"the same names in code"},
	{strange, []string{"docs/production.md"}, nil, "decision logs of earlier builds have the key"},
}

// allowed reports whether a retired word may occur on a line of a file.
func allowed(word, path, line string) bool {
	has := func(list []place) bool {
		return slices.ContainsFunc(list, func(p place) bool { return p.covers(word, path, line) })
	}
	return has(places)
}

func (p *place) covers(word, path, line string) bool {
	within := func(prefix string) bool {
		return path == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(path, prefix)
	}
	return (p.words == nil || slices.Contains(p.words, word)) && (p.paths == nil || slices.ContainsFunc(p.paths, within)) &&
		(p.says == nil || p.says.MatchString(line))
}
