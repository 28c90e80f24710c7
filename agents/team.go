package agents

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
)

// Player plays the game with a policy: the servers bid for the candidates of a round, and all of them name the candidate with the
// highest logit. It is not safe for concurrent use; several players may share one policy.
type Player struct {
	policy  *Policy
	outside int // number of choices since Reset left to the prior, as out of distribution
	net     *Net
	draw    *rand.Rand
	heat    float64 // temperature of logits
	record  func(*cluster.Txn, *Choice) error
	obs     Observation
	prior   []float32
	places  []int // indices into the round's list of the candidates that the network sees
	list    []candidates.Candidate
	gone    []bool // parallel to places: whether the candidate can no longer be named
	named   int    // the candidate named in the round before
	force   int    // the number of the candidate to take in the next choice, from 1; 0 for none
	types   numbers
	tenants numbers
	unknown bool // whether the observation is too far outside the policy's range
}

var _ game.Player = (*Player)(nil)

// NewPlayer returns a player for games of Policy.Game. It acts greedily and ignores seeds.
func NewPlayer(p *Policy) *Player { return &Player{policy: p, net: NewNet(p.Shape, p.Params), heat: 1} }

// Name implements game.Player.
func (b *Player) Name() string { return b.policy.Name }

// Reset implements game.Player.
func (b *Player) Reset(uint64) error {
	b.outside = 0
	return nil
}

// OutOfDistribution returns the number of choices since Reset that the player left to the prior because the observation was too
// far outside the policy's Range.
func (b *Player) OutOfDistribution() int { return b.outside }

// Explore makes the player sample from the softmax of its logits divided by temperature (above 0), or take the highest if draw is
// nil.
func (b *Player) Explore(draw *rand.Rand, temperature float64) { b.draw, b.heat = draw, temperature }

// Force makes the player take the candidate with the given number, from 1, in its next choice, whatever the bids are.
func (b *Player) Force(number int) { b.force = number }

// Forced reports whether the next choice is still to be forced.
func (b *Player) Forced() bool { return b.force > 0 }

// Record makes the player call record with every choice before it acts on it; tx is the round's transaction, before any candidate
// is applied.
func (b *Player) Record(record func(tx *cluster.Txn, c *Choice) error) { b.record = record }

// Choice is one choice of a team among several candidates, with what training needs. Its pointers and slices belong to the player
// and are valid only during the call that receives the choice.
type Choice struct {
	Observation *Observation
	Ids         []cluster.JobID        // [Observation.Jobs]
	List        []candidates.Candidate // the prior's own first; without candidates that are gone, unless Shape.Joint
	Gone        []bool                 // [candidates] which can no longer be taken
	Prior       []float32              // [candidates] the parts of the logits that are not learned
	Bids        []float32              // [candidates]
	Adjacent    func(dst []float32)
	Edges       func(candidate int) []Edge   // see Net.Edges
	Attention   func(dst []float32, job int) // see Net.JobAttention
	Joint       bool                         // whether edges are between candidates
	Usual       int                          // index in List of what the prior chooses
	Unknown     bool                         // left to the prior, because the observation is out of distribution; Bids are 0 then
	Action      int                          // index in List
	LogProb     float64                      // of Action, at the temperature of Player.Explore
}

