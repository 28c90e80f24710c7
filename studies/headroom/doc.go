// Package headroom estimates how much any policy could still gain on a scenario. It reports the mean JCT of the best existing
// policies (the rivals), the mean JCT that a search with knowledge of the future achieves, and a lower bound that no scheduler
// goes below. It trains nothing and draws no charts.
//
// The true optimum lies between the search result and the bound. The gap that the search closes is real, though a policy that
// cannot see the future may get only a part of it. Nothing can be gained beyond the bound.
//
// Terms: a rival is an existing policy to compare with; the prior is the base policy that a learned team reviews; a course is one
// simulated episode.
package headroom
