package env

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// OfferKind is what an offer does in place of what the base does.
type OfferKind uint8

// The kinds of offers.
const (
	Own     OfferKind = iota // what the base itself does: the first offer of a review
	Packed                   // start the job beside others
	Alone                    // start it on GPUs of its own
	Aligned                  // start it where the jobs end when it does
	Sized                    // start it with other workers
	First                    // start another job first
	Begin                    // start a job that the base would not start
	Wait                     // keep the job waiting
	Stop                     // start nothing more now
	Reserve                  // hold a block of servers for a gang
	Gather                   // hold one for a gang that fits, on more servers than it must have
	Drop                     // give up a block that is held
	Veto                     // leave a running job that the base would stop
	Grow                     // give a running job other workers or amounts
	Move                     // put it elsewhere
	Preempt                  // stop it
	offerKinds
)

var offerNames = [offerKinds]string{
	"own", "packed", "alone", "aligned", "sized", "first", "begin", "wait", "stop", "reserve", "gather", "drop", "veto", "grow",
	"move", "preempt",
}

// String returns the kind's name.
func (k OfferKind) String() string {
	if k >= offerKinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return offerNames[k]
}

// Offer is one thing that could be done now.
type Offer struct {
	Kind OfferKind          // what it is, see the kinds
	Job  cluster.JobID      // that it is about, -1 for none
	Ops  []cluster.Proposal // what happens at once if it is chosen, nil if it only waits
	Wait time.Duration      // how long until what it waits for is expected, 0 if it waits for nothing
}

// OfferShare is a server's part in an offer: its workers of those that the offer places or stops. A server that is lent or
// given back counts as one more.
type OfferShare struct {
	Offer, Server int32
	Weight        float32
}

// Review is what there is to choose from, as rows of numbers. The caller owns it and may reuse it: StandardEncoder.Review
// sizes its slices.
type Review struct {
	Servers []float32       // [servers][len(Spec.Server)]
	Jobs    []float32       // [jobs][len(Spec.Job)]: the jobs that offers are about first, then the rest of the window
	Ids     []cluster.JobID // of the rows of Jobs
	Global  []float32       // [len(Spec.Global)]
	Offers  []float32       // [offers][len(OfferFeatures())]
	Of      []int32         // [offers]: the row in Jobs of each offer's job, -1 for none
	Shares  []OfferShare    // ascending by offer, then server; the weights of an offer sum to 1, an offer may have none
}
