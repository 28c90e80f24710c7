package sweep

import (
	"context"
	"errors"
	"sync"

	"github.com/clustergym/clustergym/train"
)

// climb trains all runs of the points up to the current rung. If several train at a time, those that compute labels for others
// come first, so that no label is computed twice.
func (s *sweep) climb(ctx context.Context, points []int) error {
	first, rest, err := s.order(points)
	if err != nil {
		return err
	}
	for _, batch := range [][]*run{first, rest} {
		if err := s.advanceAll(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// order divides the runs of the points that have not reached the current rung. If several runs train at a time, those that share
// labels wait in rest for the one that needs most of them.
func (s *sweep) order(points []int) (first, rest []*run, err error) {
	leaders := map[string]*run{}
	var keys []string
	var all []*run
	for _, point := range points {
		for _, r := range s.runs[point] {
			if r.updates >= s.updates(point, s.rung) {
				continue
			}
			if s.opt.Parallel == 1 {
				rest = append(rest, r)
				continue
			}
			key, err := train.LabelsKey(&r.config)
			if err != nil {
				return nil, nil, err
			}
			all, keys = append(all, r), append(keys, key)
			if l := leaders[key]; l == nil || s.labelled(r) > s.labelled(l) {
				leaders[key] = r
			}
		}
	}
	for i, r := range all {
		if leaders[keys[i]] == r {
			first = append(first, r)
		} else {
			rest = append(rest, r)
		}
	}
	return first, rest, nil
}

// labelled returns the number of windows whose labels a run needs up to the current rung.
func (s *sweep) labelled(r *run) int {
	return r.config.Windows * min(r.config.Expert, r.config.Updates, s.Rungs[s.rung])
}

// advanceAll trains runs up to the current rung, as many at a time as Options.Parallel says.
func (s *sweep) advanceAll(ctx context.Context, runs []*run) error {
	if len(runs) == 0 {
		return nil
	}
	at := min(s.opt.Parallel, len(runs))
	workers := max(s.opt.Workers/at, 1)
	next := make(chan *run)
	var wait sync.WaitGroup
	for range at {
		wait.Go(func() {
			for r := range next {
				s.one(ctx, r, workers)
			}
		})
	}
	for _, r := range runs {
		next <- r
	}
	close(next)
	wait.Wait()
	return s.failed
}

// one trains a run up to the current rung, unless the sweep is to end. After an error it makes the sweep end.
func (s *sweep) one(ctx context.Context, r *run, workers int) {
	err := ErrStopped
	select {
	case <-s.stop:
	default:
		until := min(s.Rungs[s.rung], r.config.Updates)
		err = s.advance(ctx, r, until, workers, func(m *train.Metrics) { s.note(r, m) })
	}
	if err == nil {
		return
	}
	s.halt()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil || errors.Is(s.failed, ErrStopped) {
		s.failed = err
	}
}

// note reports an update of a run, or, without a run, what was finished before.
func (s *sweep) note(r *run, m *train.Metrics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := Progress{Rung: s.rung + 1, Metrics: m}
	if r != nil {
		r.updates = m.Update
		p.Run = r.name
	}
	if s.opt.Progress == nil {
		return
	}
	for _, all := range s.runs {
		for _, r := range all {
			p.Done += r.updates
		}
	}
	p.Total = s.total()
	s.opt.Progress(p)
}

// total returns the number of updates of all runs of the sweep.
func (s *sweep) total() (sum int) {
	if len(s.Rungs) == 1 {
		for i := range s.Points {
			sum += s.Request.Seeds * s.updates(i, 0)
		}
		return sum
	}
	for k, n := range s.Survivors {
		from := 0
		if k > 0 {
			from = s.Rungs[k-1]
		}
		sum += s.Request.Seeds * n * (s.Rungs[k] - from)
	}
	return sum
}
