package cluster

import "time"

// View is a cluster and its jobs at one instant as schedulers read them: what a Txn's operations have done so far is in it. It
// has no method that changes anything. What it returns belongs to it and is valid until the next change. Not safe for
// concurrent use, as some methods use its own scratch memory.
type View struct {
	now     time.Duration
	servers []server
	index   index
	jobs    []job
	known   int // ids of submitted jobs are below
	settled int // jobs below are done and change no more
	lineage
	types    []string         // of GPUs, by bit
	tenants  []tenant         // those with a quota
	tenantAt map[string]int32 // places in tenants; shared by copies
	profile  Profile
	lending
	crossing [][]JobID // by rack: the running jobs that use its uplink, ascending
	nics     []int64   // by rack: what these have of its servers' NICs, in nicUnit
	pending  []JobID
	running  []JobID
	txn      Txn
	told     []Event     // storage of what a copy's transaction tells
	freedP   []Placement // storage of finished jobs, reused
	freedG   [][]int32
	stamp    []int32 // marks servers during BestFit
	stampNow int32
}

// Course returns what SetProgress stated last of a job, or what an operation made of it since: the work that it had done at
// the instant from, which may be past or to come, and its rate while it runs.
func (s *View) Course(id JobID) (done, from time.Duration, rate float64) {
	j := &s.jobs[id]
	return j.done, j.since, j.rate
}

// Now is the instant.
func (s *View) Now() time.Duration { return s.now }

// Servers counts the servers; their ids are below it.
func (s *View) Servers() int { return len(s.servers) }

// MostGPUs is the number of GPUs of the largest server.
func (s *View) MostGPUs() int32 { return int32(len(s.index.of) - 1) }

// Server returns what a server is.
func (s *View) Server(id ServerID) *ServerSpec { return &s.servers[id].spec }

// Open reports whether training jobs may run on the server.
func (s *View) Open(id ServerID) bool { return s.servers[id].open() }

// OnLoan reports whether the server is lent to the training pool.
func (s *View) OnLoan(id ServerID) bool { return s.servers[id].onLoan }

// FreeGPUs counts the server's GPUs that nobody uses.
func (s *View) FreeGPUs(id ServerID) int32 { return s.servers[id].freeWhole }

// FreeCPU returns the server's unused thousandths of cores.
func (s *View) FreeCPU(id ServerID) int64 { return s.servers[id].freeCPU }

// FreeMem returns the server's unused MiB.
func (s *View) FreeMem(id ServerID) int64 { return s.servers[id].freeMem }

// GPUUse returns the thousandths in use of each of the server's GPUs. Read only.
func (s *View) GPUUse(id ServerID) []int16 { return s.servers[id].used }

// Residents returns the jobs with a piece on the server, ascending. Read only; valid until the next change.
func (s *View) Residents(id ServerID) []JobID { return s.servers[id].residents }

// Fits counts the workers of the job that the server could take now beside what the job holds already, each on a GPU of its
// own and each holding the amount: 0 on GPUs that will not do for the job, and never beyond its tenant's quota.
func (s *View) Fits(id ServerID, job JobID, a Amount) int32 {
	return s.room(id, &s.jobs[job], a)
}

// FreeTotal counts the GPUs that nobody uses on the servers open to training jobs.
func (s *View) FreeTotal() int64 { return s.index.free }

// Pending returns the waiting jobs in no meaningful but a reproducible order. Read only; valid until the next change.
func (s *View) Pending() []JobID { return s.pending }

// Running returns the running jobs in no meaningful but a reproducible order. Read only; valid until the next change.
func (s *View) Running() []JobID { return s.running }

// Jobs bounds the ids of jobs that may ever be submitted.
func (s *View) Jobs() int { return len(s.jobs) }

// Phase returns where the job stands.
func (s *View) Phase(id JobID) Phase { return s.jobs[id].phase }

// Spec returns what may be known of the job, nil before its submission. Read only.
func (s *View) Spec(id JobID) *JobSpec { return s.jobs[id].spec }

// Starts counts how often the job was placed.
func (s *View) Starts(id JobID) int { return int(s.jobs[id].starts) }

// Fresh reports whether the job was first placed at this very instant, also if it was stopped or moved since.
func (s *View) Fresh(id JobID) bool {
	j := &s.jobs[id]
	return j.starts > 0 && j.first == s.now
}

// Placement returns where a running job runs. Read only; valid until the next change.
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

// Progress returns the work that the job has done by now.
func (s *View) Progress(id JobID) time.Duration {
	return s.progressOf(&s.jobs[id])
}

func (s *View) progressOf(j *job) time.Duration {
	if j.phase != Running || s.now <= j.since {
		return j.done
	}
	return j.done + scale(s.now-j.since, j.rate)
}

// Rate returns the running job's work per time, 0 while it restarts.
func (s *View) Rate(id JobID) float64 {
	j := &s.jobs[id]
	if j.phase != Running || s.now < j.since {
		return 0
	}
	return j.rate
}

// PlannedRate returns the running job's work per time, also while it restarts and does not progress yet.
func (s *View) PlannedRate(id JobID) float64 { return s.jobs[id].rate }

// Since returns the instant from which on the running job progresses at its present rate; it lies ahead while it restarts.
func (s *View) Since(id JobID) time.Duration { return s.jobs[id].since }

// Remaining returns the estimate less the work done, at least 0; ok is false where the scenario grants no estimate.
func (s *View) Remaining(id JobID) (left time.Duration, ok bool) {
	e := s.jobs[id].spec.Estimate
	return max(e-s.Progress(id), 0), e > 0
}

// ExpectedFinish returns when the running job will have done its estimated work at its present rate: a fixed instant while
// the rate does not change, in the past for a job that outlives its estimate, and Never for one too slow for times to say.
func (s *View) ExpectedFinish(id JobID) time.Duration {
	j := &s.jobs[id]
	left := j.spec.Estimate - j.done
	if float64(left)/j.rate > float64(Never/2) {
		return Never
	}
	return j.since + scale(left, 1/j.rate)
}

// Attained returns the GPU-time that the job has held by now.
func (s *View) Attained(id JobID) time.Duration {
	j := &s.jobs[id]
	if j.phase != Running {
		return j.served
	}
	return j.served + gpuTime(j.pieces, s.now-j.heldSince)
}
