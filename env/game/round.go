package game

import (
	"slices"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/observe"
)

// Action is what an agent names: the number of a candidate, or Pass.
type Action int32

// Pass names nothing. It is always legal. Where no candidate is agreed on, what the prior would start waits, and is looked at
// again after the retry interval; a job that has been kept waiting so for as long as Config.Review.Hold starts all the same.
const Pass Action = 0

// Spec is the shape of a game and the meaning of its numbers.
type Spec struct {
	Agents     int // servers; agent i is server i
	Candidates int // numbers that an agent may name, Pass among them
	Jobs       int // rows of jobs
	observe.Spec
}

// Share is the part of a server in a candidate.
type Share struct {
	Candidate Action
	Server    int32
	Weight    float32 // see candidates.Member
}

// Refusal is a candidate that was named and is not carried out.
type Refusal struct {
	Candidate Action
	Reason    Reason
}

// Reason is why a candidate is not carried out.
type Reason uint8

// The reasons.
const (
	Disagreed Reason = iota // a server of its coalition did not name it
	Overtaken               // it does not fit after another that was carried out before it, or there is a new list after that
)

// String returns the reason in words.
func (r Reason) String() string {
	if r == Disagreed {
		return "a server of its coalition did not name it"
	}
	return "it does not fit after another that was carried out before it"
}

// Round is what agents see and may name. The caller owns it and may reuse it; Game.Show sizes its slices on first use and then
// fills them in place. It is read only for others.
//
// Number 1 is what the prior does next: its next start, or its proposal as a whole if that stops or changes running jobs. The
// others could be done in its place. The observation has as many rows of jobs and of candidates as Spec says; those beyond
// len(Ids) jobs and len(List) candidates are 0, as is that of Pass.
type Round struct {
	observe.Observation
	// List has the candidates: List[k] has the number k+1. It is the game's, and valid until its next step.
	List      []candidates.Candidate
	Coalition []Share // of the candidates, ascending by number, then server; the weights of a candidate sum to 1
	Mask      []bool  // [Agents][Candidates]: what an agent may name
	Prior     Action  // what the prior would do
	spec      *Spec
}

// Spec is the shape of the round's game. Read only.
func (r *Round) Spec() *Spec { return r.spec }

// Legal returns agent i's mask: one entry a number.
func (r *Round) Legal(i int) []bool {
	n := r.spec.Candidates
	return r.Mask[i*n : (i+1)*n]
}

// Server returns agent i's own row.
func (r *Round) Server(i int) []float32 {
	n := len(r.spec.Server)
	return r.Servers[i*n : (i+1)*n]
}

// Members returns the coalition of a candidate, none of Pass.
func (r *Round) Members(n Action) []Share {
	from, _ := slices.BinarySearchFunc(r.Coalition, n, func(s Share, n Action) int { return int(s.Candidate - n) })
	to := from
	for to < len(r.Coalition) && r.Coalition[to].Candidate == n {
		to++
	}
	return r.Coalition[from:to]
}

// Unanimous fills the joint action by which exactly this candidate is agreed on: its coalition names it, all others pass.
// Naming the prior's own where that starts nobody is to pass.
func (r *Round) Unanimous(n Action, joint []Action) {
	clear(joint)
	for _, s := range r.Members(n) {
		joint[s.Server] = n
	}
}

// CopyFrom makes r a copy of src that shares no memory with it, but for List and what Spec returns.
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
