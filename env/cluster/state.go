package cluster

import (
	"fmt"
	"slices"
	"time"
)

// Phase is where a job stands.
type Phase uint8

// The phases of a job. A job that has not been submitted is unknown to everyone.
const (
	Unsubmitted Phase = iota
	Pending
	Running
	Done
)

// job is what changes about a job.
type job struct {
	spec      *JobSpec
	phase     Phase
	kinds     uint16        // bits of the GPU types that will do
	starts    int32         // how often it was placed after waiting
	first     time.Duration // when it was first placed, if starts > 0; long ago if that was before it was restored
	at        int32         // its place in State.pending or State.running
	tenant    int32         // into State.tenants, -1 without a quota
	pieces    Placement     // while running
	gpus      []int32       // GPU indices, piece after piece
	done      time.Duration // work done until since
	since     time.Duration // progress counts from here on
	rate      float64       // work per time while running
	served    time.Duration // GPU-time held until heldSince
	heldSince time.Duration
}

// State is a cluster and its jobs at one instant. A driver (the simulator, a production adapter) moves it through time with
// Advance, Submit, SetProgress and Finish; only a Txn changes placements. Not safe for concurrent use.
type State struct {
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

// lineage lets a copy be copied into again without the jobs that were done by then.
type lineage struct {
	life *byte // another for every state that is made or copied into
	of   *byte // the life of which this is a copy
	same int   // jobs below were settled then
}

// NewState returns an empty cluster that expects jobs with ids below jobs.
func NewState(spec Spec, jobs int) (*State, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	most, racks := int32(0), int32(0)
	for i := range spec.Servers {
		most, racks = max(most, spec.Servers[i].GPUs), max(racks, spec.Servers[i].Rack)
	}
	s := &State{
		servers: make([]server, len(spec.Servers)), index: newIndex(len(spec.Servers), int(most)), types: spec.Types(),
		jobs: make([]job, jobs), stamp: make([]int32, len(spec.Servers)),
		lineage: lineage{life: new(byte)},
	}
	s.tenants, s.tenantAt = newTenants(spec.Quotas)
	if racks > 0 {
		s.crossing, s.nics = make([][]JobID, racks+1), make([]int64, racks+1)
	}
	for i := range spec.Servers {
		v := &spec.Servers[i]
		s.servers[i] = newServer(*v, 1<<slices.Index(s.types, v.GPUType), spec.PerGPU)
		if v.Pool == Inference {
			s.offer++
		}
		if s.servers[i].open() {
			s.index.add(ServerID(i), spec.Servers[i].GPUs)
		}
	}
	s.txn.s = s
	return s, nil
}

// Advance moves the clock, which never goes back.
func (s *State) Advance(now time.Duration) {
	if now < s.now {
		panic(fmt.Sprintf("cluster: advance from %v back to %v", s.now, now))
	}
	s.now = now
}

// Submit makes a job known and pending. The state keeps the pointer and never writes through it.
func (s *State) Submit(id JobID, spec *JobSpec) {
	j := &s.jobs[id]
	if j.phase != Unsubmitted {
		panic(fmt.Sprintf("cluster: submit job %d twice", id))
	}
	j.spec, j.phase, j.kinds, j.tenant = spec, Pending, s.kindsOf(spec), s.tenantOf(spec)
	s.known = max(s.known, int(id)+1)
	s.enlist(&s.pending, id)
}

// Revise replaces what may be known of a submitted job that is not done. What a running job holds stays as it is. As Submit,
// the state keeps the pointer. The tenant must stay the same.
func (s *State) Revise(id JobID, spec *JobSpec) {
	j := &s.jobs[id]
	if j.phase != Pending && j.phase != Running || j.spec.Tenant != spec.Tenant {
		panic(fmt.Sprintf("cluster: revise job %d, which is %v, of tenant %q", id, j.phase, spec.Tenant))
	}
	j.spec, j.kinds = spec, s.kindsOf(spec)
}

// Withdraw ends a pending job that will not run any more.
func (s *State) Withdraw(id JobID) {
	j := &s.jobs[id]
	if j.phase != Pending {
		panic(fmt.Sprintf("cluster: withdraw job %d, which does not wait", id))
	}
	s.delist(&s.pending, j.at)
	j.phase = Done
	s.settle()
}

// SetProgress states that the running job does rate units of work per unit of time from the instant from on (now or later)
// and has done the given work by then.
func (s *State) SetProgress(id JobID, done, from time.Duration, rate float64) {
	j := &s.jobs[id]
	j.done, j.since, j.rate = done, from, rate
}

// Course returns what SetProgress stated last of a job, or what an operation made of it since: the work that it had done at
// the instant from, which may be past or to come, and its rate while it runs.
func (s *State) Course(id JobID) (done, from time.Duration, rate float64) {
	j := &s.jobs[id]
	return j.done, j.since, j.rate
}

// Finish ends a running job and frees what it held.
func (s *State) Finish(id JobID) {
	j := &s.jobs[id]
	if j.phase != Running {
		panic(fmt.Sprintf("cluster: finish job %d, which does not run", id))
	}
	j.done = s.Progress(id)
	s.vacate(id)
	s.delist(&s.running, j.at)
	s.recycle(j.pieces, j.gpus)
	j.pieces, j.gpus, j.phase = nil, nil, Done
	s.settle()
}

func (s *State) settle() {
	for s.settled < s.known && s.jobs[s.settled].phase == Done {
		s.settled++
	}
}

// Now is the instant.
func (s *State) Now() time.Duration { return s.now }

// Servers counts the servers; their ids are below it.
func (s *State) Servers() int { return len(s.servers) }

// MostGPUs is the number of GPUs of the largest server.
func (s *State) MostGPUs() int32 { return int32(len(s.index.of) - 1) }

// Server returns what a server is.
func (s *State) Server(id ServerID) *ServerSpec { return &s.servers[id].spec }

// Open reports whether training jobs may run on the server.
func (s *State) Open(id ServerID) bool { return s.servers[id].open() }

// OnLoan reports whether the server is lent to the training pool.
func (s *State) OnLoan(id ServerID) bool { return s.servers[id].onLoan }

// FreeGPUs counts the server's GPUs that nobody uses.
func (s *State) FreeGPUs(id ServerID) int32 { return s.servers[id].freeWhole }

// FreeCPU returns the server's unused thousandths of cores.
func (s *State) FreeCPU(id ServerID) int64 { return s.servers[id].freeCPU }

// FreeMem returns the server's unused MiB.
func (s *State) FreeMem(id ServerID) int64 { return s.servers[id].freeMem }

// GPUUse returns the thousandths in use of each of the server's GPUs. Read only.
func (s *State) GPUUse(id ServerID) []int16 { return s.servers[id].used }

// Residents returns the jobs with a piece on the server, ascending. Read only; valid until the next change.
func (s *State) Residents(id ServerID) []JobID { return s.servers[id].residents }

// Fits counts the workers of the job that the server could take now beside what the job holds already, each on a GPU of its
// own and each holding the amount: 0 on GPUs that will not do for the job, and never beyond its tenant's quota.
func (s *State) Fits(id ServerID, job JobID, a Amount) int32 {
	return s.room(id, &s.jobs[job], a)
}

// FreeTotal counts the GPUs that nobody uses on the servers open to training jobs.
func (s *State) FreeTotal() int64 { return s.index.free }

// Pending returns the waiting jobs in no meaningful but a reproducible order. Read only; valid until the next change.
func (s *State) Pending() []JobID { return s.pending }

// Running returns the running jobs in no meaningful but a reproducible order. Read only; valid until the next change.
func (s *State) Running() []JobID { return s.running }

// Jobs bounds the ids of jobs that may ever be submitted.
func (s *State) Jobs() int { return len(s.jobs) }

// Phase returns where the job stands.
func (s *State) Phase(id JobID) Phase { return s.jobs[id].phase }

// Spec returns what may be known of the job, nil before its submission. Read only.
func (s *State) Spec(id JobID) *JobSpec { return s.jobs[id].spec }

// Starts counts how often the job was placed.
func (s *State) Starts(id JobID) int { return int(s.jobs[id].starts) }

// Fresh reports whether the job was first placed at this very instant, also if it was stopped or moved since.
func (s *State) Fresh(id JobID) bool {
	j := &s.jobs[id]
	return j.starts > 0 && j.first == s.now
}

// Placement returns where a running job runs. Read only; valid until the next change.
func (s *State) Placement(id JobID) Placement { return s.jobs[id].pieces }

// GPUs returns the indices of the GPUs that a running job holds, piece after piece. Read only; valid until the next change.
func (s *State) GPUs(id JobID) []int32 { return s.jobs[id].gpus }

// GPUsOn returns the indices of the GPUs that a running job holds on one server, nil if none. Read only; valid until the next
// change.
func (s *State) GPUsOn(id JobID, server ServerID) []int32 {
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
func (s *State) Progress(id JobID) time.Duration {
	return s.progressOf(&s.jobs[id])
}

func (s *State) progressOf(j *job) time.Duration {
	if j.phase != Running || s.now <= j.since {
		return j.done
	}
	return j.done + scale(s.now-j.since, j.rate)
}

// Rate returns the running job's work per time, 0 while it restarts.
func (s *State) Rate(id JobID) float64 {
	j := &s.jobs[id]
	if j.phase != Running || s.now < j.since {
		return 0
	}
	return j.rate
}

// PlannedRate returns the running job's work per time, also while it restarts and does not progress yet.
func (s *State) PlannedRate(id JobID) float64 { return s.jobs[id].rate }

// Since returns the instant from which on the running job progresses at its present rate; it lies ahead while it restarts.
func (s *State) Since(id JobID) time.Duration { return s.jobs[id].since }

// Remaining returns the estimate less the work done, at least 0; ok is false where the scenario grants no estimate.
func (s *State) Remaining(id JobID) (left time.Duration, ok bool) {
	e := s.jobs[id].spec.Estimate
	return max(e-s.Progress(id), 0), e > 0
}

// ExpectedFinish returns when the running job will have done its estimated work at its present rate: a fixed instant while
// the rate does not change, in the past for a job that outlives its estimate, and Never for one too slow for times to say.
func (s *State) ExpectedFinish(id JobID) time.Duration {
	j := &s.jobs[id]
	left := j.spec.Estimate - j.done
	if float64(left)/j.rate > float64(Never/2) {
		return Never
	}
	return j.since + scale(left, 1/j.rate)
}

// Attained returns the GPU-time that the job has held by now.
func (s *State) Attained(id JobID) time.Duration {
	j := &s.jobs[id]
	if j.phase != Running {
		return j.served
	}
	return j.served + gpuTime(j.pieces, s.now-j.heldSince)
}

// scale is exact where the rate is 1.
func scale(d time.Duration, rate float64) time.Duration {
	if rate == 1 {
		return d
	}
	return time.Duration(float64(d)*rate + 0.5)
}

func gpuTime(p Placement, d time.Duration) time.Duration {
	t := time.Duration(0)
	for i := range p {
		if p[i].GPUMilli == WholeGPU {
			t += d * time.Duration(p[i].Workers)
		} else {
			milli := time.Duration(p[i].Workers) * time.Duration(p[i].GPUMilli)
			t += d/WholeGPU*milli + d%WholeGPU*milli/WholeGPU
		}
	}
	return t
}

// occupy puts a job on servers; with gpus it restores the very GPUs, without it chooses them.
func (s *State) occupy(id JobID, p Placement, gpus []int32) {
	j := &s.jobs[id]
	choose := gpus == nil
	if choose {
		gpus = s.gpuStorage()
	}
	first := 0
	for i := range p {
		v := &s.servers[p[i].Server]
		s.shelve(p[i].Server)
		if choose {
			gpus = v.take(id, &p[i], gpus)
		} else {
			v.retake(id, &p[i], gpus[first:first+int(p[i].Workers)])
			first += int(p[i].Workers)
		}
		s.unshelve(p[i].Server)
	}
	j.pieces, j.gpus, j.heldSince = p, gpus, s.now
	s.account(id, p, 1)
}

// vacate takes a job off its servers; the job keeps the slices, for their owner to reuse or restore.
func (s *State) vacate(id JobID) {
	j := &s.jobs[id]
	j.served += gpuTime(j.pieces, s.now-j.heldSince)
	s.account(id, j.pieces, -1)
	first := 0
	for i := range j.pieces {
		p := &j.pieces[i]
		s.shelve(p.Server)
		s.servers[p.Server].release(id, p, j.gpus[first:first+int(p.Workers)])
		first += int(p.Workers)
		s.unshelve(p.Server)
	}
}

// shelve takes a server out of the index before a change, unshelve puts it back after.
func (s *State) shelve(id ServerID) {
	if v := &s.servers[id]; v.open() {
		s.index.remove(id, v.freeWhole)
	}
}

func (s *State) unshelve(id ServerID) {
	if v := &s.servers[id]; v.open() {
		s.index.add(id, v.freeWhole)
	}
}

func (s *State) enlist(list *[]JobID, id JobID) {
	s.jobs[id].at = int32(len(*list))
	*list = append(*list, id)
}

// delist removes the job at a place by moving the last one there.
func (s *State) delist(list *[]JobID, at int32) {
	l := *list
	last := len(l) - 1
	l[at] = l[last]
	s.jobs[l[at]].at = at
	*list = l[:last]
}

// relist undoes delist.
func (s *State) relist(list *[]JobID, id JobID, at int32) {
	l := append(*list, id)
	if last := int32(len(l) - 1); at != last {
		l[last], l[at] = l[at], id
		s.jobs[l[last]].at = last
	}
	s.jobs[id].at = at
	*list = l
}

func (s *State) pieceStorage(p Placement) Placement {
	if n := len(s.freedP); n > 0 {
		own := s.freedP[n-1]
		s.freedP = s.freedP[:n-1]
		return append(own[:0], p...)
	}
	return slices.Clone(p)
}

func (s *State) gpuStorage() []int32 {
	if n := len(s.freedG); n > 0 {
		own := s.freedG[n-1]
		s.freedG = s.freedG[:n-1]
		return own[:0]
	}
	return make([]int32, 0, 1)
}

func (s *State) recycle(p Placement, gpus []int32) {
	s.freedP = append(s.freedP, p)
	s.freedG = append(s.freedG, gpus)
}
