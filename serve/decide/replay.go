package decide

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/policy"
)

// Replay replays the decisions of a log, in the order of its lines. It learns what the deciders learned that wrote the log. The
// zero Replay is ready.
type Replay struct {
	memory
	recent [parallel]*belief.Memory // what was learned before the last lines
}

// parallel is the number of decisions for which a replay keeps what was learned: a decider that decides several states at a time
// may write them in another order than it began them.
const parallel = 16

// Asked is the state of a record, and what the one who decided had learned, nil if nothing.
type Asked struct {
	state   *cluster.State
	learned *belief.Memory
	unknown error // that what had been learned is not known
}

// ErrBeliefs is wrapped by the error about a decision that depended on beliefs to which the log does not lead.
var ErrBeliefs = errors.New("decided with other beliefs")

// Next takes the next record of a log. Call it for each record, so that the replay learns what the decider did.
func (p *Replay) Next(r *Record, d *Decision) (*Asked, error) {
	if r.Beliefs != nil {
		m := belief.NewMemory()
		if err := m.Restore(r.Beliefs); err != nil {
			return nil, err
		}
		p.open(m)
	}
	state, err := cluster.ReadSnapshot(bytes.NewReader(r.Snapshot))
	if err != nil {
		return nil, err
	}
	state.Assume(time.Duration(r.Assume * float64(time.Second)))
	asked := &Asked{state: state}
	if p.learned != nil {
		if shared := p.share(); shared != p.recent[0] {
			copy(p.recent[1:], p.recent[:])
			p.recent[0] = shared
		}
	}
	if d.Beliefs != "" {
		at := slices.IndexFunc(p.recent[:], func(m *belief.Memory) bool { return m != nil && m.Digest() == d.Beliefs })
		switch {
		case at >= 0:
			asked.learned = p.recent[at]
		case p.learned == nil:
			asked.unknown = fmt.Errorf("%w: %s, and no line before says what was learned", ErrBeliefs, d.Beliefs)
		default:
			asked.unknown = fmt.Errorf("%w: %s, the log leads to %s", ErrBeliefs, d.Beliefs, p.share().Digest())
		}
	}
	if r.Learns && p.learned != nil {
		p.learn(&state.View, func(name string) bool { return slices.Contains(r.Away, name) })
	}
	return asked, nil
}

// Again replays the decision of a record without a deadline. It returns the first place where the plan differs from the one in
// the record, or "" if there is none, and an error that wraps ErrBeliefs if it is not known what the one who decided had learned.
// The policy p must be the one that decided. Again does not compare the names of policies.
func (k *Asked) Again(r *Record, d *Decision, p *policy.Policy, profile cluster.Profile) (string, error) {
	if k.unknown != nil {
		return "", k.unknown
	}
	state := k.state
	state.SetProfile(profile)
	given := baselines.Given{Memory: k.learned}
	if r.Objective != "" {
		o, err := objectives.Read(strings.NewReader(r.Objective))
		if err != nil {
			return "", err
		}
		given.Objective = o
	}
	asked := p.Given(given)
	if !d.Beside {
		asked.Prior = nil
	}
	var err error
	var plan *explain.Plan
	if d.Reasons != "" {
		plan, err = barePlan(state, &asked, r.Seed)
	} else {
		var full *Planned
		if full, err = Plan(context.Background(), state, &asked, Asking{Seed: r.Seed, Stops: -1}); err == nil {
			plan = full.Plan
		}
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
	delete(fields, "starts")
	delete(fields, "policy")
	return fields, nil
}

// absent stands for a value that one of two JSON values lacks.
type absent struct{}

// differ returns the first place where two JSON values differ, or "" if they do not.
func differ(path string, was, now any) string {
	switch a := was.(type) {
	case map[string]any:
		b, same := now.(map[string]any)
		if !same {
			break
		}
		names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			at := func(m map[string]any) any {
				if v, there := m[name]; there {
					return v
				}
				return absent{}
			}
			if d := differ(strings.TrimPrefix(path+"."+name, "."), at(a), at(b)); d != "" {
				return d
			}
		}
		return ""
	case []any:
		b, same := now.([]any)
		if !same {
			break
		}
		for i := range min(len(a), len(b)) {
			if d := differ(fmt.Sprintf("%s[%d]", path, i), a[i], b[i]); d != "" {
				return d
			}
		}
		if len(a) != len(b) {
			return fmt.Sprintf("%s: %d in the log, now %d", path, len(a), len(b))
		}
		return ""
	default:
		if was == now {
			return ""
		}
	}
	text := func(v any) string {
		if v == (absent{}) {
			return "nothing"
		}
		b, _ := json.Marshal(v) // cannot fail: the value was parsed from JSON
		if len(b) > 80 {
			b = append(b[:77:77], "..."...)
		}
		return string(b)
	}
	return fmt.Sprintf("%s: %s in the log, now %s", path, text(was), text(now))
}
