package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The values of Shape.Attention: how servers exchange information. The variants after the first exist for comparison.
const (
	Attend     = "attend" // by attention through the inducing points
	AttendMean = "mean"   // each server reads the mean of the others, with equal weights
	AttendNone = "none"   // not at all: a server reads only itself and the jobs
)

// The values of Shape.Graph: which members of coalitions are neighbours. The variants after the first exist for comparison.
const (
	GraphDynamic = "dynamic" // those whose projections match best
	GraphRandom  = "random"  // fixed pseudo-random ones
	GraphFull    = "full"    // all
	GraphNone    = "none"    // no payoffs
)

var (
	attentions = []string{Attend, AttendMean, AttendNone}
	graphs     = []string{GraphDynamic, GraphRandom, GraphFull, GraphNone}
)

// Shape determines the network and its parameters. It does not depend on the numbers of servers, jobs and candidates. The
// parameters do not depend on Attention and Graph: a variant ignores the parameters that it does not use.
type Shape struct {
	Server, Job int    // numbers of features in a row
	Candidate   int    `json:"Offer"` // number of features of a candidate; Policy.Digest depends on the JSON name
	Width       int    // of the embeddings
	Heads       int    // of each attention layer
	Hidden      int    // width of a candidate's hidden layer
	Rank        int    // of the payoffs
	Kappa       int    // number of neighbours that a server selects in the coordination graph
	Inducing    int    // number of points through which servers attend to servers
	Attention   string // how servers exchange information
	Graph       string // which members of coalitions are neighbours
	// Joint makes the graph one over candidates: which of them pay together. One forward pass then serves a whole decision.
	Joint bool `json:",omitempty"`
}

// Size is the part of a Shape that a user may choose; the rest follows from the observations.
type Size struct {
	Width     int    `yaml:"width"`
	Heads     int    `yaml:"heads"`
	Hidden    int    `yaml:"hidden"`
	Rank      int    `yaml:"rank"`
	Kappa     int    `yaml:"kappa"`
	Inducing  int    `yaml:"inducing"`
	Attention string `yaml:"attention"` // empty means attend
	Graph     string `yaml:"graph"`     // empty means dynamic
	Joint     bool   `yaml:"joint,omitempty"`
}

// DefaultSize is small enough to train on two cores.
func DefaultSize() Size {
	return Size{
		Width: 32, Heads: 4, Hidden: 32, Rank: 4, Kappa: 4, Inducing: 4, Attention: Attend, Graph: GraphDynamic,
	}
}

// ReferenceServers is the number of servers at which attention scores over servers are not scaled. With n servers, scores are
// multiplied by log(1+n)/log(1+ReferenceServers), so that a policy trained with few servers remains as selective with many.
const ReferenceServers = 32

// NewShape returns the network's shape for the given numbers of features of servers, jobs and candidates. Global features are
// added to those of every server and every job.
func NewShape(server, job, candidate, global int, size Size) (Shape, error) {
	s := Shape{
		Server: server + global, Job: job + global, Candidate: candidate,
		Width: size.Width, Heads: size.Heads, Hidden: size.Hidden, Rank: size.Rank, Kappa: size.Kappa, Inducing: size.Inducing,
		Attention: cmp.Or(size.Attention, Attend), Graph: cmp.Or(size.Graph, GraphDynamic), Joint: size.Joint,
	}
	return s, s.Validate()
}

// size is the inverse of NewShape.
func (s *Shape) size() Size {
	return Size{
		Width: s.Width, Heads: s.Heads, Hidden: s.Hidden, Rank: s.Rank, Kappa: s.Kappa, Inducing: s.Inducing,
		Attention: s.Attention, Graph: s.Graph, Joint: s.Joint,
	}
}

// Validate returns an error for the first field out of range.
func (s *Shape) Validate() error {
	for _, f := range []struct {
		name       string
		n, low, up int
	}{
		{"server features", s.Server, 1, 1 << 12},
		{"job features", s.Job, 1, 1 << 12},
		{"candidate features", s.Candidate, 1, 1 << 12},
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
		return fmt.Errorf("network width: %d, want a multiple of the %d heads", s.Width, s.Heads)
	}
	if s.Joint && s.Hidden != s.Width {
		return fmt.Errorf("network hidden: %d, want the width %d where candidates attend to each other", s.Hidden, s.Width)
	}
	for _, f := range []struct {
		name, value string
		want        []string
	}{{"attention", s.Attention, attentions}, {"graph", s.Graph, graphs}} {
		if !slices.Contains(f.want, f.value) {
			return fmt.Errorf("network %s: %q, want one of %s", f.name, f.value, strings.Join(f.want, ", "))
		}
	}
	return nil
}

// row returns the width of the hidden layer's input for a candidate: see Net.
func (s *Shape) row() int { return 4*s.Width + s.Candidate }

// Nodes returns the number of nodes that the coordination graph has for an observation.
func (s *Shape) Nodes(o *Observation) int {
	if s.Joint {
		return o.Candidates
	}
	return o.Servers
}
