// Package candidates works out what could be done at a decision point beside what a base scheduler proposes. Each such
// possibility is a Candidate: whole operations on the cluster, and what the base is held to afterwards. The base's own proposal
// is always among them, so whoever always takes that leaves the base as it is.
//
// A Source goes through one decision. With narrow lists it shows a list of candidates, carries out the one that is taken, and
// shows the next list. Every start that the base proposes is reviewed by itself, in order, and then what could be done after
// its last one. A proposal that stops, moves or resizes jobs is reviewed as a whole. Where another candidate is taken, the base
// proposes anew what comes after it.
//
// A wide list is the only one of its decision. It has more kinds of candidates and stays for the instant: several may be taken
// from it.
//
// A Scheduler is a Source with a Judge that takes the candidates. The package links no simulator.
//
// The files: kind.go and candidate.go say what a candidate is, walk.go goes through a decision, find.go finds the candidates,
// with ways.go for placements, deltas.go for changes to running jobs and block.go for blocks that are held for a gang. board.go
// goes through a decision of a board, with generate.go and starts.go for its candidates, wider.go for what the usual list leaves
// out and list.go for which of them it shows. memory.go is what candidates point into, and guard.go holds a base to what a
// candidate commits it to.
package candidates
