package candidates_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// start is a job and the placement with which it would start.
type start struct {
	job cluster.JobID
	at  cluster.Placement
}

// planner is a base that records what it proposed to start when it was last asked.
type planner struct {
	cluster.Scheduler
	planned *[]start
}

func (p planner) Schedule(tx *cluster.Txn) error {
	mark := tx.Mark()
	err := p.Scheduler.Schedule(tx)
	*p.planned = (*p.planned)[:0]
	for _, o := range tx.Ops()[mark:] {
		if o.Kind == cluster.OpPlace {
			*p.planned = append(*p.planned, start{o.Job, slices.Clone(o.Placement())})
		}
	}
	return err
}

// coalitionsSeen counts the candidates whose members were checked, by how the members are determined.
type coalitionsSeen struct{ acting, lending, waits, stops, longStops, holds, vetoes, none int }

func (c *coalitionsSeen) judge(t *testing.T) {
	if min(c.acting, c.waits, c.stops, c.longStops, c.holds, c.vetoes, c.none) == 0 {
		t.Errorf("checked the members of %+v, want some of each but of those that lend", *c)
	}
}

// checkMembers compares the members of a candidate with those that plain loops over the servers find. The state is that before
// the candidate. planned is what the base proposed to start when it was last asked; after the walk has departed from the base, it
// takes back some of these starts.
func checkMembers(t rapid.TB, tx *cluster.Txn, list []candidates.Candidate, i int, planned []start, departed bool,
	seen *coalitionsSeen,
) {
	c, own, s := &list[i], &list[0], tx.View()
	sum := 0.0
	for k, m := range c.Members {
		if sum += float64(m.Weight); m.Weight <= 0 || k > 0 && c.Members[k-1].Server >= m.Server {
			t.Fatalf("members of %v are %v, want servers ascending with weights above 0", c.Kind, c.Members)
		}
	}
	if nobody := c.Kind == candidates.Own && len(c.Ops) == 0; nobody != (len(c.Members) == 0) {
		t.Fatalf("members of %v with %d operations are %v", c.Kind, len(c.Ops), c.Members)
	} else if nobody {
		seen.none++
		return
	}
	if math.Abs(sum-1) > 1e-5 {
		t.Fatalf("members of %v are %v, which sum to %v", c.Kind, c.Members, sum)
	}
	load := map[cluster.ServerID]int64{}
	place := func(p cluster.Placement) {
		for _, q := range p {
			load[q.Server] += int64(q.Workers)
		}
	}
	switch {
	case len(c.Ops) > 0:
		acts(t, tx, c, load)
		if seen.acting++; slices.ContainsFunc(c.Ops, func(p cluster.Proposal) bool { return p.Kind == cluster.OpLoan }) {
			seen.lending++
		}
	case c.Kind == candidates.Wait:
		place(own.Ops[0].Placement)
		seen.waits++
	case c.Kind == candidates.Stop && departed:
		for _, p := range own.Ops[0].Placement {
			if !slices.ContainsFunc(c.Members, func(m candidates.Member) bool { return m.Server == p.Server }) {
				t.Fatalf("members of a stop are %v without server %d, where job %d would start", c.Members, p.Server, own.Job)
			}
		}
		return
	case c.Kind == candidates.Stop:
		left := 0
		for _, st := range planned {
			if s.Phase(st.job) == cluster.Pending {
				place(st.at)
				left++
			}
		}
		if seen.stops++; left > 1 {
			seen.longStops++
		}
	case c.Kind == candidates.Reserve || c.Kind == candidates.Gather: // all servers of a block count the same
		for _, m := range c.Members {
			load[m.Server] = 1
		}
		seen.holds++
	case c.Kind == candidates.Veto && departed: // it may spare jobs of earlier vetoes, too
		for _, p := range own.Ops {
			if p.Kind == cluster.OpPreempt {
				for _, q := range s.Placement(p.Job) {
					if !slices.ContainsFunc(c.Members, func(m candidates.Member) bool { return m.Server == q.Server }) {
						t.Fatalf("members of a veto are %v without server %d, where job %d runs", c.Members, q.Server, p.Job)
					}
				}
			}
		}
		return
	case c.Kind == candidates.Veto:
		for _, p := range own.Ops {
			if p.Kind == cluster.OpPreempt {
				place(s.Placement(p.Job))
			}
		}
		seen.vetoes++
	default:
		t.Fatalf("%v without operations", c.Kind)
	}
	if want := members(load); !alike(c.Members, want) {
		t.Fatalf("members of %v with %+v are %v, want %v", c.Kind, c.Ops, c.Members, want)
	}
}

// acts computes the loads of a candidate's operations. A running job counts its workers where the operations leave it, and a
// stopped job those where it ran when it was stopped. Each server that is lent or returned counts one more worker.
func acts(t rapid.TB, tx *cluster.Txn, c *candidates.Candidate, load map[cluster.ServerID]int64) {
	s, mark := tx.View(), tx.Mark()
	var touched []cluster.JobID
	var stops []start
	for _, p := range c.Ops {
		switch p.Kind {
		case cluster.OpLoan, cluster.OpReclaim:
			load[p.Server]++
		case cluster.OpPreempt:
			stops = append(stops, start{p.Job, slices.Clone(s.Placement(p.Job))})
		default:
			touched = append(touched, p.Job)
		}
		must.Do(t, tx.Do(&p))
	}
	place := func(p cluster.Placement) {
		for _, q := range p {
			load[q.Server] += int64(q.Workers)
		}
	}
	slices.Sort(touched)
	for _, id := range slices.Compact(touched) {
		if s.Phase(id) == cluster.Running {
			place(s.Placement(id))
		}
	}
	for _, st := range stops {
		if s.Phase(st.job) != cluster.Running { // otherwise it has started again
			place(st.at)
		}
	}
	tx.Rollback(mark)
}

