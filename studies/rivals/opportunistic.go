package rivals

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/env/cluster"
)

// opportunistic is the scheme without loans that Lyra is compared with (EuroSys 2023, §7.1). Fungible jobs queue for the idle
// servers of the inference pool. They have a lower priority than inference, which stops them when it needs their server. The
// other jobs queue for the training cluster. Both queues are in the order of submission, and a job that does not fit blocks its
// queue.
//
// In terms of this project, the idle servers of inference are those that it offers, and using them is a loan. All that are
// offered are used, and inference takes back any of them: idle ones first, because it sees which are idle, and then random ones.
// The paper does not say how it chooses. A job is fungible if it may run on a GPU type of the inference pool (every job may if
// types are unknown) and the empty pool can hold it as requested. Reconstructed: no fungible job runs on the training cluster.
// There is one exception, so that no job waits for ever: if nothing runs anywhere, the earlier of the two queues' first jobs that
// fits starts wherever there is room.
func opportunistic() baselines.Baseline {
	return baselines.Baseline{
		Name: "opportunistic", About: "submission order; fungible jobs on idle inference servers, the others on training servers",
		Rule: "Jobs that may run on the GPUs of the inference pool queue for its idle servers and are stopped when inference " +
			"needs these;" +
			" the others queue for the training servers. Both queues go by submission, and a job that does not fit blocks its queue.",
		Source: "Lyra (EuroSys 2023), §7.1: its rival without loans", Needs: needsNothing,
		Declare: func(*baselines.Settings) func(string) cluster.Scheduler {
			c := loan.Default()
			c.Policy, c.Flexible = loan.Random, false
			return func(name string) cluster.Scheduler { return loan.New(name, &opportunist{name: name}, c) }
		},
	}
}

// opportunist places each job in one of the two pools. The orchestrator borrows the inference servers for it.
type opportunist struct {
	name   string
	known  bool
	pools  [2][]cluster.ServerID // by cluster.Pool
	holds  func(*cluster.JobSpec) int64
	queues [2][]cluster.JobID // by cluster.Pool, in the order of submission
	fit    fitter
}

func (o *opportunist) Name() string { return o.name }

func (o *opportunist) Reset(uint64) error {
	*o = opportunist{name: o.name}
	return nil
}

func (o *opportunist) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	o.look(s)
	for _, e := range tx.Events() {
		if e.Kind == cluster.Arrived || e.Kind == cluster.Interrupted {
			o.queue(s, e.Job)
		}
	}
	const training, inference = int(cluster.Training), int(cluster.Inference)
	for _, turn := range [...]struct{ queue, pool int }{{inference, inference}, {training, training}, {inference, training}} {
		for len(o.queues[turn.queue]) > 0 {
			if turn.queue != turn.pool && !o.first(s) {
				break
			}
			p, fits := o.fit.in(s, o.queues[turn.queue][0], o.pools[turn.pool])
			if !fits {
				break
			}
			if err := o.start(tx, turn.queue, p); err != nil {
				return err
			}
		}
	}
	if len(s.Running()) > 0 {
		return nil
	}
	return o.anywhere(tx)
}

// first reports whether the first fungible job was submitted before all jobs that wait for the training cluster.
func (o *opportunist) first(s *cluster.View) bool {
	other := o.queues[cluster.Training]
	return len(other) == 0 || bySubmit(s, o.queues[cluster.Inference][0], other[0]) < 0
}

// look records the servers of each pool once.
func (o *opportunist) look(s *cluster.View) {
	if o.known {
		return
	}
	o.known = true
	var pool cluster.Spec
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		v := s.Server(id)
		o.pools[v.Pool] = append(o.pools[v.Pool], id)
		if v.Pool == cluster.Inference {
			pool.Servers = append(pool.Servers, *v)
		}
	}
	o.holds = pool.Rooms()
}

