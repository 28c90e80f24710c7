package candidates_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"pgregory.net/rapid"
)

// holder takes random sets of candidates from a board, preferably reservations, and remembers the present reservation.
type holder struct {
	candidates.Source
	t     *rapid.T
	draw  *rand.Rand
	gang  cluster.JobID
	until time.Duration
	block []bool // the reserved servers, nil for none
	began bool   // the gang has started since then, though it may have been stopped again
	hold  time.Duration
	lists *int // number of lists shown during a reservation
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
	p.began = p.began || tx.View().Phase(p.gang) != cluster.Pending
	return err
}

// check compares the board's reservation with the one that was taken. It may end as soon as the gang can start, or when its time
// is over.
func (p *holder) check(tx *cluster.Txn) {
	starts := slices.ContainsFunc(p.List()[0].Ops, func(o cluster.Proposal) bool { return o.Kind == cluster.OpPlace && o.Job == p.gang })
	held, over := candidates.Held(p.Source), starts || p.began || tx.Now() >= p.until || tx.View().Phase(p.gang) != cluster.Pending
	switch {
	case held == nil && over:
		p.block = nil
	case !slices.Equal(held, p.block):
		p.t.Fatalf("at %v servers %v are held for job %d, want %v until %v", tx.Now(), held, p.gang, p.block, p.until)
	case held != nil:
		*p.lists++
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
		if c.Kind != candidates.Reserve && c.Kind != candidates.Gather || slices.Contains(refused, set[k]) {
			continue
		}
		if p.block != nil {
			p.t.Fatalf("at %v servers are held for job %d beside those for job %d, want it refused", tx.Now(), c.Job, p.gang)
		}
		p.gang, p.until, p.block, p.began = c.Job, tx.Now()+p.hold, make([]bool, tx.View().Servers()), false
		for _, m := range c.Members {
			p.block[m.Server] = true
		}
	}
	return err
}

// TestAHoldOutlivesItsList checks that a reservation taken from a board stays as it was taken, whatever is taken with it or after
// it and however many lists follow, until it may end.
func TestAHoldOutlivesItsList(t *testing.T) {
	lists := 0
	simtest.Many(t, 300, func(t *rapid.T) {
		e, base := simtest.Draw(t), rapid.SampledFrom([]string{"fifo", "fjf", "sjf", "sjfskip", "sjfhold"}).Draw(t, "base")
		c := drawBoard(t, base)
		c.Hold = time.Duration(rapid.SampledFrom([]int{90, 400, 7200}).Draw(t, "hold")) * time.Second
		simtest.End(t, simtest.Begin(t, e), &holder{
			Source: candidates.NewSource(c), t: t, draw: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "draws"), 1)), hold: c.Hold,
			lists: &lists,
		})
	})
	if t.Logf("%d lists while servers were held", lists); lists < 1000 {
		t.Errorf("%d lists while servers were held, want 1000 or more", lists)
	}
}
