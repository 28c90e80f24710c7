package headroom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/units"
)

// Pools have other processes do parts of what Measure does. They need Job, with which other processes make an equal plan.
type Pools struct {
	Cases    units.Pool // plays the rivals: see eval.Plan
	Searches units.Pool // searches the windows, each unit with a Searcher
	Job      []byte
}

// Searcher searches single windows for another process, which runs Measure of an equal plan with Pools. It is not safe for
// concurrent use.
type Searcher struct {
	m      measuring
	fitted bool
}

// NewSearcher returns a searcher of the windows of a plan.
func NewSearcher(p Plan) *Searcher {
	s := &Searcher{m: measuring{plan: &p, cases: casesOf(&p.Suite)}}
	s.m.done = make([]int, len(s.m.cases))
	return s
}

// Search searches a window under a seed and returns the answer for the process that runs the plan. The number i counts windows
// and, within a window, seeds.
func (s *Searcher) Search(ctx context.Context, i int) ([]byte, error) {
	if i < 0 || i >= len(s.m.cases) {
		return nil, fmt.Errorf("search window %d: want 0 to %d", i, len(s.m.cases)-1)
	}
	if !s.fitted {
		if err := s.m.plan.fit(ctx); err != nil {
			return nil, fmt.Errorf("measure: %w", err)
		}
		s.fitted = true
	}
	found, err := s.m.searched(ctx, i)
	if err != nil {
		return nil, err
	}
	return json.Marshal(&answer{s.m.about(i), found})
}

// answer is what another process says about a window under a seed.
type answer struct {
	Of eval.Case `json:"case"` // without a policy
	*searched
}

// about returns what an answer about a window under a seed is about.
func (m *measuring) about(i int) eval.Case {
	suite, c := &m.plan.Suite, m.cases[i]
	return eval.Case{Scenario: suite.Scenario, Split: suite.Split, Window: suite.Windows[c.window].Name, Seed: c.seed}
}

// searched is what a search finds in a window, and the window's bounds. Neither depends on the results of the rivals.
type searched struct {
	Bounds Bounds `json:"bounds"`
	Found  Found  `json:"search"`
}

// searched computes the bounds of a window under a seed and searches it.
func (m *measuring) searched(ctx context.Context, i int) (*searched, error) {
	c := m.cases[i]
	start, err := m.plan.Suite.Windows[c.window].Episode(c.seed)
	if err != nil {
		return nil, err
	}
	bounds, err := newBounds(&start)
	if err != nil {
		return nil, err
	}
	found, err := m.search(ctx, i, &start)
	if err != nil {
		return nil, err
	}
	return &searched{*bounds, *found}, nil
}

// maxFound is the largest number of bytes of an answer.
const maxFound = 1 << 16

// parseAnswer reads an answer about a window under a seed.
func parseAnswer(data []byte, of eval.Case) (*searched, error) {
	if len(data) > maxFound {
		return nil, fmt.Errorf("an answer of %d bytes, want at most %d", len(data), maxFound)
	}
	s := &searched{}
	a := &answer{searched: s}
	if err := json.Unmarshal(data, a); err != nil {
		return nil, err
	}
	again, err := json.Marshal(a)
	if err == nil && !bytes.Equal(again, data) {
		err = errors.New("the answer is not in the form in which it is sent")
	}
	if err == nil && a.Of != of {
		err = fmt.Errorf("the answer is about %s %s, seed %d, want %s %s, seed %d",
			a.Of.Scenario, a.Of.Window, a.Of.Seed, of.Scenario, of.Window, of.Seed)
	}
	if err == nil && (s.Found.Metrics.Jobs < 0 || s.Found.Sum < 0) {
		err = fmt.Errorf("%d jobs and a sum of %v, want no negative numbers", s.Found.Metrics.Jobs, s.Found.Sum)
	}
	return s, err
}

// elsewhere has the windows searched by the plan's pool.
func (m *measuring) elsewhere(ctx context.Context) ([]*searched, error) {
	all := make([]*searched, len(m.cases))
	var units []int
	for i := range all {
		units = append(units, i)
	}
	pool := m.plan.Pools.Searches
	err := pool.Start(m.plan.Pools.Job, func(i int, data []byte) (refused, failed error) {
		found, err := parseAnswer(data, m.about(i))
		if err != nil {
			return err, nil
		}
		m.mu.Lock()
		all[i] = found
		m.mu.Unlock()
		m.tell(i, m.plan.searched())
		return nil, nil
	})
	if err == nil {
		pool.Give(units...)
		err = pool.Wait(ctx, units...)
	}
	return all, err
}
