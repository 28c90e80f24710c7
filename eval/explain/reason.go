package explain

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Code is a stable word for a reason: scripts may rely on it.
type Code string

// The codes of operations.
const (
	started   Code = "started"
	preempted Code = "preempted"
	migrated  Code = "migrated"
	resized   Code = "resized"
	loaned    Code = "loaned"
	reclaimed Code = "reclaimed"
)

// The codes of waiting jobs. With the first six nothing can start the job now, with the last two the policy could have.
const (
	neverFits Code = "never-fits" // the empty cluster could not hold it as it is now: see Wait.Capacity
	overQuota Code = "quota"      // its tenant may not hold so much, now or ever
	wrongType Code = "gpu-type"   // enough GPUs that will do, but not enough of one type
	cpuMemory Code = "cpu-memory" // GPUs enough, but not the CPU or the memory beside them
	gpuMemory Code = "gpu-memory" // shares enough, but not the memory on their GPUs
	perGPU    Code = "per-gpu"    // shares enough, but on GPUs that have as many jobs as they may
	noHole    Code = "no-hole"    // GPUs enough, but too few together on one server for workers that stand together
	noRoom    Code = "no-room"    // too few GPUs
	spread    Code = "spread"     // it fits, but only over several servers, though one empty server would hold it
	heldBack  Code = "held-back"  // it fits, and the policy lets it wait
)

// Reason is a code and the sentence that says it with its numbers.
type Reason struct {
	Code Code   `json:"code"`
	Text string `json:"why"`
}

// Step explains one operation.
type Step struct {
	Kind   cluster.OpKind   `json:"-"`
	Job    cluster.JobID    `json:"-"` // of place, preempt, migrate and resize
	Server cluster.ServerID `json:"-"` // of loan and reclaim
	Reason
	RunnerUp   *Place   `json:"runner_up,omitempty"`   // of a start: where it would have gone next
	PassedOver *Passed  `json:"passed_over,omitempty"` // of a start: who could have started in its place
	TakenBy    []string `json:"gpus_go_to,omitempty"`  // of a preemption: jobs that get GPUs of its servers in this decision
}

// Place is a server that could have held a whole gang: the next best by the rule of best fit, which wants the fewest GPUs left.
type Place struct {
	Server string `json:"server"`
	Left   int32  `json:"free_gpus_left"` // it would have had
}

// Passed names jobs that could have started at the moment when another one did and still wait when all is decided: the first
// by submission and the first by what is left of its estimate, often the same; "" for none with an estimate.
type Passed struct {
	Earliest string `json:"earliest"`
	Shortest string `json:"shortest,omitempty"`
}

// Wait explains why a job waits.
type Wait struct {
	Job cluster.JobID `json:"-"`
	Reason
	// Capacity is how many of its workers the empty cluster would take; Fits, how many it takes now, and Hole, on the server
	// that takes most. A gang that must be of one GPU type is counted on the best type.
	Capacity int64 `json:"capacity"`
	Fits     int64 `json:"fits"`
	Hole     int32 `json:"largest_hole"`
	// FreeGPUs counts the GPUs that nobody uses and that training jobs may use, whatever their type.
	FreeGPUs int64 `json:"free_gpus"`
	// Taking counts the servers that would take at least one worker; Excluded counts the others by what keeps the job from
	// them. Together they are all servers.
	Taking   int        `json:"servers_taking"`
	Excluded []Excluded `json:"servers_excluded"`
	// Over is how many servers it would be spread over now, by best fit; 0 where it does not fit.
	Over int `json:"spread_over,omitempty"`
	// Room is when it would fit, if running jobs end as estimated and nothing else starts; nil where estimates do not tell, or
	// it fits already.
	Room *Room `json:"room,omitempty"`
}

// Room is when a waiting job would fit: when a running job ends. The estimate may be overrun already; the wait is then 0.
type Room struct {
	Wait    time.Duration `json:"-"`
	Seconds float64       `json:"in_s"`
	Job     string        `json:"job"`  // whose end makes the room
	GPUs    float64       `json:"gpus"` // that it holds
	Servers []string      `json:"servers"`
	Before  int           `json:"ends_before"` // jobs that end before it, whether their room is needed or not
	milli   int64         // of GPUs
}

// Excluded counts the servers that a reason keeps a job from.
type Excluded struct {
	Why     Exclusion `json:"reason"`
	Servers int       `json:"servers"`
}

// Exclusion is what keeps a job from a server: the first that applies, in the order of exclusions.
type Exclusion string

// The exclusions.
const (
	Failed       Exclusion = "failed"       // the server is down
	NotLent      Exclusion = "not-lent"     // it belongs to inference
	OtherType    Exclusion = "gpu-type"     // its GPUs are of a type that will not do
	notEligible  Exclusion = "not-eligible" // it is none of those on which the job may run
	SmallGPU     Exclusion = "small-gpu"    // its GPUs have less memory than a worker needs
	QuotaLeft    Exclusion = "quota"        // the tenant may not take another worker
	NoGPU        Exclusion = "gpus"         // no free GPU, or none with the share that a worker needs
	TooFewGPUs   Exclusion = "group"        // fewer GPUs than workers that must stand together
	FullGPU      Exclusion = "per-gpu"      // GPUs with the share free have as many jobs as they may
	NoGPUMemory  Exclusion = "gpu-memory"   // GPUs with the share free have too little memory free
	NoCPU        Exclusion = "cpu"          // too little CPU
	NoMemory     Exclusion = "memory"       // too little memory
	notExcluding Exclusion = ""             // it takes a worker, or a group of them
)

// exclusions lists all exclusions in the order in which they are looked for.
func exclusions() []Exclusion {
	return []Exclusion{
		Failed, NotLent, OtherType, notEligible, SmallGPU, QuotaLeft, NoGPU, TooFewGPUs, FullGPU, NoGPUMemory, NoCPU, NoMemory,
	}
}
