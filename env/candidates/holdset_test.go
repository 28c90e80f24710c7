package candidates_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

// holder takes random sets of candidates from a board, preferably reservations, and remembers the present reservations.
type holder struct {
	candidates.Source
	t     *rapid.T
	draw  *rand.Rand
	held  map[cluster.JobID]*hold // by gang
	hold  time.Duration
	lists *[2]int // number of lists shown during one reservation, and during several
}

// hold is a reservation as it was taken.
type hold struct {
	until time.Duration
	block []bool // the reserved servers
	began bool   // the gang has started since then, though it may have been stopped again
}

func (*holder) Name() string { return "holder" }

func (p *holder) Schedule(tx *cluster.Txn) error {
	err := p.Begin(tx)
	for rounds := 0; err == nil && len(p.List()) > 0; rounds++ {
		if rounds > endless {
			p.t.Fatalf("%d rounds in one decision", rounds)
		}
		p.check(tx)
		err = p.step(tx)
	}
	for gang, h := range p.held {
		h.began = h.began || tx.View().Phase(gang) != cluster.Pending
	}
	return err
}

// check compares the board's reservations with those that were taken. One may end as soon as its gang can start, or when its time
// is over.
func (p *holder) check(tx *cluster.Txn) {
	held := candidates.Held(p.Source)
	for gang, h := range p.held {
		starts := slices.ContainsFunc(p.List()[0].Ops, func(o cluster.Proposal) bool { return o.Kind == cluster.OpPlace && o.Job == gang })
		over := starts || h.began || tx.Now() >= h.until || tx.View().Phase(gang) != cluster.Pending
		switch block := held[gang]; {
		case block == nil && over:
			delete(p.held, gang)
		case !slices.Equal(block, h.block):
			p.t.Fatalf("at %v servers %v are held for job %d, want %v until %v", tx.Now(), block, gang, h.block, h.until)
		}
	}
	if len(held) != len(p.held) {
		p.t.Fatalf("at %v servers are held for %d gangs, want %d", tx.Now(), len(held), len(p.held))
	}
	if n := len(held); n > 0 {
		p.lists[min(n, 2)-1]++
	}
}

func (p *holder) step(tx *cluster.Txn) error {
	list := p.List()
	var set []int
	for i := 1; i < len(list); i++ {
		hold := list[i].Kind == candidates.Reserve || list[i].Kind == candidates.Gather
		if !list[i].Gone && list[i].Kind != candidates.Drop && (hold || p.draw.IntN(6) == 0) {
			set = append(set, i)
		}
	}
	if len(set) == 0 && !list[0].Gone {
		set = append(set, 0)
	}
	if len(set) == 0 {
		return p.Pass()
	}
	var took []candidates.Candidate
	for _, i := range set {
		took = append(took, list[i])
		took[len(took)-1].Members = slices.Clone(list[i].Members)
	}
	refused, err := p.TakeAll(set)
	for k, c := range took {
		if c.Kind != candidates.Reserve && c.Kind != candidates.Gather {
			continue
		}
		h := &hold{until: tx.Now() + p.hold, block: make([]bool, tx.View().Servers())}
		conflict := p.held[c.Job] != nil
		for _, m := range c.Members {
			h.block[m.Server] = true
			for _, o := range p.held {
				conflict = conflict || o.block[m.Server]
			}
		}
		if got := slices.Contains(refused, set[k]); got != conflict {
			p.t.Fatalf("at %v servers %v for job %d are refused %v, want %v: held are %v", tx.Now(), h.block, c.Job, got, conflict, p.held)
		}
		if !conflict {
			p.held[c.Job] = h
		}
	}
	return err
}

// TestAHoldOutlivesItsList checks that a decision carries out all reservations that it takes, except those that are for the same
// gang or the same servers as an earlier one, and that each stays as it was taken, whatever is taken with it or after it and
// however many lists follow, until it may end.
func TestAHoldOutlivesItsList(t *testing.T) {
	var lists [2]int
	simtest.Many(t, 300, func(t *rapid.T) {
		e, base := simtest.Draw(t), rapid.SampledFrom([]string{"fifo", "fjf", "sjf", "sjfskip", "sjfhold"}).Draw(t, "base")
		c := drawBoard(t, base)
		c.Hold = time.Duration(rapid.SampledFrom([]int{90, 400, 7200}).Draw(t, "hold")) * time.Second
		simtest.End(t, simtest.Begin(t, e), &holder{
			Source: candidates.NewSource(c), t: t, draw: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "draws"), 1)), hold: c.Hold,
			held: map[cluster.JobID]*hold{}, lists: &lists,
		})
	})
	if t.Logf("%d lists while servers were held for one gang, %d for several", lists[0], lists[1]); lists[0] < 1000 || lists[1] < 100 {
		t.Errorf("%v lists while servers were held for one gang and for several, want 1000 and 100 or more", lists)
	}
}

