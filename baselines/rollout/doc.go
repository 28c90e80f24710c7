// Package rollout schedules by looking ahead: it reviews a base scheduler and judges what could be done by playing the base on
// to the end from each, over futures drawn from what has been seen so far. It is one step of policy improvement (the rollout
// policies of Bertsekas and Castanon, Journal of Heuristics 5, 1999) and knows nothing of the future.
//
// All candidates meet the same futures (common random numbers), and one is taken only if it saves more than so many standard errors
// over these: where it cannot tell, it is the base.
//
// The files: past.go and future.go draw futures, and judge.go plays and compares.
package rollout
