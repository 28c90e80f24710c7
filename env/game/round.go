package game

import (
	"slices"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/observe"
)

// Action is the choice of one agent: the number of a candidate, or Pass.
type Action int32

// Pass names no candidate. It is always legal. If no candidate is agreed on, the jobs that the prior would start wait, and the
// game asks the prior again after the retry interval. A job that was kept waiting like this for Config.Review.Hold starts
// nevertheless.
const Pass Action = 0

// Spec is the shape of a game's rounds and the meaning of their numbers.
type Spec struct {
	Agents     int // servers; agent i is server i
	Candidates int // how many numbers an agent may name, including Pass
	Jobs       int // rows of jobs
	observe.Spec
}

// Share is the part that a server has in a candidate.
type Share struct {
	Candidate Action
	Server    int32
	Weight    float32 // see candidates.Member
}

// Refusal is a candidate that an agent named and that was not carried out.
type Refusal struct {
	Candidate Action
	Reason    Reason
}

// Reason is why a candidate was not carried out.
type Reason uint8

// The reasons.
const (
	Disagreed Reason = iota // a server of its coalition did not name it
	Overtaken               // it does not fit after a candidate carried out before it, or that candidate led to a new list
)

// String returns the reason in words.
func (r Reason) String() string {
	if r == Disagreed {
		return "a server of its coalition did not name it"
	}
	return "it does not fit after another that was carried out before it"
}

// Round is what the agents observe and may name in one round. The caller owns it and may reuse it: Game.Show allocates its slices
// on first use and later fills them in place. Everybody else only reads it.
//
// Candidate 1 is what the prior does next: its next start, or its whole proposal if that stops or changes running jobs. The other
// candidates are alternatives to it. The observation has as many rows of jobs and candidates as Spec says. The row of Pass is 0,
// and so are the rows beyond len(Ids) jobs and len(List) candidates.
type Round struct {
	observe.Observation
	// List contains the candidates: List[k] has the number k+1. It belongs to the game and is valid until the game's next step.
	List      []candidates.Candidate
	Coalition []Share // members of all candidates, ascending by candidate, then server; the weights of a candidate sum to 1
	Mask      []bool  // [Agents][Candidates]: which numbers each agent may name
	Prior     Action  // the prior's choice
	// Later is true if the list is that of the round before, in which some candidates are gone now. A player that decided on several
	// candidates then names the next one.
	Later bool
	spec  *Spec
}

// Spec returns the shape of the round. Read only.
func (r *Round) Spec() *Spec { return r.spec }

// Legal returns the mask of agent i, one entry per number.
func (r *Round) Legal(i int) []bool {
	n := r.spec.Candidates
	return r.Mask[i*n : (i+1)*n]
}

// Server returns the row of agent i's own server.
func (r *Round) Server(i int) []float32 {
	n := len(r.spec.Server)
	return r.Servers[i*n : (i+1)*n]
}

// Members returns the coalition of a candidate; Pass has none.
func (r *Round) Members(n Action) []Share {
	from, _ := slices.BinarySearchFunc(r.Coalition, n, func(s Share, n Action) int { return int(s.Candidate - n) })
	to := from
	for to < len(r.Coalition) && r.Coalition[to].Candidate == n {
		to++
	}
	return r.Coalition[from:to]
}

// Unanimous fills joint with the action by which exactly candidate n is agreed on: its coalition names it, and all others pass.
// If n is the prior's own and starts no job, all pass.
func (r *Round) Unanimous(n Action, joint []Action) {
	clear(joint)
	for _, s := range r.Members(n) {
		joint[s.Server] = n
	}
}

// CopyFrom makes r a copy of src. The copy shares only List and the Spec with src.
func (r *Round) CopyFrom(src *Round) {
	old := *r
	*r = *src
	r.Servers = append(old.Servers[:0], src.Servers...)
	r.Jobs = append(old.Jobs[:0], src.Jobs...)
	r.Ids = append(old.Ids[:0], src.Ids...)
	r.Global = append(old.Global[:0], src.Global...)
	r.Candidates = append(old.Candidates[:0], src.Candidates...)
	r.Of = append(old.Of[:0], src.Of...)
	r.Coalition = append(old.Coalition[:0], src.Coalition...)
	r.Mask = append(old.Mask[:0], src.Mask...)
}
