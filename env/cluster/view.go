package cluster

import "time"

// View is a cluster and its jobs at one instant, as schedulers read them. It includes the effect of the open transaction's
// operations so far. None of its methods changes the cluster. What the methods return belongs to the View and is valid until the
// next change. A View is not safe for concurrent use, as some methods use its scratch memory.
//
// Several Views may show one cluster to schedulers that believe different things: see Txn.As.
type View struct {
	*core
	believed Beliefs
}

// core is a cluster and its jobs, which all its Views share.
type core struct {
	now     time.Duration
	servers []server
	index   index
	jobs    []job
	known   int // the ids of submitted jobs are below this
	settled int // jobs below this id are done and never change again
	lineage
	types    []string         // GPU types, by bit
	tenants  []tenant         // tenants with a quota
	tenantAt map[string]int32 // indices into tenants, by name; copies share it
	profile  Profile          // nil: the driver tells no speeds
	forbids  bool             // Spec.NoPreemption
	clock    time.Duration    // see Clock
	lending
	racks    [][]ServerID // by rack: its servers, ascending; copies share it
	crossing [][]JobID    // by rack: the running jobs that use the rack's uplink, ascending
	nics     []int64      // by rack: the share of the servers' NICs that belongs to these jobs, in nicUnit
	pending  []JobID
	running  []JobID
	txn      transaction
	base     Txn         // the transaction with the View of the State
	told     []Event     // memory for the events of a copy's transaction
	freedP   []Placement // memory of finished jobs, for reuse
	freedG   [][]int32
	stamp    []int32 // marks servers during BestFit and admit
	stampNow int32
}

// Course returns the job's last progress record, as SetProgress or a later operation set it: the work done at the time from,
// which may be past or future, and the job's rate from then on.
func (s *View) Course(id JobID) (done, from time.Duration, rate float64) {
	j := &s.jobs[id]
	return j.done, j.since, j.rate
}

// NoPreemption reports whether the cluster forbids to stop, move or resize jobs that run: see Txn.
func (s *View) NoPreemption() bool { return s.forbids }

// Clock returns the time of day when Now was 0. It is 0 where nobody knows.
func (s *View) Clock() time.Duration { return s.clock }

// Now returns the current time.
func (s *View) Now() time.Duration { return s.now }

// Servers returns the number of servers. Their ids are below it.
func (s *View) Servers() int { return len(s.servers) }

// MostGPUs returns the number of GPUs of the largest server.
func (s *View) MostGPUs() int32 { return int32(len(s.index.of) - 1) }

// Server returns the specification of a server.
func (s *View) Server(id ServerID) *ServerSpec { return &s.servers[id].spec }

// Open reports whether training jobs may run on the server.
func (s *View) Open(id ServerID) bool { return s.servers[id].open() }

// OnLoan reports whether the server is lent to the training pool.
func (s *View) OnLoan(id ServerID) bool { return s.servers[id].onLoan }

// FreeGPUs returns the number of the server's GPUs that no job uses.
func (s *View) FreeGPUs(id ServerID) int32 { return s.servers[id].freeWhole }

// FreeCPU returns the server's unused thousandths of cores.
func (s *View) FreeCPU(id ServerID) int64 { return s.servers[id].freeCPU }

// FreeMem returns the server's unused MiB.
func (s *View) FreeMem(id ServerID) int64 { return s.servers[id].freeMem }

// GPUUse returns, for each of the server's GPUs, the thousandths in use. Read only.
func (s *View) GPUUse(id ServerID) []int16 { return s.servers[id].used }

// Residents returns the jobs with a piece on the server, ascending. Read only; valid until the next change.
func (s *View) Residents(id ServerID) []JobID { return s.servers[id].residents }

// Fits returns how many more workers of the job the server can take now, each on its own GPU and each holding the amount a. It is
// 0 if the job does not accept the server or its GPU type, and it respects the quota of the job's tenant.
func (s *View) Fits(id ServerID, job JobID, a Amount) int32 {
	return s.room(id, &s.jobs[job], a)
}

// FreeTotal returns the number of GPUs that no job uses, on the servers open to training jobs.
func (s *View) FreeTotal() int64 { return s.index.free }

// Pending returns the waiting jobs. Their order is arbitrary but reproducible. Read only; valid until the next change.
func (s *View) Pending() []JobID { return s.pending }