// taker takes a set of reservations from the first list that has several, and the base's own candidate otherwise.
type taker struct {
	candidates.Source
	set     []int // of the reservations on that list, in their order
	offered []string
	refused []int
}

func (*taker) Name() string { return "taker" }

func (p *taker) Schedule(tx *cluster.Txn) error {
	err := p.Begin(tx)
	for err == nil && len(p.List()) > 0 {
		var at []int
		var offered []string
		for i, c := range p.List() {
			if c.Kind == candidates.Reserve {
				line := tx.View().Spec(c.Job).Name
				for _, m := range c.Members {
					line += fmt.Sprintf(" %d", m.Server)
				}
				at, offered = append(at, i), append(offered, line)
			}
		}
		if len(at) < 2 || p.offered != nil {
			if p.List()[0].Gone {
				err = p.Pass()
			} else {
				_, err = p.TakeAll([]int{0})
			}
			continue
		}
		p.offered = offered
		var places, refused []int
		for _, i := range p.set {
			places = append(places, at[i])
		}
		if refused, err = p.TakeAll(places); err != nil {
			return err
		}
		for _, i := range refused {
			p.refused = append(p.refused, slices.Index(at, i))
		}
	}
	return err
}

// TestHoldsForSeveralGangs checks which reservations a list has for two gangs that wait for the same servers, and what becomes
// of several that are taken together. Each gang needs two of four servers; two are free after 60 s, the others after 200 s.
func TestHoldsForSeveralGangs(t *testing.T) {
	offered := []string{"x 0 3", "y 0 3", "y 1 2"}
	for _, test := range []struct {
		set, refused []int
		want         string // the starts from then on
	}{
		{nil, nil, "10s start small 3:[0], 1m0s start x 0:[0,1] 1:[0] 3:[1], 6m0s start y 0:[0,1] 1:[0,1]"},
		{[]int{0}, nil, "1m0s start x 0:[0,1] 3:[0,1], 1m0s start small 1:[0], 6m0s start y 0:[0,1] 2:[0,1]"},
		{[]int{0, 2}, nil, "1m0s start x 0:[0,1] 3:[0,1], 3m20s start y 1:[0,1] 2:[0,1], 6m0s start small 0:[0]"},
		{[]int{2, 0}, nil, "1m0s start x 0:[0,1] 3:[0,1], 3m20s start y 1:[0,1] 2:[0,1], 6m0s start small 0:[0]"},
		{[]int{0, 1}, []int{1}, "1m0s start x 0:[0,1] 3:[0,1], 1m0s start small 1:[0], 6m0s start y 0:[0,1] 2:[0,1]"},
		{[]int{1, 0, 2}, []int{0, 2}, "1m0s start y 0:[0,1] 3:[0,1], 1m0s start small 1:[0], 7m40s start x 0:[0,1] 2:[0,1]"},
	} {
		e := sim.Episode{
			Config: sim.Config{Cluster: cluster.Uniform(4, 2)},
			Jobs: []trace.Job{
				gang("a", 0, 60, 3), gang("b", 0, 200, 3), gang("x", 5, 300, 4), gang("y", 5, 400, 4), gang("small", 10, 1000, 1),
			},
		}
		c := usual(t, "sjfskip")
		c.Wide, c.Items = true, 62
		p := &taker{Source: candidates.NewSource(c), set: test.set}
		d := &diary{Scheduler: p}
		simtest.End(t, simtest.Begin(t, &e), d)
		starts := slices.DeleteFunc(d.lines, func(l string) bool { return strings.HasPrefix(l, "0s") || !strings.Contains(l, "start") })
		if got := strings.Join(starts, ", "); got != test.want {
			t.Errorf("after %v of %q\n%s, want\n%s", test.set, p.offered, got, test.want)
		}
		if !slices.Equal(p.offered, offered) || !slices.Equal(p.refused, test.refused) {
			t.Errorf("of %q took %v, refused %v; want %q, refused %v", p.offered, test.set, p.refused, offered, test.refused)
		}
	}
}
