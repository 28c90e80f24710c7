package cluster

import (
	"fmt"
	"slices"
	"time"
)

// Phase is the stage of a job's life.
type Phase uint8

// The phases of a job. No scheduler sees a job before it is submitted.
const (
	Unsubmitted Phase = iota
	Pending
	Running
	Done
)

// job is the state of a job, that is, all about it that changes, and its specification.
type job struct {
	spec      *JobSpec
	phase     Phase
	kinds     uint16        // bits of the GPU types that the job accepts
	starts    int32         // how often it was placed from the queue
	moves     int32         // how often it was moved while it ran
	resizes   int32         // how often it was resized while it ran
	lost      float64       // the sum over its stops of the fraction of its work that it lost
	first     time.Duration // when it was first placed, if starts > 0; longAgo if that was before the job was restored
	at        int32         // its index in View.pending or View.running
	tenant    int32         // index into View.tenants, -1 without a quota
	pieces    Placement     // while running
	gpus      []int32       // GPU indices, piece after piece
	done      time.Duration // work done at the time since
	since     time.Duration // the job progresses from this time on
	reached   time.Duration // the most work ever done, if the job has lost some since; see View.Age
	rate      float64       // work per time while running
	served    time.Duration // GPU-time held until heldSince
	heldSince time.Duration
	readings  *[]Reading // nil if there are none; never written through, as copies of the job share it
}

// State is the full state of a cluster, for the driver that owns it: a simulator or a production adapter. The driver moves time
// and jobs with Advance, Submit, SetProgress and Finish; only a Txn changes placements. All others read its View. Not safe for
// concurrent use.
type State struct{ View }

// lineage lets CopyTo skip jobs that were already done when it last copied the same state into the same copy.
type lineage struct {
	life *byte // unique to each state, and new after each copy into it
	of   *byte // the life of the state from which this was copied
	same int   // jobs below this id were settled at that copy
}

// NewState returns an empty cluster. The parameter jobs bounds the ids of the jobs that it expects.
func NewState(spec Spec, jobs int) (*State, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	most, racks := int32(0), int32(0)
	for i := range spec.Servers {
		most, racks = max(most, spec.Servers[i].GPUs), max(racks, spec.Servers[i].Rack)
	}
	s := &State{View{core: &core{
		servers: make([]server, len(spec.Servers)), index: newIndex(len(spec.Servers), int(most)), types: spec.Types(),
		jobs: make([]job, jobs), stamp: make([]int32, len(spec.Servers)),
		lineage: lineage{life: new(byte)}, forbids: spec.NoPreemption,
	}}}
	s.tenants, s.tenantAt = newTenants(spec.Quotas)
	if racks > 0 {
		s.crossing, s.nics = make([][]JobID, racks+1), make([]int64, racks+1)
	}
	s.racks = make([][]ServerID, racks+1)
	for i := range spec.Servers {
		v := &spec.Servers[i]
		s.servers[i] = newServer(*v, 1<<slices.Index(s.types, v.GPUType), spec.PerGPU)
		s.racks[v.Rack] = append(s.racks[v.Rack], ServerID(i))
		if v.Pool == Inference {
			s.offer++
		}
		if s.servers[i].open() {
			s.index.add(ServerID(i), spec.Servers[i].GPUs)
		}
	}
	s.open()
	return s, nil
}

// open connects the state with its transaction.
func (s *State) open() {
	s.txn.s = s
	s.base = Txn{&s.txn, &s.View}
}

// SetClock says what time of day it is when the state's time is 0.
func (s *State) SetClock(clock time.Duration) { s.clock = clock }

// Advance sets the clock to now. It panics if that is in the past.
func (s *State) Advance(now time.Duration) {
	if now < s.now {
		panic(fmt.Sprintf("cluster: advance from %v back to %v", s.now, now))
	}
	s.now = now
}

// Submit makes a job known and pending. The state keeps the pointer spec and never writes through it.
func (s *State) Submit(id JobID, spec *JobSpec) {
	j := &s.jobs[id]
	if j.phase != Unsubmitted {
		panic(fmt.Sprintf("cluster: submit job %d twice", id))
	}
	j.spec, j.phase, j.kinds, j.tenant = spec, Pending, s.kindsOf(spec), s.tenantOf(spec)
	j.served = spec.Ran / WholeGPU * time.Duration(spec.GPUMilli())
	s.known = max(s.known, int(id)+1)
	s.enlist(&s.pending, id)
}

// Revise replaces the specification of a pending or running job. What a running job holds does not change. The state keeps the
// pointer, as in Submit. The tenant must stay the same.
func (s *State) Revise(id JobID, spec *JobSpec) {
	j := &s.jobs[id]
	if j.phase != Pending && j.phase != Running || j.spec.Tenant != spec.Tenant {
		panic(fmt.Sprintf("cluster: revise job %d, which is %v, of tenant %q", id, j.phase, spec.Tenant))
	}
	j.spec, j.kinds = spec, s.kindsOf(spec)
}

// Withdraw ends a pending job that will never run.
func (s *State) Withdraw(id JobID) {
	j := &s.jobs[id]
	if j.phase != Pending {
		panic(fmt.Sprintf("cluster: withdraw job %d, which does not wait", id))
	}
	s.delist(&s.pending, j.at)
	j.phase = Done
	s.settle()
}

// SetProgress sets the progress of a running job. At time from, now or later, the job has done the given work; after that it
// works at the given rate (work per unit of time).
func (s *State) SetProgress(id JobID, done, from time.Duration, rate float64) {
	j := &s.jobs[id]
	if was := s.progressOf(j); was > done {
		j.reached = max(j.reached, was)
		if j.phase == Pending {
			j.lost += 1 - float64(done)/float64(was)
		}
	}
	j.done, j.since, j.rate = done, from, rate
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

// Scale returns the work that is done in the time d at a rate, without rounding if the rate is 1.
func Scale(d time.Duration, rate float64) time.Duration {
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

// occupy puts a job on servers. If gpus is given, the job gets exactly these GPUs; if gpus is nil, occupy chooses them.
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

// vacate takes a job off its servers. The job keeps the slices of its placement, so that the caller can reuse or restore them.
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

// shelve takes a server out of the index before a change to it; unshelve puts it back afterwards.
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

// delist removes the job at an index of the list by moving the last job there.
func (s *State) delist(list *[]JobID, at int32) {
	l := *list
	last := len(l) - 1
	l[at] = l[last]
	s.jobs[l[at]].at = at
	*list = l[:last]
}

// relist reverses delist.
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
