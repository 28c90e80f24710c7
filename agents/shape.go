package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// How servers see each other: Shape.Attention. All but the first exist to be compared with it.
const (
	Attend     = "attend" // by attention, through the inducing points
	AttendMean = "mean"   // as the mean of the others, whatever they look like
	AttendNone = "none"   // not at all: a server sees itself and the jobs
)

// Which members of coalitions are neighbours: Shape.Graph. All but the first exist to be compared with it.
const (
	GraphDynamic = "dynamic" // those whose projections match best
	GraphRandom  = "random"  // fixed pseudo-random ones
	GraphFull    = "full"    // all
	GraphNone    = "none"    // there are no payoffs
)

var (
	attentions = []string{Attend, AttendMean, AttendNone}
	graphs     = []string{GraphDynamic, GraphRandom, GraphFull, GraphNone}
)

// Shape is all that fixes the network and its parameters. It depends on the numbers of neither servers nor jobs nor candidates,
// and the parameters depend on neither Attention nor Graph: what a variant does not use takes no part.
type Shape struct {
	Server, Job int    // features of a row of each
	Candidate   int    `json:"Offer"` // features of a candidate; Policy.Digest depends on the name in JSON
	Width       int    // of the embeddings
	Heads       int    // of each attention layer
	Hidden      int    // of a candidate
	Rank        int    // of the payoffs
	Kappa       int    // neighbours that a server selects in the coordination graph
	Inducing    int    // points through which servers attend to servers
	Attention   string // how servers see each other
	Graph       string // which members of coalitions are neighbours
}

// Size is the capacity that a user may choose; the rest of a Shape follows from what is observed.
type Size struct {
	Width     int    `yaml:"width"`
	Heads     int    `yaml:"heads"`
	Hidden    int    `yaml:"hidden"`
	Rank      int    `yaml:"rank"`
	Kappa     int    `yaml:"kappa"`
	Inducing  int    `yaml:"inducing"`
	Attention string `yaml:"attention"` // empty is attend
	Graph     string `yaml:"graph"`     // empty is dynamic
}

// DefaultSize is small enough to train on two cores.
func DefaultSize() Size {
	return Size{
		Width: 32, Heads: 4, Hidden: 32, Rank: 4, Kappa: 4, Inducing: 4, Attention: Attend, Graph: GraphDynamic,
	}
}

// ReferenceServers is the number of servers at which attention over servers scores as it comes. At n servers scores are
// multiplied by log(1+n)/log(1+ReferenceServers), so that a policy trained on few servers stays as selective among many.
const ReferenceServers = 32

// NewShape returns the network's shape for so many features of servers, jobs and candidates, and global ones, which join those
// of every server and every job.
func NewShape(server, job, candidate, global int, size Size) (Shape, error) {
	s := Shape{
		Server: server + global, Job: job + global, Candidate: candidate,
		Width: size.Width, Heads: size.Heads, Hidden: size.Hidden, Rank: size.Rank, Kappa: size.Kappa, Inducing: size.Inducing,
		Attention: cmp.Or(size.Attention, Attend), Graph: cmp.Or(size.Graph, GraphDynamic),
	}
	return s, s.Validate()
}

// Validate reports the first field that no network could have.
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

// row is the width of what the hidden layer reads of a candidate: see Net.
func (s *Shape) row() int { return 4*s.Width + s.Candidate }
