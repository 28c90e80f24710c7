// Package pins holds what the schedulers of this module decide, so that a change of the code that ought to keep it can be seen
// to keep it: digests of event logs, of what the learned team observes and bids, and of its bundle, in testdata. It has tests
// alone. docs/house.md says when a pin may change.
package pins
