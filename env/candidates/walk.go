package candidates

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// Config configures whose proposals are reviewed and which candidates are searched for.
type Config struct {
	// Base makes the base, the scheduler whose proposals are reviewed. After every choice other than its own it is reset and
	// introduced to the cluster as in a snapshot; it loses what it has learned until then.
	Base func() cluster.Scheduler
	// Start makes the placer for jobs that the base would not start.
	Start func() placement.Placer
	// Menu adds candidates with other amounts and numbers of workers than requested, and with shared GPUs.
	Menu bool
	// Deltas adds candidates that stop, move or resize running jobs, or that veto the base's preemptions.
	Deltas bool
	// Moves restricts the search to moves of running jobs.
	Moves bool

	Items int // maximum number of candidates in a list besides the base's own
	// Choices is the maximum number of lists in one decision. The rest of the base's proposal is carried out as it is, so that a
	// decision about hundreds of jobs does not take long. On more than a few hundred servers the number of lists is lower, see
	// effort.
	Choices int
	// Wide selects wide lists: one list for the whole instant, with jobs, placements and amounts that the base does not consider
	// and with the proposals of Rivals, instead of one list for each start of the base.
	Wide   bool
	Rivals []Named
	// Times multiplies the numbers of jobs, servers, host jobs, amounts and changes that the search for a wide list considers; 0
	// and 1 mean the usual numbers. Items still bounds the list. It serves to measure what the usual list misses.
	Times int

	Scarce float64       // fraction of free GPUs below which candidates are searched for even if no job waits
	Hold   time.Duration // after this time a job is no longer kept from starting

	single bool // a wide list closes as soon as something was done that the base did not propose; set for a Scheduler
}

// Wider returns the configuration of a wide list that searches for the given number of times as many candidates and shows as many
// more.
func (c Config) Wider(times int) Config {
	c.Wide, c.Items, c.Times = true, c.Items*times, c.times()*times
	return c
}

func (c *Config) times() int { return max(c.Times, 1) }

// Named is a scheduler with its name.
type Named struct {
	Name string
	New  func() cluster.Scheduler
}

// Default returns the default configuration with the given base.
func Default(base func() cluster.Scheduler) Config {
	return Config{
		Base: base, Start: func() placement.Placer { return &placement.BestFit{} }, Items: 4, Choices: 64, Hold: 2 * time.Hour,
		Scarce: 0.1,
	}
}

// walk steps through the decisions of one episode with narrow lists, one list at a time: Begin, then Take until List is empty.
// Equal episodes and equal choices give equal lists. Not safe for concurrent use.
type walk struct {
	Config
	front Guard // the base with its commitments
	begin placement.Placer
	held  map[cluster.JobID]time.Duration // since when the walk has kept a job from a start that the base proposed
	seed  uint64
	tally [Kinds]int // number of candidates taken since Reset, by kind

	// The decision in progress.
	tx         *cluster.Txn
	events     []cluster.Event
	freed      bool               // there may now be room for running jobs that there was not before
	news       bool               // something other than a change of speed has happened
	deltas     int                // number of changes to running jobs
	lists      int                // number of lists shown
	from       int                // mark in the transaction at which the present proposal begins
	plan       []start            // the present proposal, if it contains only starts
	ops        []cluster.Proposal // the operations of the present proposal
	at         int                // how many starts of the plan are carried out
	whole      bool               // the proposal is reviewed as a whole
	list       []Candidate
	coalitions coalitions

	// Memory that is reused: for narrow lists from decision to decision, for wide lists from list to list.
	memory   memory
	made     []Candidate
	fits     []start
	waiting  []cluster.JobID
	longest  []cluster.JobID // running jobs, see finder.longest
	ids      []cluster.JobID
	pairings []pairing
}

// newWalk returns a walk. Call Reset before the first Begin.
func newWalk(c Config) *walk {
	w := &walk{Config: c, begin: c.Start()}
	w.front = Guard{base: c.Base(), place: c.Start(), exempt: w.exempt, keep: w.keep}
	return w
}

// Tally returns, for each kind, how many candidates were taken since Reset.
func (w *walk) Tally() [Kinds]int { return w.tally }

// Reset begins an episode.
func (w *walk) Reset(seed uint64) error {
	w.held, w.seed, w.tally = map[cluster.JobID]time.Duration{}, seed, [Kinds]int{}
	w.list = nil
	w.front.commitment = commitment{}
	return w.front.Reset(seed)
}

// Begin asks the base for its proposal at a decision point and finds the first list.
func (w *walk) Begin(tx *cluster.Txn) error {
	w.start(tx)
	return w.propose()
}

