// Package control is the scheduler itself: again and again it looks at the cluster, has a policy decide, bounds what was decided
// and carries it out, or, in shadow mode, only compares it with what another scheduler did.
//
// A round depends on nothing but what the API server shows and the bindings that it has accepted and does not show yet, so a
// process that is killed at any point is followed by one that goes on. Nothing is done twice: every write names the object that
// was meant, and a gang that was bound in part is completed, or given up when its deadline has passed.
package control
