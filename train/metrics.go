package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/clustergym/clustergym/train/recipe"
)

// Metrics contains what one update reports: one line of metrics.jsonl. Wall-clock times are stored apart, in timing.jsonl, so
// that equal runs write equal metrics. Glossary lists the units, and the tags in event files.
type Metrics struct {
	Update int `json:"update"` // number of finished updates, including this one
	// Choices counts the decisions among several candidates in the update's windows; in an update from labels, only the labelled
	// ones. Learned counts the decisions that the update learned from.
	Choices int `json:"choices"`
	Learned int `json:"learned"`
	// Departs, Return and Relative are empty in updates from labels. Departs is the fraction of Choices in which the team did not
	// take the prior's own candidate. Return is minus the cost of an episode, averaged over episodes. Relative is the sum of the
	// costs of all episodes divided by that of the prior on the same windows; of several scenarios, each in the unit of its prior.
	// Jobs that fill the cluster before the window (sim.Config.Warm) do not count in Relative, as in eval.
	Departs  float64  `json:"departs,omitempty"`
	Return   float64  `json:"return,omitempty"`
	Relative *float64 `json:"relative_jct,omitempty"`
	// Against is as Relative, for each baseline in Config.Against in place of the prior, by its name. Best is the same for the
	// baselines that did best on each window. Both are empty without Config.Against, and in updates from labels.
	Against map[string]float64 `json:"against,omitempty"`
	Best    float64            `json:"relative_best,omitempty"`
	// Proposed counts, for each of Config.Rivals, the choices at which one of its proposals was among the candidates. Taken counts
	// those of them at which the team took one. What the prior proposes, too, does not count. Both are empty without Config.Rivals,
	// and in updates from labels.
	Proposed map[string]int `json:"proposed,omitempty"`
	Taken    map[string]int `json:"taken,omitempty"`
	// Validation is Relative on the validation windows, where the team takes the highest bid instead of sampling; it is nil if the
	// update was not validated. Margin is the margin that gave this value: the best of several multiples of Config.Margin.
	// ValidationError is its standard error, nil for fewer than two windows; ValidationCost and ValidationPrior are the costs of a
	// window by the objective, of the team and of its prior, averaged over windows. Kept says that the run keeps the weights: they
	// are better than those before by more than the standard error of the ratio.
	Validation      *float64 `json:"validation,omitempty"`
	ValidationError *float64 `json:"validation_error,omitempty"`
	ValidationCost  float64  `json:"validation_cost,omitempty"`
	ValidationPrior float64  `json:"validation_prior,omitempty"`
	Margin          float64  `json:"margin,omitempty"`
	Kept            bool     `json:"kept,omitempty"`
	// These are as Against, Best, Proposed and Taken, of the greedy team on the validation windows, with Margin.
	ValidationAgainst  map[string]float64 `json:"validation_against,omitempty"`
	ValidationBest     float64            `json:"validation_best,omitempty"`
	ValidationProposed map[string]int     `json:"validation_proposed,omitempty"`
	ValidationTaken    map[string]int     `json:"validation_taken,omitempty"`
	// Start is Relative, on the validation windows, of the policy that the run began with, as it was, and StartKept says that it
	// is better than the prior, as Kept does. Only update 1 has them, and only if the run began with a trained policy.
	Start     *float64 `json:"start_validation,omitempty"`
	StartKept bool     `json:"start_kept,omitempty"`
	// Agree, Value, Unseen and Scale are 0 in updates by PPO. Agree is the fraction of decisions at which the highest bid is for the
	// candidate that saves most. Value is the mean saving of the candidates with the highest bids, in the objective's unit. Unseen
	// is the same at the decisions that were labelled for this update, before it. Scale is the mean absolute value of the labels
	// other than 0.
	Agree  float64 `json:"agree,omitempty"`
	Value  float64 `json:"value,omitempty"`
	Unseen float64 `json:"unseen,omitempty"`
	Scale  float64 `json:"scale,omitempty"`

	Entropy float64 `json:"entropy"`   // of the policy, nats, mean over decisions
	KL      float64 `json:"kl"`        // divergence from the policy that played, nats, mean over decisions; 0 in updates from labels
	Clipped float64 `json:"clipped"`   // fraction of decisions whose probability ratio was clipped; 0 in updates from labels
	Norm    float64 `json:"grad_norm"` // norm of the gradient before clipping, mean over batches

	// Explained and CriticLoss are nil without a learned critic and in updates from labels. Explained is the fraction of the
	// variance of what the team saved that the critic explained before it learned from the update. CriticLoss is the mean Huber loss
	// of the last pass of its update.
	Explained  *float64 `json:"explained,omitempty"`
	CriticLoss *float64 `json:"critic_loss,omitempty"`
}

// Numbers returns the metrics by their keys in the Glossary, without those that metrics.jsonl leaves out. A metric that has a
// number for each baseline has the keys KEY/BASELINE.
func (m *Metrics) Numbers() map[string]float64 {
	all := map[string]float64{}
	for field, value := range reflect.ValueOf(m).Elem().Fields() {
		key, omit, _ := strings.Cut(field.Tag.Get("json"), ",")
		if omit == "omitempty" && value.IsZero() {
			continue
		}
		switch x := value.Interface().(type) {
		case int:
			all[key] = float64(x)
		case float64:
			all[key] = x
		case bool:
			all[key] = map[bool]float64{true: 1}[x]
		case *float64:
			all[key] = *x
		case map[string]float64:
			for name, x := range x {
				all[key+"/"+name] = x
			}
		case map[string]int:
			for name, n := range x {
				all[key+"/"+name] = float64(n)
			}
		default:
			panic(fmt.Sprintf("train: the metric %s is a %T", key, x)) // a field of Metrics that this function does not know
		}
	}
	return all
}

// ReadMetrics returns the metrics of the run in dir, one for each finished update; a new run has none. The run may still be in
// progress: ReadMetrics skips an incomplete last line. An error about a line gives its number. The error wraps
// checkpoints.ErrNone if dir contains no run.
func ReadMetrics(dir string) ([]Metrics, error) {
	path := filepath.Join(dir, metricsName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, recipe.Name)); errors.Is(err, fs.ErrNotExist) {
			return nil, recipe.None(dir)
		}
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return parseMetrics(path, text)
}

// parseMetrics parses the complete lines of text. path is used in errors.
func parseMetrics(path string, text []byte) ([]Metrics, error) {
	var all []Metrics
	for line := range bytes.Lines(text) {
		if line[len(line)-1] != '\n' {
			break
		}
		var m Metrics
		n := len(all) + 1
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if m.Update != n {
			return nil, fmt.Errorf("%s:%d: update %d, want %d: a line for each update, in order", path, n, m.Update, n)
		}
		all = append(all, m)
	}
	return all, nil
}
