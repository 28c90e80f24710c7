// Package pins tests that a change of the code does not change what the schedulers decide. Its testdata contains digests ("pins")
// of event logs, of the learned team's observations and bids, and of its bundle. The package contains only tests. docs/house.md
// says when a pin may change.
package pins
