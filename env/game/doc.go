// Package game is the game that a team of servers plays at one decision point. It works on any cluster transaction, of a
// simulated cluster or of a real one, and it links no simulator; package env combines it with a simulator.
//
// At a decision point the prior proposes operations. The prior is the base scheduler that the learned team reviews. A Round lists
// that proposal and the alternatives to it as numbered candidates. Each candidate has a coalition: the servers that take part in
// it. Every server is an agent, which names one candidate of which it is a member, or passes. The game carries out a candidate if
// its coalition agrees on it. Rounds follow each other at the same instant until nothing is left to decide.
package game
