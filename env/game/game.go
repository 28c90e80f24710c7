package game

import (
	"errors"
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/observe"
)

// Config configures a Game.
type Config struct {
	// Review names the prior, whose proposals the team reviews, and sets which candidates are searched for.
	Review candidates.Config
	// Rule computes Round.Prior: what the prior would choose among the candidates. nil means that it always chooses its own
	// proposal.
	Rule    candidates.Judge
	Encoder observe.Encoder // nil means an observe.Standard. It has scratch space: every game needs its own encoder
	Beliefs Beliefs         // what the game sees in place of what is told; nil for what is told. Every game needs its own
	Agree   Agreement
	// Objective is what the team decides by. The game then asks for a decision when the rate of what a waiting job costs changes by
	// itself, see objectives.Foresight.Wake, and a Standard encoder shows what jobs cost. nil for neither.
	Objective *objectives.Objective
}

// Beliefs show what a policy believes, in the transaction that Begin returns.
type Beliefs interface {
	// Reset begins an episode.
	Reset(seed uint64) error
	// Begin learns from what has happened since the last decision, and returns the transaction as the policy sees it. The caller
	// passes it to End when the policy has decided.
	Begin(tx *cluster.Txn) *cluster.Txn
	End(tx *cluster.Txn)
}

// Agreement is the rule by which a coalition agrees on a candidate.
type Agreement uint8

// The agreements. The lead of a coalition is its server with the greatest weight, the first of several.
const (
	All  Agreement = iota // all servers of the coalition name the candidate
	Lead                  // the lead names the candidate, and no other member names a different one
)

var agreementNames = [...]string{"all", "lead"}

// String returns the agreement's name.
func (a Agreement) String() string {
	if int(a) >= len(agreementNames) {
		return fmt.Sprintf("agreement(%d)", uint8(a))
	}
	return agreementNames[a]
}

// ParseAgreement returns the agreement with the given name, all or lead.
func ParseAgreement(name string) (Agreement, error) {
	if i := slices.Index(agreementNames[:], name); i >= 0 {
		return Agreement(i), nil
	}
	return 0, fmt.Errorf("agreement %q, want all or lead", name)
}

// ErrMasked is wrapped by the error about an agent that names a candidate outside its mask or a number that does not exist. The
// game has changed nothing then.
var ErrMasked = errors.New("masked action")

// Game is the sequence of rounds that a team of servers plays in the transactions of one episode. Call Begin at each decision
// point, then Show and Play while there is another round. Equal transactions and equal joint actions give equal rounds. Not safe
// for concurrent use.
type Game struct {
	cfg     Config
	spec    Spec
	source  candidates.Source
	tx      *cluster.Txn
	prior   Action
	lists   int      // Source.Lists in the round before
	later   bool     // see Round.Later
	agreed  []int    // indices into the list
	taken   []Action // see Taken
	refused []Refusal
	costs   *objectives.Foresight // nil without an objective

	named []int32             // scratch: for each number, how many servers name it
	seen  observe.Observation // scratch: the observation that the encoder fills
}

// New returns a game for a cluster with the given number of servers. Call Reset before the first Begin.
func New(cfg Config, servers int) (*Game, error) {
	if cfg.Encoder == nil {
		cfg.Encoder = &observe.Standard{Wide: cfg.Review.Wide}
	}
	if standard, ok := cfg.Encoder.(*observe.Standard); ok && cfg.Objective != nil {
		standard.Objective = cfg.Objective
	}
	if cfg.Agree > Lead {
		return nil, fmt.Errorf("make game: %v, want all or lead", cfg.Agree)
	}
	if cfg.Review.Base == nil || cfg.Review.Start == nil {
		return nil, errors.New("make game: no prior or no placer, want both")
	}
	if cfg.Review.Items < 1 {
		return nil, fmt.Errorf("make game: %d candidates beside the prior's own, want at least 1", cfg.Review.Items)
	}
	spec := cfg.Encoder.Spec()
	if spec.Window < 0 || len(spec.Server) == 0 || len(spec.Candidate) == 0 {
		return nil, fmt.Errorf("make game: encoder with a window of %d jobs, %d features of servers and %d of candidates, want 0 or"+
			" more, at least 1 and at least 1", spec.Window, len(spec.Server), len(spec.Candidate))
	}
	n := 2 + cfg.Review.Items // including Pass and the prior's own
	g := &Game{
		cfg: cfg, spec: Spec{Agents: servers, Candidates: n, Jobs: max(spec.Window, n-1), Spec: spec},
		source: candidates.NewSource(cfg.Review), named: make([]int32, n),
	}
	if cfg.Objective != nil {
		g.costs = objectives.NewForesight(cfg.Objective)
	}
	return g, nil
}

// Spec returns the shape of the rounds.
func (g *Game) Spec() Spec { return g.spec }

