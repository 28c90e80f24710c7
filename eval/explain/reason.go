package explain

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Code is a stable identifier of a reason, on which scripts may rely.
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

// The codes of waiting jobs. With the codes up to noRoom nothing can start the job now; with spread and heldBack the policy could
// have started it.
const (
	neverFits Code = "never-fits" // the cluster without jobs, in its present state, has no room for it: see Wait.Capacity
	overQuota Code = "quota"      // its tenant's quota is too small, now or at all
	wrongType Code = "gpu-type"   // there are enough GPUs of allowed types, but not of a single type
	cpuMemory Code = "cpu-memory" // there are enough GPUs, but not enough CPU or memory with them
	gpuMemory Code = "gpu-memory" // there are enough GPU shares, but not enough memory on their GPUs
	perGPU    Code = "per-gpu"    // there are enough GPU shares, but on GPUs with the maximum number of jobs
	noHole    Code = "no-hole"    // there are enough GPUs, but too few on one server for the workers that must be together
	noRoom    Code = "no-room"    // there are too few free GPUs
	spread    Code = "spread"     // it fits, but only over several servers, although one empty server would be enough
	heldBack  Code = "held-back"  // it fits, and the policy does not start it
)

// Reason is a code with a sentence that gives the reason and its numbers.
type Reason struct {
	Code Code   `json:"code"`
	Text string `json:"why"`
}

// Step explains one operation.
type Step struct {
	Kind   cluster.OpKind   `json:"-"`
	Job    cluster.JobID    `json:"-"` // of a start, preemption, migration or resize
	Server cluster.ServerID `json:"-"` // of a loan or reclaim
	Reason
	RunnerUp   *Place   `json:"runner_up,omitempty"`   // of a start: the second-best server
	PassedOver *Passed  `json:"passed_over,omitempty"` // of a start: a job that could have started instead
	TakenBy    []string `json:"gpus_go_to,omitempty"`  // of a preemption: the jobs that get GPUs of its servers in this decision
}

// Place is a server that could have taken a whole gang: the next best by best fit, which prefers the fewest GPUs left.
type Place struct {
	Server string `json:"server"`
	Left   int32  `json:"free_gpus_left"` // the free GPUs that it would have had left
}

// Passed names jobs that could have started at the moment when another one did, and that still wait after all operations: the
// first by submission and the first by remaining estimated time, often the same job. Shortest is "" if none has an estimate.
type Passed struct {
	Earliest string `json:"earliest"`
	Shortest string `json:"shortest,omitempty"`
}

// Wait explains why a job waits.
type Wait struct {
	Job cluster.JobID `json:"-"`
	Reason
	// Capacity is the number of the job's workers that the cluster could take without any jobs. Fits is the number that it could
	// take now, and Hole the number that the best single server could take now. For a gang that must use one GPU type, they are
	// counted on the best type.
	Capacity int64 `json:"capacity"`
	Fits     int64 `json:"fits"`
	Hole     int32 `json:"largest_hole"`
	// FreeGPUs is the number of free GPUs open to training jobs, of any type.
	FreeGPUs int64 `json:"free_gpus"`
	// Taking is the number of servers with room for at least one worker. Excluded counts all other servers by what keeps the job
	// from them.
	Taking   int        `json:"servers_taking"`
	Excluded []Excluded `json:"servers_excluded"`
	// Over is the number of servers that the job would use now, by best fit; 0 if it does not fit.
	Over int `json:"spread_over,omitempty"`
	// Room is when the job would fit, if running jobs end as estimated and nothing else starts. It is nil if the estimates do not
	// give an answer, or if the job fits already.
	Room *Room `json:"room,omitempty"`
}

// Room is the time at which a waiting job would fit, which is when a running job ends. If that job has already exceeded its
// estimate, the wait is 0.
type Room struct {
	Wait    time.Duration `json:"-"`
	Seconds float64       `json:"in_s"`
	Job     string        `json:"job"`  // the job whose end makes the room
	GPUs    float64       `json:"gpus"` // number of GPUs that it holds
	Servers []string      `json:"servers"`
	Before  int           `json:"ends_before"` // number of jobs that end before it, whether their GPUs are needed or not
	milli   int64         // thousandths of GPUs
}

// Excluded is the number of servers that a reason keeps a job from.
type Excluded struct {
	Why     Exclusion `json:"reason"`
	Servers int       `json:"servers"`
}

// Exclusion is the reason that keeps a job from a server: the first that applies, in the order of exclusions.
type Exclusion string

// The exclusions.
const (
	Failed       Exclusion = "failed"       // the server is down
	NotLent      Exclusion = "not-lent"     // the server belongs to inference
	OtherType    Exclusion = "gpu-type"     // the job does not allow its GPU type
	notEligible  Exclusion = "not-eligible" // the job does not allow this server
	SmallGPU     Exclusion = "small-gpu"    // its GPUs have less memory than a worker needs
	QuotaLeft    Exclusion = "quota"        // the tenant's quota has no room for another worker
	NoGPU        Exclusion = "gpus"         // no free GPU, or none with the GPU share that a worker needs
	TooFewGPUs   Exclusion = "group"        // fewer GPUs than workers that must be together
	FullGPU      Exclusion = "per-gpu"      // the GPUs with enough free share have the maximum number of jobs
	NoGPUMemory  Exclusion = "gpu-memory"   // the GPUs with enough free share have too little free memory
	NoCPU        Exclusion = "cpu"          // too little free CPU
	NoMemory     Exclusion = "memory"       // too little free memory
	notExcluding Exclusion = ""             // the server has room for a worker, or for a group of workers
)

// exclusions lists all exclusions in the order in which they are checked.
func exclusions() []Exclusion {
	return []Exclusion{
		Failed, NotLent, OtherType, notEligible, SmallGPU, QuotaLeft, NoGPU, TooFewGPUs, FullGPU, NoGPUMemory, NoCPU, NoMemory,
	}
}
