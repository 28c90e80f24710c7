// Package game is one decision of a team of servers, over any transaction: the same for a simulated cluster and for a real one.
// It links no simulator; package env is a simulator and this game.
//
// At a decision point the prior, a scheduler, says what it proposes. A Round shows that and what could be done in its place, as
// numbered candidates, each with the servers that take part in it, its coalition. Every server is an agent and names one
// candidate of which it is a part, or passes. A candidate is carried out if its coalition agrees. Rounds follow each other at
// the same instant until nothing is left to decide.
package game