// Act implements game.Player.
func (b *Player) Act(tx *cluster.Txn, r *game.Round, joint []game.Action) error {
	p := b.policy
	if p.Shape.Joint && r.Later {
		b.again(r)
	} else {
		b.see(tx, r)
	}
	b.prior = sized(b.prior, len(b.places))
	for i := range b.prior {
		b.prior[i] = -float32(p.Margin)
		if b.gone[i] {
			b.prior[i] = attention.Masked
		}
	}
	usual := slices.Index(b.places, int(r.Prior)-1)
	b.prior[usual] = 0
	if b.unknown && b.draw == nil {
		clear(b.net.Bids)
		b.outside++
	}
	action, logProb := b.decide(usual)
	if b.force > 0 {
		if action = slices.Index(b.places, b.force-1); action < 0 {
			return fmt.Errorf("candidate %d of %d cannot be taken", b.force, len(r.List))
		}
		b.force = 0
	}
	b.named = action
	r.Unanimous(game.Action(b.places[action]+1), joint)
	if b.record == nil {
		return nil
	}
	return b.record(tx, &Choice{
		Observation: &b.obs, Ids: r.Ids, List: b.list, Gone: b.gone, Prior: b.prior, Bids: b.net.Bids, Adjacent: b.net.Adjacency,
		Edges: b.net.Edges, Attention: b.net.JobAttention, Joint: p.Shape.Joint, Usual: usual,
		Unknown: b.unknown && b.draw == nil, Action: action, LogProb: logProb,
	})
}

// see bids for the candidates of a round.
func (b *Player) see(tx *cluster.Txn, r *game.Round) {
	p := b.policy
	b.places, b.list, b.gone = b.places[:0], b.list[:0], b.gone[:0]
	for k := range r.List {
		if k == 0 || !r.List[k].Gone || p.Shape.Joint {
			b.places, b.list, b.gone = append(b.places, k), append(b.list, r.List[k]), append(b.gone, k > 0 && r.List[k].Gone)
		}
	}
	b.obs.fill(r, b.places)
	if p.Shape.Joint {
		b.obs.tie(tx.View(), r, &b.types, &b.tenants)
	}
	b.net.Forward(&b.obs)
	b.unknown = p.Range.Outside(&p.Shape, &b.obs) > outOfDistribution
}

// again bids for the candidates that are left of a list, after the one named last was carried out, without another forward pass.
func (b *Player) again(r *game.Round) {
	copy(b.list, r.List)
	for k := range b.gone {
		b.gone[k] = k > 0 && r.List[k].Gone
	}
	if b.gone[b.named] {
		b.obs.Taken = append(b.obs.Taken, int32(b.named))
	}
	b.net.After(b.obs.Taken)
}

// decide returns a candidate and its log-probability. Without draw it is the candidate with the highest logit; on a tie it
// prefers the given action, then the first. With draw it is a sample.
func (b *Player) decide(action int) (_ int, logProb float64) {
	logit := func(i int) float64 { return float64(b.prior[i]+b.net.Bids[i]) / b.heat }
	for i := range b.prior {
		if logit(i) > logit(action) {
			action = i
		}
	}
	top, sum := logit(action), 0.0
	for i := range b.prior {
		sum += math.Exp(logit(i) - top)
	}
	if b.draw != nil {
		x := b.draw.Float64() * sum
		for i := range b.prior {
			action = i
			if x -= math.Exp(logit(i) - top); x < 0 {
				break
			}
		}
	}
	return action, logit(action) - top - math.Log(sum)
}

// Team is a Player as a cluster.Scheduler. It is not safe for concurrent use; several teams may share one policy.
type Team struct {
	*game.Scheduler
	*Player
}

var _ cluster.Scheduler = (*Team)(nil)

// NewTeam returns the scheduler of a policy.
func NewTeam(p *Policy) *Team {
	player := NewPlayer(p)
	return &Team{game.NewScheduler(player, p.Game()), player}
}

// Name implements cluster.Scheduler.
func (t *Team) Name() string { return t.Player.Name() }

// Reset implements cluster.Scheduler.
func (t *Team) Reset(seed uint64) error { return t.Scheduler.Reset(seed) }

// NewPrior returns the prior of a setting as a scheduler.
func NewPrior(s *Setting) cluster.Scheduler {
	prior, err := s.prior.New(s.Given)
	if err != nil {
		return unable{err} // the name was checked: what the prior begins with is missing
	}
	return named{prior, "prior"}
}

type named struct {
	cluster.Scheduler
	name string
}

func (n named) Name() string { return n.name }
