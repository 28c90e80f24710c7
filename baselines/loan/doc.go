// Package loan lets any scheduler use servers of the inference pool. New wraps a scheduler in the resource orchestrator of Lyra
// (Li et al., EuroSys 2023; Aryl in its preprint).
//
// The inference scheduler alone decides how many servers are on loan. The orchestrator decides which ones: it borrows the
// servers offered, and chooses which servers on loan go back. Idle servers go back first, then servers whose jobs can all be
// scaled in without a stop, then servers chosen by a Policy, in Lyra those with the least preemption cost (§4, §5.3).
//
// The choice, Config.reclaim, is a function of numbers and does not depend on the cluster. It derives the flexible workers from
// the state: a job with more workers than its least can lose the difference on any servers. So base and flexible workers need no
// labels, and the orchestrator works with every scheduler, even one that mixes them.
package loan
