package candidates_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

// drawBoard draws the configuration of a board over a base, in some cases with rivals.
func drawBoard(t *rapid.T, base string) candidates.Config {
	c := drawReview(t, base)
	c.Wide, c.Items = true, rapid.SampledFrom([]int{1, 7, 30, 62}).Draw(t, "wide items")
	c.Times = rapid.SampledFrom([]int{0, 0, 1, 10}).Draw(t, "times")
	inner := c.Base
	c.Base = func() cluster.Scheduler {
		s, err := all.New(base)
		if err != nil {
			return inner()
		}
		return s
	}
	for _, name := range rapid.SampledFrom([][]string{nil, {"fifo"}, {"srtf", "a-srpt"}}).Draw(t, "rivals") {
		c.Rivals = append(c.Rivals, candidates.Named{Name: name, New: func() cluster.Scheduler {
			s, err := all.New(name)
			if err != nil {
				panic(err)
			}
			return s
		}})
	}
	return c
}

// TestTheBaseGoesOnBesideABoard checks that always taking the first candidate of a board reproduces the base, byte for byte, with
// any rivals.
func TestTheBaseGoesOnBesideABoard(t *testing.T) { goesOnAsIfAlone(t, 600, drawBoard) }

// TestPartsInAnotherOrder checks that, if parts of the base's proposal are taken in another order and the rest no longer fits,
// the base sees the new state and starts the rest later.
func TestPartsInAnotherOrder(t *testing.T) {
	e := sim.Episode{
		Config: sim.Config{Cluster: cluster.Uniform(1, 2), Physics: physics.Compose(physics.Sharing{Strength: 0.3})},
		Jobs:   []trace.Job{share(gang("pair", 0, 10, 2), 501), share(gang("b", 0, 20, 1), 501), share(gang("c", 0, 30, 1), 501)},
	}
	c := usual(t, "sjf+menu")
	c.Wide, c.Items = true, 62
	taken := 0
	d := &diary{Scheduler: candidates.New("board", c, &judge{choose: func(_ *cluster.Txn, list []candidates.Candidate) (int, error) {
		i := slices.IndexFunc(list, func(o candidates.Candidate) bool { return o.Kind == candidates.Part && o.Job > 0 && !o.Gone })
		if i < 0 {
			return 0, nil
		}
		taken++
		return i, nil
	}})}
	simtest.End(t, simtest.Begin(t, &e), d)
	want := "0s start b 0:[0]/499, 0s start c 0:[0]/499, 20s finish b, 20s start pair 0:[0,1]/501, 30s finish pair, 30s finish c"
	if got := strings.Join(d.lines, ", "); taken != 2 || got != want {
		t.Errorf("after %d parts\n%s, want after 2\n%s", taken, got, want)
	}
}

// boardPlayer checks every list of a board and takes random sets of candidates from it.
type boardPlayer struct {
	candidates.Source
	t      *rapid.T
	draw   *rand.Rand
	items  int
	seen   *[candidates.Kinds]int // kinds of which some candidate could be taken
	refuse *int
}

func (*boardPlayer) Name() string { return "board player" }

func (p *boardPlayer) Schedule(tx *cluster.Txn) error {
	if err := p.Begin(tx); err != nil {
		return err
	}
	for rounds := 0; len(p.List()) > 0; rounds++ {
		if rounds > endless {
			p.t.Fatalf("%d rounds in one decision", rounds)
		}
		p.check(tx)
		var set []int
		for i := range p.List() {
			if p.List()[i].Gone {
				continue
			}
			p.seen[p.List()[i].Kind]++
			if p.draw.IntN(6) == 0 {
				set = append(set, i)
			}
		}
		if len(set) == 0 {
			if err := p.Pass(); err != nil {
				return err
			}
			continue
		}
		refused, err := p.TakeAll(set)
		if err != nil {
			return err
		}
		*p.refuse += len(refused)
	}
	return nil
}

// check fails the test if a list breaks its contract: each candidate that is not gone is feasible, no two are the same, and each
// has members, ascending, with weights that sum to 1.
func (p *boardPlayer) check(tx *cluster.Txn) {
	list, before := p.List(), simtest.Portray(tx.View())
	if len(list) > 1+p.items {
		p.t.Fatalf("%d candidates, want at most the base's own and %d", len(list), p.items)
	}
	for i := range list {
		c, mark := &list[i], tx.Mark()
		if (c.Kind == candidates.Own) != (i == 0) {
			p.t.Fatalf("candidate %d is %v", i, c.Kind)
		}
		if c.Gone {
			if len(c.Members) > 0 {
				p.t.Fatalf("candidate %d, %v, is gone and has members", i, c.Kind)
			}
			continue
		}
		if err := c.Apply(tx); err != nil {
			p.t.Fatalf("candidate %d, %v: %v", i, c.Kind, err)
		}
		tx.Rollback(mark)
		sum := float32(0)
		for _, m := range c.Members {
			sum += m.Weight
		}
		ascending := slices.IsSortedFunc(c.Members, func(a, b candidates.Member) int { return int(a.Server - b.Server) })
		if !ascending || (sum < 0.999 || sum > 1.001) && (i > 0 || len(c.Ops) > 0) {
			p.t.Fatalf("candidate %d, %v: members %+v", i, c.Kind, c.Members)
		}
	}
	if after := simtest.Portray(tx.View()); after != before {
		p.t.Fatalf("the state was\n%s\nand became, after candidates that were taken back,\n%s", before, after)
	}
}

// TestAnySetWillDo checks that, whatever sets of candidates are taken from a board, every job finishes, no error occurs, and the
// lists keep their contract.
func TestAnySetWillDo(t *testing.T) {
	var seen [candidates.Kinds]int
	names, refused := bases(), 0
	simtest.Many(t, 1500, func(t *rapid.T) {
		e, base := simtest.Draw(t), rapid.SampledFrom(names).Draw(t, "base")
		for i := range e.Jobs { // so that there are amounts to choose from
			e.Jobs[i].Request.CPUMilli, e.Jobs[i].Request.MemMiB = 2000, 1000
		}
		c := drawBoard(t, base)
		c.Hold = time.Duration(rapid.SampledFrom([]int{1, 400, 7200}).Draw(t, "hold")) * time.Second
		simtest.End(t, simtest.Begin(t, e), &boardPlayer{
			Source: candidates.NewSource(c), t: t, draw: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "draws"), 1)), items: c.Items,
			seen: &seen, refuse: &refused,
		})
	})
	t.Logf("could take %v, %d refused", seen, refused)
	for kind, n := range seen {
		switch candidates.Kind(kind) {
		case candidates.First, candidates.Wait, candidates.Stop, candidates.Veto: // only in narrow lists
		default:
			if n == 0 {
				t.Errorf("could never take %v", candidates.Kind(kind))
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was ever refused")
	}
}
