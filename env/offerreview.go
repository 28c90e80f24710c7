package env

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Review shows offers that could be made in the state of the transaction. Servers, jobs and the cluster are shown as Encode
// shows them, before any of the offers, and jobs that run too if offers are about them: no more jobs than the window holds
// or the offers are about. An offer is shown by what its operations change, which are carried out and rolled back.
//
// An offer whose operations the state does not allow, or about a job that neither waits nor runs, is an error that names it
// and wraps cluster.ErrInfeasible; what r holds is then undefined. The state is as it was in any case. Review allocates
// nothing once its buffers and those of r have grown and the kinds of jobs are known.
func (e *StandardEncoder) Review(tx *cluster.Txn, offers []Offer, r *Review) error {
	s := tx.State()
	if err := check(s, offers); err != nil {
		return err
	}
	if e.spec.Agents != s.Servers() {
		e.fits = capacity{} // it counts by server
		e.Spec(s.Servers())
	}
	e.window = slices.Grow(e.window[:0], e.Window)[:e.Window]
	e.look(s, e.window)
	size := func(buf []float32, n int) []float32 { return slices.Grow(buf[:0], n)[:n] }
	r.Servers = size(r.Servers, s.Servers()*len(serverFeatures))
	r.Global = size(r.Global, len(globalFeatures))
	r.Offers = size(r.Offers, len(offers)*offerWidth)
	clear(r.Global)
	clear(r.Offers)
	e.observeServers(r.Servers)
	e.observeGlobal(e.window, r.Global)

	e.list(offers, r)
	r.Jobs = size(r.Jobs, len(r.Ids)*len(jobFeatures))
	clear(r.Jobs)
	e.learn(s, r.Ids)
	e.rankAll(s, r.Ids)
	for k, id := range r.Ids {
		row := r.Jobs[k*len(jobFeatures):]
		e.observeJob(k, id, row)
		if s.Phase(id) == cluster.Running {
			row[jobStartable] = 0
		}
	}

	r.Shares = r.Shares[:0]
	e.trial.begin(s, e.outlook.total.gpus)
	for i := range offers {
		if err := e.try(tx, offers, i, r); err != nil {
			return err
		}
	}
	e.trial.compare(offers, r.Offers)
	return nil
}

// check reports an offer that is none.
func check(s *cluster.State, offers []Offer) error {
	for i := range offers {
		o := &offers[i]
		if o.Kind >= offerKinds {
			return fmt.Errorf("review offer %d: %v, want one below %d", i, o.Kind, offerKinds)
		}
		if o.Job >= 0 && (int(o.Job) >= s.Jobs() || s.Phase(o.Job) != cluster.Pending && s.Phase(o.Job) != cluster.Running) {
			return fmt.Errorf("review offer %d (%v of job %d): want a job that waits or runs: %w", i, o.Kind, o.Job,
				cluster.ErrInfeasible)
		}
	}
	return nil
}

// list fills Ids and Of.
func (e *StandardEncoder) list(offers []Offer, r *Review) {
	r.Ids, r.Of = r.Ids[:0], r.Of[:0]
	for i := range offers {
		at := -1
		if id := offers[i].Job; id >= 0 {
			if at = slices.Index(r.Ids, id); at < 0 {
				at = len(r.Ids)
				r.Ids = append(r.Ids, id)
			}
		}
		r.Of = append(r.Of, int32(at))
	}
	about := len(r.Ids)
	for _, id := range e.window {
		if id >= 0 && len(r.Ids) < e.Window && !slices.Contains(r.Ids[:about], id) {
			r.Ids = append(r.Ids, id)
		}
	}
}

// try carries an offer out, looks at it and rolls it back.
func (e *StandardEncoder) try(tx *cluster.Txn, offers []Offer, i int, r *Review) error {
	o, t, mark := &offers[i], &e.trial, tx.Mark()
	t.before(o)
	defer tx.Rollback(mark)
	for k := range o.Ops {
		if err := tx.Do(&o.Ops[k]); err != nil {
			return fmt.Errorf("review offer %d (%v of job %d): %w", i, o.Kind, o.Job, err)
		}
	}
	t.after(tx.Ops()[mark:])
	r.Shares = t.shares(int32(i), r.Shares)
	e.observeOffer(o, r.Of[i], r.Offers[i*offerWidth:(i+1)*offerWidth])
	return nil
}
