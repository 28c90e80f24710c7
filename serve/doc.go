// Package serve answers snapshots of a cluster over HTTP with the plans of a decide.Decider, as `clustergym plan --json` prints
// them, with what it has counted, and with who decides.
//
// It proposes and changes nothing. It looks at the wall clock, for the times of connections and for logs.
package serve
