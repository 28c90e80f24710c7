package pins

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// groups returns all pins.
func groups() []group {
	all := bundles()
	for _, w := range windows() {
		g, open := group{name: w.name, shared: w.shared}, w.open()
		for _, name := range w.policies {
			g.pins = append(g.pins, pin{what: "log", window: w.name, policy: name, short: slices.Contains(w.short, name),
				make: func(t *testing.T) ([]byte, string) {
					log := play(t, open, find(t, name))
					m := eval.Measure(log)
					var text bytes.Buffer
					must.Do(t, log.Write(&text))
					return text.Bytes(), fmt.Sprintf("%d events, mean JCT %.1f s", m.Events, m.MeanJCT)
				}})
		}
		for _, name := range w.choices {
			g.pins = append(g.pins, pin{what: "choices", window: w.name, policy: name, short: len(w.short) > 0,
				make: func(t *testing.T) ([]byte, string) { return choices(t, open, name) }})
		}
		all = append(all, g)
	}
	return all
}

// find creates the scheduler with the given name.
func find(t *testing.T, name string) cluster.Scheduler {
	t.Helper()
	p := must.Get((&policy.Finder{Table: all.Table()}).Load(name))(t)
	s := must.Get(p.New())(t)
	return s
}

// play plays a window to its end and returns the log.
func play(t *testing.T, open func() (*sim.Episode, error), s cluster.Scheduler) *sim.Log {
	t.Helper()
	e := must.Get(open())(t)
	return simtest.Play(t, e, s, seed)
}
