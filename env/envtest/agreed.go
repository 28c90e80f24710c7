package envtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
)

// agreed compares the candidates that were carried out and refused with those that agents named. It does not depend on the rule
// of agreement: under every rule it suffices that the whole coalition names a candidate.
func agreed(w *walk) error {
	a := answered{w: w}
	choose := func() {
		w.random()
		a.note()
	}
	return w.through(walkSteps, choose, func() error {
		if w.steps == 0 {
			return nil
		}
		if err := a.told(); err != nil {
			return w.errorf("joint action %v: %w", w.joint, err)
		}
		if err := a.done(); err != nil {
			return w.errorf("joint action %v: %w", w.joint, err)
		}
		return nil
	})
}

// answered is a round and the actions of the agents in it.
type answered struct {
	w        *walk
	before   env.TimeStep
	named    []bool          // by number: some agent names it
	complete []bool          // by number: its whole coalition names it
	starts   []cluster.JobID // jobs that candidates start, the jobs of one candidate after those of another
	ran      []int           // how often each job of starts had started before
	from     []int           // by number: the index in starts of the candidate's first job
}

// note copies what the check needs of the present round, as the game reuses its list.
func (a *answered) note() {
	w := a.w
	a.before.CopyFrom(&w.ts)
	n := w.spec.Candidates
	a.named, a.complete = make([]bool, n), make([]bool, n)
	a.starts, a.ran, a.from = a.starts[:0], a.ran[:0], []int{0}
	for _, x := range w.joint {
		a.named[x] = x != game.Pass
	}
	for k := range w.ts.List {
		a.from = append(a.from, len(a.starts))
		members := w.ts.Members(game.Action(k + 1))
		a.complete[k+1] = len(members) > 0
		for _, m := range members {
			a.complete[k+1] = a.complete[k+1] && w.joint[m.Server] == m.Candidate
		}
		for _, o := range w.ts.List[k].Ops {
			if o.Kind == cluster.OpPlace {
				a.starts, a.ran = append(a.starts, o.Job), append(a.ran, w.ts.Cluster.Starts(o.Job))
			}
		}
	}
	a.from = append(a.from, len(a.starts))
}

// told returns an error if Taken or Refused contradict what the agents named.
func (a *answered) told() error {
	ts := &a.w.ts
	own := len(a.before.Members(1)) == 0 && slices.Equal(ts.Taken, []game.Action{1}) // it starts no job: to pass is to take it
	if !slices.IsSorted(ts.Taken) {
		return fmt.Errorf("taken are %v, want them ascending", ts.Taken)
	}
	for _, taken := range ts.Taken {
		if taken <= game.Pass || int(taken) >= len(a.from)-1 {
			return fmt.Errorf("taken is %d, want one of %d candidates", taken, len(a.from)-2)
		}
		if !a.named[taken] && !own {
			return fmt.Errorf("taken is %d, which nobody named", taken)
		}
		for _, m := range a.before.Members(taken) {
			if x := a.w.joint[m.Server]; x != taken && x != game.Pass {
				return fmt.Errorf("taken is %d, but its member %d names %d", taken, m.Server, x)
			}
		}
	}
	if lowest := slices.Index(a.named, true); lowest > 0 && a.complete[lowest] && !slices.Contains(ts.Taken, game.Action(lowest)) {
		return fmt.Errorf("all of its coalition name %d, and nobody a lower number, but taken are %v", lowest, ts.Taken)
	}
	var want []game.Action
	for n, named := range a.named {
		if named && (own || !slices.Contains(ts.Taken, game.Action(n))) {
			want = append(want, game.Action(n))
		}
	}
	var got []game.Action
	for _, r := range ts.Refused {
		got = append(got, r.Candidate)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("taken are %v, refused are %v, want %v", ts.Taken, got, want)
	}
	return nil
}

// done returns an error about a job that a taken candidate should have started and that has not started.
func (a *answered) done() error {
	for _, taken := range a.w.ts.Taken {
		for i := a.from[taken]; i < a.from[taken+1]; i++ {
			if id := a.starts[i]; a.w.ts.Cluster.Starts(id) <= a.ran[i] {
				return fmt.Errorf("taken is %d, but job %d has not started", taken, id)
			}
		}
	}
	return nil
}

// prior compares the event log of agents who follow the prior with that of Alone.
func prior(make Make, seed uint64) error {
	w, err := start(make, seed, "prior")
	if err != nil {
		return err
	}
	defer w.close()
	alone, ok := env.As[interface {
		Alone(ctx context.Context, seed uint64) (*sim.Log, error)
	}](w.env)
	if !ok {
		return fmt.Errorf("the environment does not play its prior alone: %w", ErrSkip)
	}
	recorder, ok := env.As[interface{ Log() *sim.Log }](w.env)
	if !ok {
		return fmt.Errorf("the environment keeps no log: %w", ErrSkip)
	}
	if err := w.finish(nothing); err != nil {
		return err
	}
	log, err := alone.Alone(context.Background(), seed)
	if err != nil {
		return err
	}
	got, want := happened(recorder.Log()), happened(log)
	for i := range max(len(got), len(want)) {
		if i == len(got) && w.ts.Truncated != "" {
			return nil // a limit ended the episode, which the prior alone does not have
		}
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			return fmt.Errorf("record %d is %q, when the prior plays alone %q", i, got[min(i, len(got)):min(i+1, len(got))],
				want[min(i, len(want)):min(i+1, len(want))])
		}
	}
	return nil
}

// happened returns the records of a log as text, one string per record.
func happened(l *sim.Log) []string {
	var all []string
	for i := range l.Records {
		r := &l.Records[i]
		all = append(all, fmt.Sprint(r.At, " ", r.Kind, " ", r.Job, " ", r.Server, " ", l.Placement(r), " ", l.GPUs(r)))
	}
	return all
}
