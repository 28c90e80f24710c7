// Package serve is a runtime that decides: it answers snapshots of a cluster with the plans of a policy over HTTP, as
// `clustergym plan --json` prints them. It holds a policy to a deadline and falls back to another one, takes up a new bundle
// without a pause, counts and explains what it does, and logs decisions so that they can be made again offline.
//
// It proposes and changes nothing. It looks at the wall clock, for deadlines and for logs; decisions do not depend on it unless
// a deadline passes.
package serve
