// Package candidates finds what could be done at a decision point in addition to what a base scheduler proposes. Each possibility
// is a Candidate: operations on the cluster, carried out together, and a commitment that constrains the base scheduler (the base;
// package game calls it the prior) afterwards. The base's own proposal is always the first candidate, so always choosing it
// reproduces the base.
//
// A Source steps through one decision. With narrow lists it returns a list of candidates, carries out the chosen one, and returns
// the next list. It reviews every start that the base proposes separately, in order, and then what could be done after the last
// start. It reviews a proposal that stops, moves or resizes jobs as a whole. After any choice other than the base's own, the base
// proposes the rest anew.
//
// With wide lists there is one list for the whole instant. It has more kinds of candidates, and several of them may be chosen.
//
// A Scheduler combines a Source with a Judge, which chooses the candidates. The package links no simulator.
//
// The files: kind.go and candidate.go define candidates. walk.go steps through a decision with narrow lists; find.go finds the
// candidates, with ways.go for placements, deltas.go for changes to running jobs and block.go for reservations of servers for a
// gang. board.go steps through a decision with a wide list; generate.go and starts.go find its candidates, wider.go those beyond
// the usual search, and list.go selects those that the list shows. memory.go owns the memory of candidates, and guard.go makes a
// base keep a commitment.
package candidates