// Tally returns, for each kind, how many candidates were carried out since Reset.
func (g *Game) Tally() [candidates.Kinds]int { return g.source.Tally() }

// Reset begins an episode.
func (g *Game) Reset(seed uint64) error {
	if g.cfg.Beliefs != nil {
		if err := g.cfg.Beliefs.Reset(seed); err != nil {
			return err
		}
	}
	if g.cfg.Rule != nil {
		g.cfg.Rule.Reset(seed)
	}
	return g.source.Reset(seed)
}

// Begin asks the prior for its proposal at a decision point and reports whether there is a round to play. If there is none, there
// is nothing to choose, and Begin leaves the prior's proposal in the transaction.
func (g *Game) Begin(tx *cluster.Txn) (more bool, err error) {
	if g.cfg.Beliefs != nil {
		tx = g.cfg.Beliefs.Begin(tx)
	}
	g.tx, g.taken, g.refused, g.lists = tx, g.taken[:0], g.refused[:0], 0
	if g.costs != nil {
		g.costs.Look(tx.View())
		g.costs.Wake(tx)
	}
	if g.cfg.Rule != nil {
		g.cfg.Rule.Observe(tx)
	}
	if err := g.source.Begin(tx); err != nil {
		return false, err
	}
	return g.next()
}

// next computes the prior's choice in the present round; more is false if there is no round.
func (g *Game) next() (more bool, err error) {
	list := g.source.List()
	if len(list) == 0 {
		if g.cfg.Beliefs != nil {
			g.cfg.Beliefs.End(g.tx)
		}
		return false, nil
	}
	g.prior = 1
	n := g.source.Lists()
	g.later, g.lists = n == g.lists, n
	if g.cfg.Rule != nil {
		i, err := g.cfg.Rule.Choose(g.tx, list)
		if err != nil {
			return false, err
		}
		g.prior = Action(i + 1)
	}
	return true, nil
}

// Show fills r with what the agents observe in the present round. It copies slices that the encoder returns instead of filling
// those of r.
func (g *Game) Show(r *Round) error { return g.show(g.tx, g.source.List(), g.prior, r) }

// End fills r with the last state of an episode. It has no candidates, so the agents can only pass.
func (g *Game) End(tx *cluster.Txn, r *Round) error { return g.show(tx, nil, Pass, r) }

func (g *Game) show(tx *cluster.Txn, list []candidates.Candidate, prior Action, r *Round) error {
	s := &g.spec
	r.spec, r.List, r.Prior, r.Later = s, list, prior, g.later && len(list) > 0
	g.size(r)
	width := len(s.Candidate)
	seen := &g.seen
	*seen = r.Observation
	seen.Candidates = r.Candidates[width:] // beyond Pass
	if err := g.cfg.Encoder.Encode(tx, list, seen); err != nil {
		return fmt.Errorf("show round: %w", err)
	}
	if err := g.fits(seen, len(list)); err != nil {
		return err
	}
	copy(r.Servers, seen.Servers) // copies nothing if the encoder wrote in place; the same below
	copy(r.Global, seen.Global)
	clear(r.Jobs[copy(r.Jobs, seen.Jobs):])
	clear(r.Candidates[:width])
	clear(r.Candidates[width+copy(r.Candidates[width:], seen.Candidates):])
	r.Ids, r.Of = append(r.Ids[:0], seen.Ids...), append(r.Of[:0], seen.Of...)

	r.Mask = grow(r.Mask, s.Agents*s.Candidates)
	clear(r.Mask)
	for i := range s.Agents {
		r.Mask[i*s.Candidates] = true
	}
	r.Coalition = r.Coalition[:0]
	for k := range list {
		for _, m := range list[k].Members {
			r.Coalition = append(r.Coalition, Share{Action(k + 1), int32(m.Server), m.Weight})
			r.Mask[int(m.Server)*s.Candidates+k+1] = true
		}
	}
	return nil
}

// size gives the round's slices their lengths and keeps their elements.
func (g *Game) size(r *Round) {
	s := &g.spec
	r.Servers = grow(r.Servers, s.Agents*len(s.Server))
	r.Jobs = grow(r.Jobs, s.Jobs*len(s.Job))
	r.Global = grow(r.Global, len(s.Global))
	r.Candidates = grow(r.Candidates, s.Candidates*len(s.Candidate))
}

