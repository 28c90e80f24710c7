package envtest

import (
	"errors"
	"slices"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// probes is how many claims of a step are tried in its transaction and rolled back.
const probes = 32

func feasible(w *walk, seed uint64) error {
	choose := w.random
	if w.spec.Agents == 1 || seed%2 == 0 { // fuller clusters, for random claims seldom complete large gangs
		choose = func() { w.complete() }
	}
	return w.through(walkSteps, choose, func() error {
		if w.ts.Over() {
			return nil
		}
		for at := range w.spec.Items() {
			if err := w.plain(at); err != nil {
				return err
			}
		}
		for range probes {
			if err := w.probe(w.draw.IntN(w.spec.Agents), w.draw.IntN(w.spec.Items())); err != nil {
				return err
			}
		}
		return nil
	})
}

// claim returns the job of an item and what each of its workers would get.
func (w *walk) claim(at int) (cluster.JobID, cluster.Amount) {
	k, l := w.spec.Unpack(env.Action(1 + at))
	id := w.ts.Window[k]
	if id < 0 {
		return id, cluster.Amount{}
	}
	return id, w.spec.Menu[l].Of(w.ts.State.Spec(id).Request)
}

// plain holds the masks of an item against State.Fits in plain loops.
func (w *walk) plain(at int) error {
	id, amount := w.claim(at)
	if id < 0 {
		return nil
	}
	s := w.ts.State
	var of, rooms []int64 // a server of each type, and the room on its type
	for i := range w.spec.Agents {
		like := slices.IndexFunc(of, func(j int64) bool { return s.SameType(id, cluster.ServerID(j), cluster.ServerID(i)) })
		if like < 0 {
			like, of, rooms = len(of), append(of, int64(i)), append(rooms, w.room(i, id, amount))
		}
		fits, total := s.Fits(cluster.ServerID(i), id, amount), rooms[like]
		want := fits > 0 && total >= int64(s.Spec(id).Workers)
		if got := w.ts.Legal(&w.spec, i)[1+at]; got != want {
			return w.errorf("agent %d, item %d, job %d: legal %v, but the server takes %d and the cluster %d of its %d workers",
				i, at, id, got, fits, total, s.Spec(id).Workers)
		}
	}
	return nil
}

// room counts the workers of a gang that would stand on the agent's server among others.
func (w *walk) room(agent int, id cluster.JobID, amount cluster.Amount) int64 {
	s, total := w.ts.State, int64(0)
	for i := range w.spec.Agents {
		if s.SameType(id, cluster.ServerID(agent), cluster.ServerID(i)) {
			total += int64(s.Fits(cluster.ServerID(i), id, amount))
		}
	}
	if milli, ok := s.QuotaLeft(id); ok {
		total = min(total, milli/int64(amount.GPUMilli))
	}
	return total
}

// probe places the gang of an item on one server alone and takes it back.
func (w *walk) probe(agent, at int) error {
	id, amount := w.claim(at)
	if id < 0 {
		return nil
	}
	s := w.ts.State
	workers := s.Spec(id).Workers
	tx := s.Txn()
	mark := tx.Mark()
	err := tx.Place(id, cluster.Placement{{Server: cluster.ServerID(agent), Workers: workers, Amount: amount}})
	tx.Rollback(mark)
	legal := w.ts.Legal(&w.spec, agent)[1+at]
	switch {
	case err == nil && !legal:
		return w.errorf("agent %d, item %d: masked, but the server alone takes job %d", agent, at, id)
	case err != nil && !errors.Is(err, cluster.ErrInfeasible):
		return w.errorf("place job %d on server %d: %w", id, agent, err)
	case err != nil && legal && s.Fits(cluster.ServerID(agent), id, amount) >= workers:
		return w.errorf("agent %d, item %d: legal, but %w", agent, at, err)
	}
	return nil
}

func claims(w *walk, _ uint64) error {
	var (
		id     cluster.JobID
		starts int
		alone  int // the agent that claims alone, -1 if all do
	)
	choose := func() {
		k, l := w.complete()
		if id = -1; k < 0 {
			return
		}
		id, alone = w.ts.Window[k], -1
		starts = w.ts.State.Starts(id)
		spec := w.ts.State.Spec(id)
		for _, i := range w.draw.Perm(w.spec.Agents) {
			if w.joint[i] != env.NoOp && w.ts.State.Fits(cluster.ServerID(i), id, w.spec.Menu[l].Of(spec.Request)) >= spec.Workers {
				alone = i
				break
			}
		}
		if alone >= 0 && w.draw.IntN(4) > 0 {
			action := w.joint[alone]
			clear(w.joint)
			w.joint[alone] = action
		} else {
			alone = -1
		}
	}
	return w.through(walkSteps, choose, func() error {
		if w.steps == 0 || id < 0 {
			return nil
		}
		s := w.ts.State
		if s.Starts(id) != starts+1 {
			return w.errorf("job %d has %d starts, want %d after a complete claim %v", id, s.Starts(id), starts+1, w.joint)
		}
		if alone < 0 || s.Phase(id) != cluster.Running {
			return nil
		}
		if p := s.Placement(id); len(p) != 1 || int(p[0].Server) != alone {
			return w.errorf("job %d runs on %v, but agent %d claimed it alone", id, p, alone)
		}
		if len(w.ts.Refused) > 0 {
			return w.errorf("agents %v are refused, but agent %d claimed alone", w.ts.Refused, alone)
		}
		return nil
	})
}