// queue adds a job to its queue.
func (o *opportunist) queue(s *cluster.View, id cluster.JobID) {
	spec := s.Spec(id)
	q := &o.queues[cluster.Training]
	if len(o.pools[cluster.Inference]) > 0 && o.holds(spec) >= int64(spec.Workers) {
		q = &o.queues[cluster.Inference]
	}
	at, _ := slices.BinarySearchFunc(*q, id, func(a, b cluster.JobID) int { return bySubmit(s, a, b) })
	*q = slices.Insert(*q, at, id)
}

func bySubmit(s *cluster.View, a, b cluster.JobID) int {
	return cmp.Or(cmp.Compare(s.Spec(a).Submit, s.Spec(b).Submit), cmp.Compare(a, b))
}

// start starts the first job of a queue.
func (o *opportunist) start(tx *cluster.Txn, pool int, p cluster.Placement) error {
	id := o.queues[pool][0]
	o.queues[pool] = slices.Delete(o.queues[pool], 0, 1)
	return tx.Place(id, p)
}

// anywhere starts the first job of one of the queues, whichever was submitted earlier and fits.
func (o *opportunist) anywhere(tx *cluster.Txn) error {
	s := tx.View()
	order := []int{0, 1}
	if a, b := o.queues[0], o.queues[1]; len(a) > 0 && len(b) > 0 && bySubmit(s, b[0], a[0]) < 0 {
		order = []int{1, 0}
	}
	for _, pool := range order {
		if len(o.queues[pool]) == 0 {
			continue
		}
		if p, fits := s.BestFit(o.queues[pool][0], nil); fits {
			return o.start(tx, pool, p)
		}
	}
	return nil
}

// fitter places a job as cluster.View.BestFit does, but only on given servers. It repeatedly takes the server with the least
// room that can take all workers left, or if there is none, the one with the most room; among equals the lowest id. It uses the
// first GPU type that can hold the gang.
type fitter struct {
	room  []int32 // by index in the given servers
	order []int
	types []string
	fit   cluster.Placement
}

// in returns a placement of the waiting job on the given servers. The result is valid until the next call.
func (f *fitter) in(s *cluster.View, id cluster.JobID, servers []cluster.ServerID) (p cluster.Placement, fits bool) {
	spec := s.Spec(id)
	if milli, ok := s.QuotaLeft(id); ok && int64(spec.Workers)*int64(spec.Request.GPUMilli) > milli {
		return nil, false
	}
	f.room, f.types = f.room[:0], f.types[:0]
	for _, v := range servers {
		f.room = append(f.room, s.Fits(v, id, spec.Request))
		if t := s.Server(v).GPUType; !spec.Mixed && !slices.Contains(f.types, t) {
			f.types = append(f.types, t)
		}
	}
	if spec.Mixed {
		return f.some(s, spec, servers, func(string) bool { return true })
	}
	for _, only := range f.types {
		if p, fits := f.some(s, spec, servers, func(t string) bool { return t == only }); fits {
			return p, true
		}
	}
	return nil, false
}

// some places the gang on servers with the GPU types for which will returns true.
func (f *fitter) some(s *cluster.View, spec *cluster.JobSpec, servers []cluster.ServerID, will func(string) bool) (
	cluster.Placement, bool,
) {
	f.order, f.fit = f.order[:0], f.fit[:0]
	for i, v := range servers {
		if f.room[i] > 0 && will(s.Server(v).GPUType) {
			f.order = append(f.order, i)
		}
	}
	slices.SortStableFunc(f.order, func(a, b int) int { return cmp.Compare(f.room[a], f.room[b]) })
	for left := spec.Workers; left > 0; {
		if len(f.order) == 0 {
			return nil, false
		}
		n := min(left, f.room[f.order[len(f.order)-1]])
		at := slices.IndexFunc(f.order, func(i int) bool { return f.room[i] >= n })
		i := f.order[at]
		f.fit = append(f.fit, cluster.Piece{Server: servers[i], Workers: n, Amount: spec.Request})
		f.order = slices.Delete(f.order, at, at+1)
		left -= n
	}
	return f.fit, true
}