// start begins a decision.
func (w *walk) start(tx *cluster.Txn) {
	w.tx, w.events, w.list = tx, tx.Events(), w.list[:0]
	w.memory.clear()
	w.freed, w.news, w.deltas, w.lists = false, false, 0, 0
	for _, e := range w.events {
		switch e.Kind {
		case cluster.Finished:
			delete(w.held, e.Job)
			w.news, w.freed = true, true
		case cluster.Respeed:
		case cluster.Found:
			w.freed = true
		case cluster.Arrived:
			w.news = true
		default:
			w.news, w.freed = true, true
		}
	}
	c := &w.front.commitment
	*c = commitment{at: tx.Now(), holds: c.holds, spared: c.spared, sparing: c.sparing}
}

// Lists implements Source.
func (w *walk) Lists() int { return w.lists }

// List returns the candidates to choose from: the base's own first, then at least one other, all feasible. It is empty when the
// decision is over. The list belongs to the walk and is valid until the next Take.
func (w *walk) List() []Candidate { return w.list }

// TakeAll implements Source. It takes the first candidate, after which there is a new list, and refuses the others.
func (w *walk) TakeAll(places []int) (refused []int, err error) { return places[1:], w.Take(places[0]) }

// Take carries out a candidate of the list and finds the next list. The state must be as when the list was found.
func (w *walk) Take(i int) error {
	c := &w.list[i]
	w.tally[c.Kind]++
	switch {
	case i == 0:
		if err := c.Apply(w.tx); err != nil {
			return err
		}
		if w.whole {
			return w.end()
		}
		w.at++
		return w.step()
	}
	return w.takeOther(c)
}

// takeOther carries out a candidate that is not the base's own and finds the next list.
func (w *walk) takeOther(c *Candidate) error {
	if w.whole {
		if err := w.depart(c, nil); err != nil {
			return err
		}
		return w.end()
	}
	stop := c.stop
	if err := w.depart(c, w.plan[w.at:]); err != nil {
		return err
	}
	if stop {
		return w.end()
	}
	w.front.stale = true
	return w.propose()
}

// Pass implements Source. The jobs that the base would start wait, and the walk asks for another decision after the retry
// interval. A job that has been kept from starting for too long starts nevertheless.
func (w *walk) Pass() error {
	switch {
	case w.whole:
		w.pass(w.ops)
		return w.end()
	case w.at == len(w.plan):
		return w.Take(0) // the base starts no job either
	}
	w.pass(w.ops[w.at:])
	return w.end()
}

// pass keeps the jobs that the operations would start from starting, except those that have been kept for too long.
func (w *walk) pass(ops []cluster.Proposal) {
	exempt := func(p cluster.Proposal) bool { return p.Kind == cluster.OpPlace && w.exempt(w.tx.View(), p.Job) }
	due := slices.ContainsFunc(ops, exempt)
	for i := range ops {
		w.front.stale = true
		switch {
		case due && (w.whole || exempt(ops[i])) && w.tx.Do(&ops[i]) == nil:
		case ops[i].Kind == cluster.OpPlace:
			w.keep(w.tx, ops[i].Job)
		}
	}
}

// propose asks the base for its proposal and finds the first list about it.
func (w *walk) propose() error {
	w.from = w.tx.Mark()
	if err := w.front.Schedule(w.tx); err != nil {
		return err
	}
	plan, only := w.memory.starts(w.tx, w.from, w.plan[:0])
	w.plan, w.at = plan, 0
	if w.whole = !only; !only && (!w.Deltas || w.Moves) || !w.worthwhile(plan) {
		return w.end()
	}
	w.ops = w.memory.proposals(w.tx.Ops()[w.from:])
	w.tx.Rollback(w.from)
	if w.whole {
		return w.review()
	}
	return w.step()
}

// worthwhile reports whether a choice may matter: jobs wait, free GPUs are scarce, a gang would be spread, or running jobs could
// get more.
func (w *walk) worthwhile(plan []start) bool {
	s := w.tx.View()
	if w.Moves {
		return w.freed && s.FreeTotal() > 0
	}
	scattered := slices.ContainsFunc(plan, func(st start) bool { return len(st.at) > fewest(s, &st) })
	scarce := float64(s.FreeTotal())*cluster.WholeGPU < w.Scarce*float64(s.Total().GPUMilli)
	return len(s.Pending()) > 0 || scattered || len(plan) > 0 && scarce || w.Deltas && w.freed && s.FreeTotal() > 0
}

// effort bounds the number of lists of one decision times the number of servers, because the cost of deciding on a list grows
// with the servers: a network takes 5 ms for one list on 1,000 servers. It allows 20 lists there, and 64 lists on 312 servers.
const effort = 20_000

// mayShow reports whether the decision may have another list.
func (w *walk) mayShow() bool {
	return w.lists < min(w.Choices, max(effort/w.tx.View().Servers(), 1))
}

