package envtest

import (
	"fmt"
	"math"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

func conserved(w *walk) error {
	finished := 0
	return w.through(walkSteps, w.random, func() error {
		s := w.ts.Cluster
		if err := ledger(s); err != nil {
			return w.errorf("%w", err)
		}
		done := 0
		for id := range cluster.JobID(s.Jobs()) {
			if s.Phase(id) == cluster.Done {
				done++
			}
		}
		if done < finished {
			return w.errorf("%d jobs are done, before there were %d", done, finished)
		}
		finished = done
		return nil
	})
}

// ledger compares what is free on every server with the placements of the running jobs.
func ledger(s *cluster.View) error {
	type held struct{ gpu, cpu, mem int64 }
	use := make([]held, s.Servers())
	for _, id := range s.Running() {
		p, spec := s.Placement(id), s.Spec(id)
		if n := p.Workers(); n < spec.Least() || n > spec.Most() {
			return fmt.Errorf("job %d runs with %d workers, want %d to %d", id, n, spec.Least(), spec.Most())
		}
		for _, q := range p {
			u := &use[q.Server]
			u.gpu += int64(q.Workers) * int64(q.GPUMilli)
			u.cpu += int64(q.Workers) * int64(q.CPUMilli)
			u.mem += int64(q.Workers) * int64(q.MemMiB)
		}
	}
	for i, u := range use {
		id, free, used := cluster.ServerID(i), int32(0), int64(0)
		for g, milli := range s.GPUUse(id) {
			if s.Failed(id, int32(g)) {
				continue
			}
			if milli < 0 || milli > cluster.WholeGPU {
				return fmt.Errorf("server %d: GPU %d has %d thousandths in use", i, g, milli)
			}
			if used += int64(milli); milli == 0 {
				free++
			}
		}
		v := s.Server(id)
		switch {
		case used != u.gpu:
			return fmt.Errorf("server %d: %d thousandths of GPUs in use, its jobs hold %d", i, used, u.gpu)
		case free != s.FreeGPUs(id):
			return fmt.Errorf("server %d: %d GPUs that nobody uses, FreeGPUs says %d", i, free, s.FreeGPUs(id))
		case s.FreeCPU(id) != v.CPUMilli-u.cpu || s.FreeCPU(id) < 0:
			return fmt.Errorf("server %d: %d of %d CPU milli free, its jobs hold %d", i, s.FreeCPU(id), v.CPUMilli, u.cpu)
		case s.FreeMem(id) != v.MemMiB-u.mem || s.FreeMem(id) < 0:
			return fmt.Errorf("server %d: %d of %d MiB free, its jobs hold %d", i, s.FreeMem(id), v.MemMiB, u.mem)
		}
	}
	return nil
}

func elapsed(w *walk) error {
	sum := time.Duration(0)
	visit := func() error {
		if w.ts.Elapsed < 0 {
			return w.errorf("elapsed %v, want 0 or more", w.ts.Elapsed)
		}
		if sum += w.ts.Elapsed; sum != w.ts.Now {
			return w.errorf("elapsed times sum to %v, now is %v", sum, w.ts.Now)
		}
		if s := w.ts.Cluster; s != nil && s.Now() != w.ts.Now {
			return w.errorf("the state is at %v, the step at %v", s.Now(), w.ts.Now)
		}
		return nil
	}
	if err := w.through(walkSteps, w.random, visit); err != nil || w.ts.Over() {
		return err
	}
	return w.finish(visit)
}

func rewards(w *walk) error {
	if costs, ok := env.As[interface{ Costs() []float64 }](w.env); ok && costs.Costs() != nil {
		return costsPaid(w, costs.Costs)
	}
	scorer, ok := env.As[interface{ Reward() env.Reward }](w.env)
	if !ok {
		return fmt.Errorf("the environment does not tell its reward: %w", ErrSkip)
	}
	flow, ok := scorer.Reward().(env.Flow)
	if !ok {
		return fmt.Errorf("the reward is %s: %w", scorer.Reward().Name(), ErrSkip)
	}
	recorder, ok := env.As[interface{ Log() *sim.Log }](w.env)
	if !ok {
		return fmt.Errorf("the environment keeps no log: %w", ErrSkip)
	}
	sum := 0.0
	err := w.whole(func() error {
		sum += w.ts.Reward
		for i, x := range w.ts.Rewards {
			if x != w.ts.Reward {
				return w.errorf("agent %d is given %v, want the reward of all, %v", i, x, w.ts.Reward)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	scale := flow.Scale
	if scale == 0 {
		scale = time.Hour
	}
	got, want := -sum*scale.Seconds(), inSystem(recorder.Log(), w.ts.Now)
	if !(math.Abs(got-want) <= 1e-9*want) {
		return w.errorf("rewards sum to %v s of jobs in the system, the log says %v s", got, want)
	}
	return nil
}

// costsPaid checks that the rewards of an episode sum to minus its costs by an objective, and those of agents to that of all.
func costsPaid(w *walk, costs func() []float64) error {
	sum := 0.0
	err := w.whole(func() error {
		sum += w.ts.Reward
		own := 0.0
		for _, x := range w.ts.Rewards {
			own += x
		}
		if !(math.Abs(own-w.ts.Reward) <= 1e-9*math.Abs(own)) {
			return w.errorf("agents are given %v in all, want the reward of all, %v", own, w.ts.Reward)
		}
		return nil
	})
	if err != nil {
		return err
	}
	want := 0.0
	for _, x := range costs() {
		want += x
	}
	if !(math.Abs(sum+want) <= 1e-9*want) {
		return w.errorf("rewards sum to %v, the episode costs %v", sum, want)
	}
	return nil
}

// whole plays a whole episode and calls visit at every step.
func (w *walk) whole(visit func() error) error {
	if err := w.through(walkSteps, w.random, visit); err != nil {
		return err
	}
	return w.finish(visit)
}

// inSystem returns the sum, over all submitted jobs, of the seconds from submission to finish or to the end of the episode.
func inSystem(l *sim.Log, end time.Duration) float64 {
	sum := 0.0
	for i := range l.Records {
		switch r := &l.Records[i]; r.Kind {
		case sim.Submit:
			sum += (end - r.At).Seconds()
		case sim.Finish:
			sum -= (end - r.At).Seconds()
		}
	}
	return sum
}

func ends(w *walk) error {
	if err := w.toEnd(w.random, nothing); err != nil {
		return err
	}
	return w.over()
}

func starved(w *walk) error {
	if err := w.toEnd(func() { clear(w.joint) }, nothing); err != nil {
		return err
	}
	return w.over()
}

// over returns an error if the end of an episode contradicts the cluster's state.
func (w *walk) over() error {
	if w.ts.Terminated && w.ts.Truncated != "" {
		return w.errorf("both terminated and truncated (%s)", w.ts.Truncated)
	}
	for id := range cluster.JobID(w.ts.Cluster.Jobs()) {
		if p := w.ts.Cluster.Phase(id); w.ts.Terminated && p != cluster.Done {
			return w.errorf("terminated, but job %d is %v", id, p)
		}
	}
	return nil
}
