// Package loan lets any scheduler use servers of the inference pool: New wraps it in the resource orchestrator of Lyra (Li
// et al., EuroSys 2023; Aryl in its preprint), and Opportunistic is the scheme without an orchestrator that Lyra is held
// against.
//
// The inference scheduler alone decides how many servers are on loan. The orchestrator says which: it borrows what is
// offered, and of the servers on loan it chooses those that go back. Idle servers go first, then those from which all jobs
// can be scaled in without a stop, then those that a Policy names, by Lyra the server with the least preemption cost (§4,
// §5.3).
//
// The choice is a function of numbers, Config.reclaim, which knows nothing of clusters. It reads who is flexible off the
// state: a job with more workers than its least can lose the difference, from whichever servers. So base and flexible
// workers need no labels, and it works for every scheduler, also one that mixes them.
package loan
