// Package rollout schedules by looking ahead. It reviews the decisions of a base scheduler: it plays each candidate decision on
// with the base to the end, over futures drawn from what it has seen so far, and compares the costs. This is one step of policy
// improvement (the rollout policies of Bertsekas and Castanon, Journal of Heuristics 5, 1999). It does not see the true future.
//
// All candidates are played over the same futures (common random numbers). A candidate is taken only if it saves more than a
// given number of standard errors; otherwise the base's own decision stands.
//
// history.go and future.go draw futures; judge.go plays and compares candidates.
package rollout
