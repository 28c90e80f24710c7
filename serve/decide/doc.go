// Package decide asks a policy for decisions about a real cluster. It holds the policy to a deadline and falls back to another
// policy, reloads a changed bundle without a pause, counts and explains decisions, and logs them so that they can be replayed
// offline. The plan server and the Kubernetes scheduler use it.
//
// The package proposes decisions and changes nothing. It reads the wall clock for deadlines and logs; decisions do not depend on
// the clock unless a deadline passes.
//
// A learned policy reviews the proposals of its prior, the base policy that it was trained with.
package decide
