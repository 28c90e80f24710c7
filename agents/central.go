package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/onnx/run"
)

// Central is the policy of a central controller that was trained with other software. Its network is an ONNX model: it reads what
// the environment shows and computes a score for each number that may be named. All servers that take part in the candidate with
// the highest score name it. The agreement of the game makes no difference, because exactly this candidate is named.
type Central struct {
	Name string
	Setting

	file   []byte
	model  *run.Model
	inputs []centralInput
	scores string // the model's output
	// servers is the number of servers that the model is made for, 0 if it computes scores for any number.
	servers int
}

// NewCentral returns the policy of an ONNX model. It returns an error with the reason if the model's inputs and outputs do not
// fit what is observed in the setting, or if this program cannot compute it. The policy keeps the file.
func NewCentral(name string, s Setting, file []byte) (*Central, error) {
	c := &Central{Name: name, Setting: s, file: file}
	if err := c.ready(); err != nil {
		return nil, err
	}
	if _, know := c.prior.CutKnow(); know != "" {
		return nil, fmt.Errorf("prior %s, want one without %s: the environment shows what is told, not what a prior believes", s.Prior,
			baselines.KnowSuffix)
	}
	g, err := game.New(c.Game(), 1)
	if err != nil {
		return nil, err
	}
	if c.model, err = run.Parse(file); err != nil {
		return nil, err
	}
	if err := c.match(g.Spec()); err != nil {
		return nil, fmt.Errorf("ONNX model: %w", err)
	}
	return c, nil
}

// Digest returns a hash of everything that affects the policy's decisions; it does not include the name.
func (c *Central) Digest() string {
	h := sha256.New()
	// JSON separates the fields. Neither JSON nor a hash returns an error here.
	all := []any{centralNetwork, c.Window, c.Encoder, c.Prior, c.Wide}
	if costs, ok := c.digested(); ok {
		all = append(all, costs)
	}
	_ = json.NewEncoder(h).Encode(all)
	_, _ = h.Write(c.file)
	return hex.EncodeToString(h.Sum(nil))
}

// Scores returns the score of each number of a round, those of forbidden numbers and of numbers beyond the list included. It
// returns an error if the model is made for a cluster of another size, or breaks off, as it does after ctx ends.
func (c *Central) Scores(ctx context.Context, r *game.Round) ([]float32, error) {
	if n := r.Spec().Agents; c.servers > 0 && c.servers != n {
		return nil, fmt.Errorf("policy %s: its ONNX model is made for %d servers, the cluster has %d: export the model with a dynamic"+
			" axis for servers", c.Name, c.servers, n)
	}
	inputs := make(map[string]*run.Tensor, len(c.inputs))
	for i := range c.inputs {
		inputs[c.inputs[i].Name] = c.inputs[i].read(r)
	}
	out, err := c.model.Run(ctx, inputs)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", c.Name, err)
	}
	scores, n := out[c.scores], r.Spec().Candidates
	if d := scores.Shape; scores.Type != run.Float || !(len(d) == 1 || len(d) == 2 && d[0] == 1) || d[len(d)-1] != n {
		return nil, fmt.Errorf("policy %s: its ONNX model computes scores %v, want float32 [%d] or [1 %d], one for each number", c.Name,
			scores, n, n)
	}
	return scores.Floats, nil
}

// CentralPlayer plays the game with the policy of a central controller. It is not safe for concurrent use; several players may
// share one policy.
type CentralPlayer struct {
	policy *Central
	left   int // number of choices since Reset left to the prior, because scores were not finite
	record func(r *game.Round, scores []float32)
	ctx    context.Context // of all decisions: a game.Player is given none
}

var _ game.Player = (*CentralPlayer)(nil)

// NewCentralPlayer returns a player for games of Central.Game.
func NewCentralPlayer(c *Central) *CentralPlayer {
	return &CentralPlayer{policy: c, ctx: context.Background()}
}

// Within makes later decisions break off with the error of ctx after it ends.
func (p *CentralPlayer) Within(ctx context.Context) { p.ctx = ctx }

// Name implements game.Player.
func (p *CentralPlayer) Name() string { return p.policy.Name }

// Reset implements game.Player. It ignores the seed.
func (p *CentralPlayer) Reset(uint64) error {
	p.left = 0
	return nil
}

// OutOfDistribution returns the number of choices since Reset that the player left to the prior because the score of a number
// that may be named was infinite or no number.
func (p *CentralPlayer) OutOfDistribution() int { return p.left }

// Record makes the player call record with the scores of every round before it acts on them.
func (p *CentralPlayer) Record(record func(r *game.Round, scores []float32)) { p.record = record }

// Act implements game.Player. It names the number with the highest score of those that may be named, the lowest of several.
func (p *CentralPlayer) Act(_ *cluster.Txn, r *game.Round, joint []game.Action) error {
	scores, err := p.policy.Scores(p.ctx, r)
	if err != nil {
		return err
	}
	if p.record != nil {
		p.record(r, scores)
	}
	best, finite := game.Pass, true
	for n := range scores {
		if !may(r, n) {
			continue
		}
		x := float64(scores[n])
		finite = finite && !math.IsNaN(x) && !math.IsInf(x, 0)
		if scores[n] > scores[best] {
			best = game.Action(n)
		}
	}
	if !finite {
		best = r.Prior
		p.left++
	}
	r.Unanimous(best, joint)
	return nil
}

// may reports whether a number can be named: to pass, or a candidate that is not gone.
func may(r *game.Round, n int) bool { return n == 0 || n <= len(r.List) && !r.List[n-1].Gone }

// CentralTeam is a CentralPlayer as a cluster.Scheduler. It is not safe for concurrent use; several may share one policy.
type CentralTeam struct {
	*game.Scheduler
	*CentralPlayer
}

var _ cluster.Interruptible = (*CentralTeam)(nil)

// NewCentralTeam returns the scheduler of the policy of a central controller.
func NewCentralTeam(c *Central) *CentralTeam {
	player := NewCentralPlayer(c)
	return &CentralTeam{game.NewScheduler(player, c.Game()), player}
}

// Name implements cluster.Scheduler.
func (t *CentralTeam) Name() string { return t.CentralPlayer.Name() }

// Reset implements cluster.Scheduler.
func (t *CentralTeam) Reset(seed uint64) error { return t.Scheduler.Reset(seed) }
