package agents

import (
	"fmt"

	"github.com/clustergym/clustergym/env"
)

// Shape is all that fixes the network's parameters. It depends on neither the number of servers nor that of jobs.
type Shape struct {
	Server, Token, Item int // features of a server row, of a token (a job at a level of the menu), of an item
	Width               int // of the embeddings
	Heads               int // of each attention layer
	Hidden              int // of an item
	Rank                int // of the pair payoffs
	Kappa               int // neighbours that an agent selects in the coordination graph
	Inducing            int // points through which servers attend to servers
}

// Size is the capacity that a user may choose; the rest of a Shape follows from the environment.
type Size struct {
	Width    int `yaml:"width"`
	Heads    int `yaml:"heads"`
	Hidden   int `yaml:"hidden"`
	Rank     int `yaml:"rank"`
	Kappa    int `yaml:"kappa"`
	Inducing int `yaml:"inducing"`
}

// DefaultSize is small enough to train on two cores.
func DefaultSize() Size { return Size{Width: 32, Heads: 4, Hidden: 16, Rank: 4, Kappa: 4, Inducing: 4} }

// ReferenceServers is the number of servers at which attention over servers scores as it comes. At n servers scores are
// multiplied by log(1+n)/log(1+ReferenceServers), so that a policy trained on few servers stays as selective among many.
const ReferenceServers = 32

// levelFeatures is what a token says of its level of the menu.
const levelFeatures = 3

// NewShape returns the network's shape for an environment.
func NewShape(spec *env.Spec, size Size) (Shape, error) {
	s := Shape{
		Server: len(spec.Server) + len(spec.Global), Token: len(spec.Job) + levelFeatures + len(spec.Global), Item: len(spec.Item),
		Width: size.Width, Heads: size.Heads, Hidden: size.Hidden, Rank: size.Rank, Kappa: size.Kappa,
		Inducing: size.Inducing,
	}
	return s, s.Validate()
}

// Validate reports the first number that no network could have.
func (s *Shape) Validate() error {
	for _, f := range []struct {
		name       string
		n, low, up int
	}{
		{"server features", s.Server, 1, 1 << 12},
		{"token features", s.Token, 1, 1 << 12},
		{"item features", s.Item, 1, 1 << 12},
		{"width", s.Width, 1, 1 << 12},
		{"heads", s.Heads, 1, s.Width},
		{"hidden", s.Hidden, 1, 1 << 12},
		{"rank", s.Rank, 1, 1 << 8},
		{"kappa", s.Kappa, 0, 1 << 8},
		{"inducing points", s.Inducing, 1, 1 << 8},
	} {
		if f.n < f.low || f.n > f.up {
			return fmt.Errorf("network %s: %d, want %d to %d", f.name, f.n, f.low, f.up)
		}
	}
	if s.Width%s.Heads != 0 {
		return fmt.Errorf("network width %d: want a multiple of the %d heads", s.Width, s.Heads)
	}
	return nil
}
