package agents

import (
	"math"
	"math/rand/v2"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/review"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// Team is the policy as a scheduler: the review of its prior, judged by the bids of the servers. Not safe for concurrent use;
// several may share one policy.
type Team struct {
	*review.Scheduler
	bidders *bidders
}

var _ cluster.Scheduler = (*Team)(nil)

// NewTeam returns the scheduler of a policy. It decides greedily and has no use for a seed.
func NewTeam(p *Policy) *Team {
	b := &bidders{
		rule: p.review.Rule, shape: p.Shape, known: p.Range, net: NewNet(p.Shape, p.Params),
		margin: float32(p.Margin), encoder: &env.StandardEncoder{Window: p.Window},
	}
	return &Team{review.New(p.Name, p.review.Config, b), b}
}

// NewPrior returns the scheduler that a policy starts to learn from.
func NewPrior(p *Policy) cluster.Scheduler {
	s, err := baselines.New(p.Prior)
	if err != nil {
		panic("agents: " + err.Error()) // the policy was checked
	}
	return named{s, "prior"}
}

type named struct {
	cluster.Scheduler
	name string
}

func (n named) Name() string { return n.name }

// Choice is one choice of a team among several offers, the first of which is the prior's own: what training needs to know of
// it. What it points to is the team's and valid during the call that hands it out.
type Choice struct {
	Observation *Observation
	Offers      []review.Offer
	Prior       []float32 // [offers] the parts of the logits that are not learned
	Bids        []float32 // [offers]
	Adjacent    func(dst []float32)
	Action      int
	LogProb     float64
}

// Explore makes the team sample from its bids instead of deciding greedily, if draw is not nil, and tells record, if that is
// not nil, of every choice before it is made. The transaction is that of the decision, as before the offers.
func (t *Team) Explore(draw *rand.Rand, record func(tx *cluster.Txn, c *Choice) error) {
	t.bidders.draw, t.bidders.record = draw, record
}

// Strange counts the choices since Reset that were left to the prior because they lay beyond what training had met.
func (t *Team) Strange() int { return t.bidders.strange }

// bidders are the servers as the judge of a review: they bid for offers, and the highest bid wins.
type bidders struct {
	shape   Shape
	known   Range
	strange int          // choices left to the prior, since Reset
	rule    review.Judge // what the prior would choose, nil for always the first
	net     *Net
	margin  float32
	encoder *env.StandardEncoder
	draw    *rand.Rand
	record  func(*cluster.Txn, *Choice) error

	offers []env.Offer
	rows   env.Review
	obs    Observation
	prior  []float32
}

// Reset implements review.Judge.
func (b *bidders) Reset(uint64) { b.strange = 0 }

// Listen implements review.Judge.
func (*bidders) Listen(*cluster.Txn) {}

// Choose implements review.Judge.
func (b *bidders) Choose(tx *cluster.Txn, offers []review.Offer) (int, error) {
	b.offers = b.offers[:0]
	for i := range offers {
		o := &offers[i]
		b.offers = append(b.offers, env.Offer{Kind: env.OfferKind(o.Kind), Job: o.Job, Ops: o.Ops, Wait: o.Wait})
	}
	if err := b.encoder.Review(tx, b.offers, &b.rows); err != nil {
		return 0, err
	}
	b.obs.fill(&b.rows)
	b.net.Forward(&b.obs)
	b.prior = sized(b.prior, len(offers))
	for i := range b.prior {
		b.prior[i] = -b.margin
	}
	usual := 0
	if b.rule != nil {
		var err error
		if usual, err = b.rule.Choose(tx, offers); err != nil {
			return 0, err
		}
	}
	b.prior[usual] = 0
	if b.draw == nil && b.known.Outside(&b.shape, &b.obs) > strange {
		clear(b.net.Bids)
		b.strange++
	}
	action, logProb := b.decide(usual)
	if b.record == nil {
		return action, nil
	}
	return action, b.record(tx, &Choice{
		Observation: &b.obs, Offers: offers, Prior: b.prior, Bids: b.net.Bids, Adjacent: b.net.Graph.Adjacency, Action: action,
		LogProb: logProb,
	})
}

// decide returns the offer with the highest logit, the usual one or else the first of equals, or a drawn one, and its
// log-probability.
func (b *bidders) decide(action int) (_ int, logProb float64) {
	logit := func(i int) float64 { return float64(b.prior[i] + b.net.Bids[i]) }
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
