package decide

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/policy"
)

// The results of a reload.
const (
	reloaded = "ok"
	refused  = "refused"
)

// load reads the policy and its fallback, and creates a scheduler of each to check them.
func (d *Decider) load() (*loaded, error) {
	l := &loaded{since: time.Now()}
	for _, g := range []*guard{&l.first, &l.second} { // late decisions of an earlier policy do not count
		g.deadline, g.most, g.all = d.Deadline, int64(d.Parallel), &d.late
	}
	var err error
	if d.Source.Stamp != nil { // read before the policy: the next check then notices a change in between
		if l.stamp, err = d.Source.Stamp(); err != nil {
			return nil, err
		}
	}
	if l.policy, err = d.Source.Load(); err != nil {
		return nil, err
	}
	if l.fallback, err = d.Fallback(l.policy); err != nil {
		return nil, fmt.Errorf("fallback: %w", err)
	}
	if err := d.remember(l.policy, l.fallback); err != nil {
		return nil, err
	}
	given, _ := d.memory.recall()
	for _, p := range []*policy.Policy{l.policy, l.fallback} {
		if _, err := p.Given(given).New(); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Name, err)
		}
	}
	return l, nil
}

// Reload loads the policy again if its source has changed since the last attempt, or always if force is true. If the policy
// cannot be read, the current one stays. Decisions in progress keep their policy.
func (d *Decider) Reload(force bool) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	was := d.loaded.Load()
	if d.Source.Stamp == nil {
		if force {
			d.Log.Info("nothing to reload", "policy", was.policy.Name)
		}
		return
	}
	stamp, err := d.Source.Stamp()
	if err != nil {
		stamp = err.Error()
	}
	if stamp == d.tried && !force {
		return
	}
	d.tried = stamp
	now, err := d.load()
	if err != nil {
		d.metrics.reloads.WithLabelValues(refused).Inc()
		d.Log.Error("policy not reloaded: the old one goes on", "policy", was.policy.Name, "digest", was.policy.Digest, "error", err)
		return
	}
	d.tried = now.stamp
	d.loaded.Store(now)
	d.metrics.reloads.WithLabelValues(reloaded).Inc()
	d.Log.Info("policy reloaded", "policy", now.policy.Name, "digest", now.policy.Digest, "fallback", now.fallback.Name,
		"before", was.policy.Digest)
}
