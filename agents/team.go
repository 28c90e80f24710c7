package agents

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

func serverID(i int) cluster.ServerID { return cluster.ServerID(i) }

// Policy is what a trained team consists of apart from a cluster: it decides on clusters of any number of servers.
type Policy struct {
	Name   string
	Shape  Shape
	Params Params
	Window int
	Menu   []env.Level
	// Hold bounds what the prior starts while a job is held back: jobs of at most so many times its remaining time, 1 or more,
	// and those that end before it could start; 0 is no bound.
	Hold float64
}

// Encoder returns a fresh encoder that shows what the policy reads.
func (p *Policy) Encoder() *env.StandardEncoder {
	return &env.StandardEncoder{Window: p.Window, Menu: p.Menu}
}

// Digest identifies what the policy decides by, its name apart.
func (p *Policy) Digest() string {
	h := sha256.New()
	// JSON parts the fields; neither it nor a hash can fail on numbers that are finite.
	_ = json.NewEncoder(h).Encode([]any{network, priorName, p.Shape, p.Window, p.Menu, p.Hold})
	for _, t := range p.Params.Tensors() {
		_ = binary.Write(h, binary.LittleEndian, t.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// NewPolicy returns an untrained policy: the prior, with the weights it would start to train from.
func NewPolicy(name string, size Size, window int, menu []env.Level, r *rand.Rand) (*Policy, error) {
	p := &Policy{Name: name, Window: window, Menu: menu}
	spec := p.Encoder().Spec(1)
	shape, err := NewShape(&spec, size)
	if err != nil {
		return nil, fmt.Errorf("make policy %s: %w", name, err)
	}
	p.Shape, p.Params, p.Menu, p.Window = shape, Init(shape, r), spec.Menu, spec.Window
	return p, nil
}

// Team is the policy as a scheduler: it decides greedily and keeps nothing between decisions but memory. Not safe for
// concurrent use; several may share one policy.
type Team struct {
	policy  *Policy
	prior   bool // ignore the network
	servers int
	encoder *env.StandardEncoder
	spec    env.Spec
	ts      *env.TimeStep
	decoder *Decoder
	round   *env.Round
	joint   []env.Action
}

var _ cluster.Scheduler = (*Team)(nil)

// NewTeam returns the scheduler of a policy.
func NewTeam(p *Policy) *Team { return &Team{policy: p} }

// NewPrior returns the scheduler that a policy starts to learn from: the same window, menu and decoder without a network.
func NewPrior(p *Policy) *Team { return &Team{policy: p, prior: true} }

// Name implements cluster.Scheduler.
func (t *Team) Name() string {
	if t.prior {
		return "prior"
	}
	return t.policy.Name
}

// Reset implements cluster.Scheduler. A greedy team has no use for the seed.
func (t *Team) Reset(uint64) error { return nil }

// Schedule implements cluster.Scheduler: rounds until one starts nothing.
func (t *Team) Schedule(tx *cluster.Txn) error {
	if len(tx.State().Pending()) == 0 {
		return nil
	}
	t.size(tx.State().Servers())
	t.ts.State, t.ts.Now = tx.State(), tx.Now()
	for {
		t.encoder.Encode(tx.State(), t.ts)
		t.decoder.Round(t.ts, nil, t.joint, nil)
		started, refused := t.round.Apply(tx, t.ts.Window, t.joint)
		if len(refused) > 0 {
			return fmt.Errorf("policy %s: servers %v claimed in vain, which the decoder excludes", t.policy.Name, refused)
		}
		if started == 0 {
			return nil
		}
	}
}

// size makes room for a cluster of that many servers.
func (t *Team) size(servers int) {
	if t.servers == servers {
		return
	}
	t.servers, t.encoder = servers, t.policy.Encoder()
	t.spec = t.encoder.Spec(servers)
	t.ts = env.NewTimeStep(&t.spec)
	var net *Net
	if !t.prior {
		net = NewNet(t.policy.Shape, t.policy.Params)
	}
	t.decoder = NewDecoder(t.spec, t.policy.Hold, net)
	t.round = env.NewRound(t.spec)
	t.joint = make([]env.Action, servers)
}
