// Package decide lets a policy decide on a cluster that is no simulation: it holds the policy to a deadline and falls back to
// another one, takes up a new bundle without a pause, counts and explains what is decided, and logs decisions so that they can be
// made again offline. The server of plans and the scheduler of Kubernetes are built on it.
//
// It proposes and changes nothing. It looks at the wall clock, for deadlines and for logs; decisions do not depend on it unless
// a deadline passes.
package decide
