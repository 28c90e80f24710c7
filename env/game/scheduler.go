package game

import (
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
)

// Player is a policy that names candidates for all agents.
type Player interface {
	Name() string
	// Reset begins an episode.
	Reset(seed uint64) error
	// Act fills joint with one number per agent. tx is the transaction of the round: Act may try operations in it but must roll
	// them back.
	Act(tx *cluster.Txn, r *Round, joint []Action) error
}

// Scheduler makes a Player a cluster.Scheduler, so that the same policy decides in the environment, in a simulation and in
// production.
type Scheduler struct {
	player Player
	cfg    Config
	game   *Game
	round  Round
	joint  []Action
	seed   uint64
}

var _ cluster.Scheduler = (*Scheduler)(nil)

// NewScheduler returns a scheduler in which the player p decides.
func NewScheduler(p Player, cfg Config) *Scheduler { return &Scheduler{player: p, cfg: cfg} }

// Name implements cluster.Scheduler.
func (s *Scheduler) Name() string { return s.player.Name() }

// Reset implements cluster.Scheduler.
func (s *Scheduler) Reset(seed uint64) error {
	s.seed, s.game = seed, nil
	return s.player.Reset(seed)
}

// Schedule implements cluster.Scheduler.
func (s *Scheduler) Schedule(tx *cluster.Txn) error {
	if s.game == nil {
		if err := s.begin(tx.View().Servers()); err != nil {
			return err
		}
	}
	more, err := s.game.Begin(tx)
	for more && err == nil {
		if err = s.game.Show(&s.round); err != nil {
			return err
		}
		if err = s.player.Act(tx, &s.round, s.joint); err != nil {
			return fmt.Errorf("act: %w", err)
		}
		more, err = s.game.Play(s.joint)
	}
	return err
}

// begin creates the game of an episode at the first decision, when the number of servers is known.
func (s *Scheduler) begin(servers int) (err error) {
	if s.game, err = New(s.cfg, servers); err != nil {
		return err
	}
	s.joint = make([]Action, servers)
	return s.game.Reset(s.seed)
}

// Game returns the game of the present episode, nil before its first decision.
func (s *Scheduler) Game() *Game { return s.game }