// step finds the alternatives to the next start of the plan or, after the last start, to stopping there. It carries out starts to
// which it finds no alternative.
func (w *walk) step() error {
	for ; w.at <= len(w.plan); w.at++ {
		own := Candidate{Job: -1, commitment: w.front.commitment}
		if w.at < len(w.plan) {
			own.Job, own.Ops, own.rest = w.plan[w.at].job, w.ops[w.at:w.at+1], w.ops[w.at+1:]
		}
		own.done = true
		if w.mayShow() {
			if w.show(own, w.find(w.plan, w.at)) {
				return nil
			}
		}
		if err := own.Apply(w.tx); err != nil {
			return err
		}
	}
	return w.end()
}

// review finds the alternatives to a proposal that contains other operations than starts. The decision is over after it.
func (w *walk) review() error {
	own := Candidate{Job: -1, Ops: w.ops, commitment: w.front.commitment}
	own.done = true
	if w.mayShow() {
		others, err := w.vetoes(own.Ops)
		if err != nil || w.show(own, others) {
			return err
		}
	}
	if err := own.Apply(w.tx); err != nil {
		return err
	}
	return w.end()
}

// show makes a list of the base's own candidate and those of the others that are feasible, and reports whether there are any.
func (w *walk) show(own Candidate, others []Candidate) (shown bool) {
	if len(others) == 0 {
		return false
	}
	own.of = w
	w.list = append(w.list[:0], own)
	w.coalitions.clear(w.tx.View().Servers())
	for i := range others {
		if w.try(&others[i]) {
			others[i].of = w
			w.list = append(w.list, others[i])
		}
	}
	if len(w.list) < 2 {
		w.list = w.list[:0]
		return false
	}
	w.lists++
	w.try(&w.list[0]) // for its members: it was feasible when the base proposed it
	return true
}

// try carries out a candidate and rolls it back, to find its members. It reports whether the candidate is feasible.
func (w *walk) try(c *Candidate) bool {
	mark := w.tx.Mark()
	if !c.do(w.tx) {
		return false
	}
	if len(c.Ops) > 0 {
		c.Members = w.coalitions.tried(w.tx, mark)
	} else {
		c.Members = w.waits(c)
	}
	w.tx.Rollback(mark)
	return true
}

// waits returns the members of a candidate without operations.
func (w *walk) waits(c *Candidate) []Member {
	s, plan := w.tx.View(), w.plan
	if w.whole {
		plan = nil
	}
	plan = plan[min(w.at, len(plan)):]
	switch {
	case c.Kind == Reserve || c.Kind == Gather || c.Kind == Drop:
		holds := w.front.holds
		if c.Kind != Drop {
			holds = c.holds[len(c.holds)-1:]
		}
		for id := range s.Servers() {
			if v := cluster.ServerID(id); reserves(holds, v) {
				w.coalitions.put(v, 1)
			}
		}
	case c.Kind == Veto:
		for _, id := range c.spared {
			w.coalitions.place(s.Placement(id))
		}
	case c.Kind == Wait:
		w.coalitions.place(plan[0].at)
	case c.Kind == Stop:
		for i := range plan {
			w.coalitions.place(plan[i].at)
		}
	}
	return w.coalitions.take()
}

// end closes the decision.
func (w *walk) end() error {
	w.list = w.list[:0]
	w.tx.Tell(w.events)
	return nil
}

// depart carries out a candidate that is not the base's own. plan is what the base would have started.
func (w *walk) depart(c *Candidate, plan []start) error {
	w.front.stale = true
	w.front.commit(&c.commitment)
	if err := c.Apply(w.tx); err != nil {
		return err
	}
	switch c.Kind {
	case Veto:
		for _, id := range c.kept {
			w.keep(w.tx, id)
		}
		return nil
	case Grow, Move, Preempt:
		w.deltas++
	}
	if c.stop {
		w.front.stop = false
		for _, st := range plan {
			w.keep(w.tx, st.job)
		}
	} else if len(plan) > 0 && !c.starts(plan[0].job) {
		w.note(w.tx, plan[0].job) // if the base still proposes this start and may not carry it out, the guard calls keep
	}
	return nil
}

// keep records that a job is kept from a start that the base proposed, and asks for a decision point after the retry interval.
func (w *walk) keep(tx *cluster.Txn, id cluster.JobID) {
	w.note(tx, id)
	tx.WakeAt(tx.Now() + retry)
}

// note records since when a job is kept from starting.
func (w *walk) note(tx *cluster.Txn, id cluster.JobID) {
	if _, ok := w.held[id]; !ok {
		w.held[id] = tx.Now()
	}
}

// exempt reports whether a job has been kept for so long that it must not be kept any longer.
func (w *walk) exempt(s *cluster.View, id cluster.JobID) bool {
	since, ok := w.held[id]
	return ok && s.Now()-since >= w.Hold
}
