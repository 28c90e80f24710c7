// Package review holds what a base scheduler proposes against other things that could be done, its offers, and lets a judge
// choose. The base's own is always among them: a judge that prefers it leaves the base as it is.
//
// Every start of a proposal is reviewed by itself, in order, and what the base would do after its last; a proposal that stops,
// moves or resizes jobs as a whole. Where a judge takes another offer, the base proposes anew what comes after it.
//
// The files: scheduler.go walks through what the base proposes, offers.go thinks of offers, ways.go of placements, deltas.go of
// changes to running jobs, block.go of blocks to hold for a gang; guard.go is the base under what an offer commits it to.
package review