// Running returns the running jobs. Their order is arbitrary but reproducible. Read only; valid until the next change.
func (s *View) Running() []JobID { return s.running }

// Jobs returns an upper bound for job ids: those of all jobs that may ever be submitted are below it.
func (s *View) Jobs() int { return len(s.jobs) }

// Phase returns the job's phase.
func (s *View) Phase(id JobID) Phase { return s.jobs[id].phase }

// Spec returns the job's specification, nil before its submission. Read only.
func (s *View) Spec(id JobID) *JobSpec { return s.jobs[id].spec }

// Starts returns how often the job was placed from the queue.
func (s *View) Starts(id JobID) int { return int(s.jobs[id].starts) }

// Changes returns how often the job was stopped, moved and resized, also at the instant of its start.
func (s *View) Changes(id JobID) (stops, moves, resizes int) {
	j := &s.jobs[id]
	stops = int(j.starts)
	if stops > 0 && j.phase != Pending {
		stops--
	}
	return stops, int(j.moves), int(j.resizes)
}

// Lost returns the sum, over the job's stops, of the fraction of its work that it lost.
func (s *View) Lost(id JobID) float64 { return s.jobs[id].lost }

// Fresh reports whether the job was placed for the first time at this very instant, even if it was stopped or moved since.
func (s *View) Fresh(id JobID) bool {
	j := &s.jobs[id]
	return j.starts > 0 && j.first == s.now
}

// Placement returns the placement of a running job. Read only; valid until the next change.
func (s *View) Placement(id JobID) Placement { return s.jobs[id].pieces }

// GPUs returns the indices of the GPUs that a running job holds, piece after piece. Read only; valid until the next change.
func (s *View) GPUs(id JobID) []int32 { return s.jobs[id].gpus }

// GPUsOn returns the indices of the GPUs that a running job holds on one server, nil if none. Read only; valid until the next
// change.
func (s *View) GPUsOn(id JobID, server ServerID) []int32 {
	j := &s.jobs[id]
	first := int32(0)
	for i := range j.pieces {
		last := first + j.pieces[i].Workers
		if j.pieces[i].Server == server {
			return j.gpus[first:last]
		}
		first = last
	}
	return nil
}

// Progress returns the work that the job has done so far. If the driver tells no speeds, that is the time for which the job has
// run, corrected by what Txn.SetRates did.
func (s *View) Progress(id JobID) time.Duration {
	return s.progressOf(&s.jobs[id])
}

func (s *View) progressOf(j *job) time.Duration {
	if j.phase != Running || s.now <= j.since {
		return j.done
	}
	return j.done + Scale(s.now-j.since, j.rate)
}

// Rate returns the running job's work per unit of time, 0 while the job restarts. If the driver tells no speeds, it is 1, or what
// Txn.SetRates set.
func (s *View) Rate(id JobID) float64 {
	j := &s.jobs[id]
	if j.phase != Running || s.now < j.since {
		return 0
	}
	return j.rate
}

// PlannedRate returns the running job's work per unit of time, also while it restarts and makes no progress yet.
func (s *View) PlannedRate(id JobID) float64 { return s.jobs[id].rate }

// Since returns the time from which the running job progresses at its present rate. It is in the future while the job restarts.
func (s *View) Since(id JobID) time.Duration { return s.jobs[id].since }

// Remaining returns how much work the job still has to do: its estimate minus the work done, or what is believed instead. ok
// is false if nothing is known. If the job has outlived its estimate, the work left grows with the work done (see total).
func (s *View) Remaining(id JobID) (left time.Duration, ok bool) {
	return max(s.total(id)-s.Progress(id), 0), s.Knows(id)
}

// ExpectedFinish returns the time at which the running job will have done, at its present rate, the work that Remaining predicts.
// It changes only if the rate changes, or if the job outlives its estimate, or at AsksAgain. It is Never if the rate is too low
// to represent the time, and of no meaning if nothing is known of the job.
func (s *View) ExpectedFinish(id JobID) time.Duration {
	return s.jobs[id].reaches(s.total(id))
}

// Attained returns the GPU-time that the job has held so far.
func (s *View) Attained(id JobID) time.Duration {
	j := &s.jobs[id]
	if j.phase != Running {
		return j.served
	}
	return j.served + gpuTime(j.pieces, s.now-j.heldSince)
}
