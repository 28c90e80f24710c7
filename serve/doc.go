// Package serve is an HTTP server for plans. It answers a snapshot of a cluster with the plan of a decide.Decider, in the form
// that `clustergym plan --json` prints. It also serves its metrics and the names of the policies that decide.
//
// The server proposes and changes nothing. It reads the wall clock for the timeouts of connections and for logs.
package serve