// fits returns an error if an observation for the given number of candidates does not have the sizes in the encoder's Spec.
func (g *Game) fits(o *observe.Observation, list int) error {
	s := &g.spec
	if len(o.Servers) == s.Agents*len(s.Server) && len(o.Ids) <= s.Jobs && len(o.Jobs) == len(o.Ids)*len(s.Job) &&
		len(o.Candidates) == list*len(s.Candidate) && len(o.Of) == list && len(o.Global) == len(s.Global) {
		return nil
	}
	return fmt.Errorf("show round: the encoder fills %d numbers of servers, %d of %d jobs, %d of candidates of which %d point to"+
		" jobs, and %d of the cluster, want %d, %d for each of at most %d jobs, %d, %d and %d", len(o.Servers), len(o.Jobs), len(o.Ids),
		len(o.Candidates), len(o.Of), len(o.Global), s.Agents*len(s.Server), len(s.Job), s.Jobs, list*len(s.Candidate), list,
		len(s.Global))
}

// grow returns a slice of n elements that keeps the elements of buf, and its memory if that suffices.
func grow[T any](buf []T, n int) []T { return slices.Grow(buf, max(n-len(buf), 0))[:n] }

// Play carries out a joint action, one number per agent, and reports whether there is another round. If there is none, all that
// was decided at this instant is in the transaction. Play carries out the agreed candidates in the order of their numbers, and
// refuses a candidate that no longer fits after those before it. For an illegal action it returns an error that wraps ErrMasked
// and does nothing.
func (g *Game) Play(joint []Action) (more bool, err error) {
	if err := g.Check(joint); err != nil {
		return false, err
	}
	g.settle(joint)
	if g.taken = g.taken[:0]; len(g.agreed) == 0 {
		if own := &g.source.List()[0]; len(own.Ops) == 0 && !own.Gone {
			g.taken = append(g.taken, 1) // the candidate starts no job: to pass is to take it
		}
		err = g.source.Pass()
	} else {
		err = g.take()
	}
	if err != nil {
		return false, err
	}
	return g.next()
}

// take carries out the agreed candidates.
func (g *Game) take() error {
	late, err := g.source.TakeAll(g.agreed)
	for _, k := range late {
		g.refused = append(g.refused, Refusal{Action(k + 1), Overtaken})
	}
	slices.SortFunc(g.refused, func(a, b Refusal) int { return int(a.Candidate - b.Candidate) })
	for _, k := range g.agreed {
		if !slices.Contains(late, k) {
			g.taken = append(g.taken, Action(k+1))
		}
	}
	return err
}

// Taken returns the candidates that the last Play carried out, ascending; valid until the next Play. If the prior's own candidate
// starts no job, passing counts as taking it.
func (g *Game) Taken() []Action { return g.taken }

// Refused returns the candidates that agents named in the last Play and that were not carried out, ascending; valid until the
// next Play.
func (g *Game) Refused() []Refusal { return g.refused }

// Check compares a joint action with the coalitions of the present round. It returns an error that wraps ErrMasked if an agent
// names a candidate of which it is not a member, or a number that does not exist.
func (g *Game) Check(joint []Action) error {
	if len(joint) != g.spec.Agents {
		return fmt.Errorf("play: %d actions, want one for each of the %d agents", len(joint), g.spec.Agents)
	}
	list := g.source.List()
	if len(list) == 0 {
		return errors.New("play: no round to play")
	}
	for i, n := range joint {
		if n == Pass {
			continue
		}
		if n < 0 || int(n) >= g.spec.Candidates {
			return fmt.Errorf("play: agent %d names %d, want 0 to %d: %w", i, n, g.spec.Candidates-1, ErrMasked)
		}
		if int(n) > len(list) || !takesPart(list[n-1].Members, cluster.ServerID(i)) {
			return fmt.Errorf("play: agent %d names %d: %w", i, n, ErrMasked)
		}
	}
	return nil
}

func takesPart(members []candidates.Member, id cluster.ServerID) bool {
	_, found := slices.BinarySearchFunc(members, id, func(m candidates.Member, id cluster.ServerID) int {
		return int(m.Server - id)
	})
	return found
}

// settle determines which candidates are agreed on and which are refused.
func (g *Game) settle(joint []Action) {
	clear(g.named)
	for _, n := range joint {
		g.named[n]++
	}
	g.agreed, g.refused = g.agreed[:0], g.refused[:0]
	for n := Action(1); int(n) < g.spec.Candidates; n++ {
		switch {
		case g.named[n] == 0:
		case !g.agree(n, joint):
			g.refused = append(g.refused, Refusal{n, Disagreed})
		default:
			g.agreed = append(g.agreed, int(n)-1)
		}
	}
}

// agree reports whether the coalition agrees on candidate n, which some server names.
func (g *Game) agree(n Action, joint []Action) bool {
	members := g.source.List()[n-1].Members
	if g.cfg.Agree == All {
		return int(g.named[n]) == len(members)
	}
	lead := 0
	for i, m := range members {
		if m.Weight > members[lead].Weight {
			lead = i
		}
		if a := joint[m.Server]; a != n && a != Pass {
			return false
		}
	}
	return joint[members[lead].Server] == n
}
