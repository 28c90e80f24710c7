package decide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/policy"
)

// Again replays the decision of a record without a deadline. It returns the first place where the plan differs from the one in
// the record, or "" if there is none. The policy p must be the one that decided. Again does not compare the names of policies.
func Again(r *Record, d *Decision, p *policy.Policy, profile cluster.Profile) (string, error) {
	state, err := cluster.ReadSnapshot(bytes.NewReader(r.Snapshot))
	if err != nil {
		return "", err
	}
	state.SetProfile(profile)
	asked := *p
	if !d.Beside {
		asked.Prior = nil
	}
	var plan *explain.Plan
	if d.Reasons != "" {
		plan, err = barePlan(state, &asked, r.Seed)
	} else {
		plan, _, err = Plan(state, &asked, r.Seed)
	}
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return "", fmt.Errorf("compare plans: %w", err)
	}
	was, err := planOf(r.Answer)
	if err != nil {
		return "", err
	}
	now, err := planOf(text)
	if err != nil {
		return "", err
	}
	return differ("", was, now), nil
}

// planOf returns the fields of an answer that belong to the plan and depend on the snapshot.
func planOf(answer []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	delete(fields, "decision")
	delete(fields, "policy")
	return fields, nil
}

// differ returns the first place where two JSON values differ, or "" if they do not.
func differ(path string, was, now any) string {
	switch was := was.(type) {
	case map[string]any:
		now, ok := now.(map[string]any)
		if !ok {
			break
		}
		names := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(now))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			at := name
			if path != "" {
				at = path + "." + name
			}
			a, before := was[name]
			b, after := now[name]
			if !before || !after {
				return says(at, a, before, b, after)
			}
			if d := differ(at, a, b); d != "" {
				return d
			}
		}
		return ""
	case []any:
		now, ok := now.([]any)
		if !ok {
			break
		}
		for i := range min(len(was), len(now)) {
			if d := differ(fmt.Sprintf("%s[%d]", path, i), was[i], now[i]); d != "" {
				return d
			}
		}
		if len(was) != len(now) {
			return fmt.Sprintf("%s: %d in the log, now %d", path, len(was), len(now))
		}
		return ""
	default:
		if was == now {
			return ""
		}
	}
	return says(path, was, true, now, true)
}

func says(path string, was any, before bool, now any, after bool) string {
	text := func(v any, there bool) string {
		if !there {
			return "nothing"
		}
		b, _ := json.Marshal(v) // cannot fail: the value was parsed from JSON
		if len(b) > 80 {
			b = append(b[:77:77], "..."...)
		}
		return string(b)
	}
	return fmt.Sprintf("%s: %s in the log, now %s", path, text(was, before), text(now, after))
}