// members returns the servers with a load, with weights in proportion to it.
func members(load map[cluster.ServerID]int64) (all []candidates.Member) {
	sum := int64(0)
	for _, n := range load {
		sum += n
	}
	for id, n := range load {
		all = append(all, candidates.Member{Server: id, Weight: float32(n) / float32(sum)})
	}
	slices.SortFunc(all, func(a, b candidates.Member) int { return int(a.Server - b.Server) })
	return all
}

func alike(a, b []candidates.Member) bool {
	return slices.EqualFunc(a, b, func(a, b candidates.Member) bool {
		return a.Server == b.Server && math.Abs(float64(a.Weight-b.Weight)) < 1e-6
	})
}

// proposer is a base whose proposal is a function.
type proposer struct{ decide func(tx *cluster.Txn) error }

func (proposer) Name() string                     { return "proposer" }
func (proposer) Reset(uint64) error               { return nil }
func (p proposer) Schedule(tx *cluster.Txn) error { return p.decide(tx) }

// TestMembersOfAWholeProposal uses four servers of 8 GPUs. A job with 6 workers runs on the first and one with 2 workers on the
// last; the third may be lent; jobs with 4 and 12 workers arrive.
func TestMembersOfAWholeProposal(t *testing.T) {
	at := func(pieces ...int) (p cluster.Placement) {
		for i := 0; i < len(pieces); i += 2 {
			p = append(p, cluster.Piece{
				Server: cluster.ServerID(pieces[i]), Workers: int32(pieces[i+1]), Amount: cluster.Amount{GPUMilli: cluster.WholeGPU},
			})
		}
		return p
	}
	stop := func(id cluster.JobID) cluster.Proposal { return cluster.Proposal{Kind: cluster.OpPreempt, Job: id} }
	place := func(id cluster.JobID, pieces ...int) cluster.Proposal {
		return cluster.Proposal{Kind: cluster.OpPlace, Job: id, Placement: at(pieces...)}
	}
	move := func(id cluster.JobID, pieces ...int) cluster.Proposal {
		return cluster.Proposal{Kind: cluster.OpMigrate, Job: id, Placement: at(pieces...)}
	}
	for _, c := range []struct {
		says      string
		ops       []cluster.Proposal
		own, veto []candidates.Member
	}{
		{
			"the workers that stop count beside those that start", []cluster.Proposal{stop(0), place(3, 1, 8, 0, 4)},
			[]candidates.Member{{Server: 0, Weight: 10.0 / 18}, {Server: 1, Weight: 8.0 / 18}}, []candidates.Member{{Server: 0, Weight: 1}},
		},
		{
			"a server that is lent counts as one worker more",
			[]cluster.Proposal{stop(0), {Kind: cluster.OpLoan, Server: 2}, place(2, 2, 3, 1, 1)},
			[]candidates.Member{{Server: 0, Weight: 6.0 / 11}, {Server: 1, Weight: 1.0 / 11}, {Server: 2, Weight: 4.0 / 11}},
			[]candidates.Member{{Server: 0, Weight: 1}},
		},
		{
			"a job that stops and starts elsewhere counts there", []cluster.Proposal{stop(1), place(1, 1, 2)},
			[]candidates.Member{{Server: 1, Weight: 1}}, []candidates.Member{{Server: 3, Weight: 1}},
		},
		{
			"a job that moves counts where it goes", []cluster.Proposal{move(0, 1, 6), stop(1)},
			[]candidates.Member{{Server: 1, Weight: 0.75}, {Server: 3, Weight: 0.25}}, []candidates.Member{{Server: 3, Weight: 1}},
		},
		{
			"a veto that starts some has their servers", []cluster.Proposal{stop(0), place(2, 1, 4)},
			[]candidates.Member{{Server: 0, Weight: 0.6}, {Server: 1, Weight: 0.4}}, []candidates.Member{{Server: 1, Weight: 1}},
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			e := sim.Episode{
				Config: sim.Config{Cluster: cluster.Uniform(4, 8), Grace: time.Minute, Demand: []sim.Demand{{Need: 500, Offer: 1}}},
				Jobs:   []trace.Job{gang("six", 0, 1000, 6), gang("two", 0, 1000, 2), gang("four", 10, 100, 4), gang("twelve", 10, 100, 12)},
			}
			e.Config.Cluster.Servers[2].Pool = cluster.Inference
			ops := []cluster.Proposal{place(0, 0, 6), place(1, 3, 2)}
			config := candidates.Default(func() cluster.Scheduler {
				return proposer{func(tx *cluster.Txn) error {
					for i := range ops {
						if err := tx.Do(&ops[i]); err != nil {
							return err
						}
					}
					return nil
				}}
			})
			config.Deltas = true
			w := candidates.NewWalk(config)
			must.Do(t, w.Reset(1))
			episode := simtest.Begin(t, &e)
			next := func() {
				tx, ok := episode.Next()
				if !ok {
					t.Fatal("the episode is over")
				}
				must.Do(t, w.Begin(tx))
			}
			next()
			for len(w.List()) > 0 {
				must.Do(t, w.Take(0))
			}
			episode.Commit()
			ops = c.ops
			next()
			list := w.List()
			if len(list) != 2 || list[1].Kind != candidates.Veto {
				t.Fatalf("list %+v, want the base's own and a veto", list)
			}
			for i, want := range [][]candidates.Member{c.own, c.veto} {
				if !alike(list[i].Members, want) {
					t.Errorf("members of %v are %v, want %v", list[i].Kind, list[i].Members, want)
				}
			}
		})
	}
}
