// Package headroom says how much any policy could still gain on a scenario: what the best rivals reach, what a search that
// knows the future reaches on top, and what nobody can go below. It decides nothing about training and draws nothing.
//
// Between what the search achieved and the bound lies the true optimum. A gap that the search found is really there, though
// not for a policy that cannot see the future; what lies beyond the bound is there for nobody.
package headroom
