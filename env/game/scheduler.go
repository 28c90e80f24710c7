package game

import (
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
)

// Player names candidates for all agents: a policy.
type Player interface {
	Name() string
	// Reset begins an episode.
	Reset(seed uint64) error
	// Act fills joint, one number an agent. tx is the transaction of the round, which it may try things in and must leave as it
	// was.
	Act(tx *cluster.Txn, r *Round, joint []Action) error
}

// Scheduler is a player as a cluster.Scheduler: it decides in a simulation or in production as it does in the environment.
type Scheduler struct {
	player Player
	cfg    Config
	game   *Game
	round  Round
	joint  []Action
	seed   uint64
}

var _ cluster.Scheduler = (*Scheduler)(nil)

// NewScheduler returns the scheduler of a player.
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

// begin makes the game of an episode once it is known on how many servers it is played.
func (s *Scheduler) begin(servers int) (err error) {
	if s.game, err = New(s.cfg, servers); err != nil {
		return err
	}
	s.joint = make([]Action, servers)
	return s.game.Reset(s.seed)
}

// Game returns the game of the present episode, nil before its first decision.
func (s *Scheduler) Game() *Game { return s.game }
