// Package rollout schedules by looking ahead: a base scheduler proposes, and before its proposal stands, every start of it is
// held against a few alternatives by playing the base on to the end from each, over futures drawn from what has been seen so
// far. It is one step of policy improvement (the rollout policies of Bertsekas and Castanon, Journal of Heuristics 5, 1999) and
// knows nothing of the future.
//
// All alternatives meet the same futures (common random numbers), and one is taken only if it saves more than so many standard
// errors over these: where it cannot tell, it is the base.
//
// The files: scheduler.go walks through what the base proposes, options.go thinks of alternatives, ways.go of other placements,
// block.go of blocks to hold for a gang; guard.go is the base under a commitment, past.go and future.go draw futures, and
// judge.go plays and compares.
package rollout
