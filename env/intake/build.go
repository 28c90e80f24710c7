package intake

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
)

// server is a server, whether it takes no new jobs, and how many of its GPUs are in use. usedGPUs are some of those, as far as
// the cluster's tools report them.
type server struct {
	cluster.ServerSpec
	closed   bool
	used     int32
	usedGPUs []int32
}

// job is a job of the cluster. It runs if it has pieces.
type job struct {
	cluster.JobSpec // without Submit
	submit, start   time.Time
	pieces          []piece
	api             string // how its gang is named, to distinguish it from others of the same name
}

// piece is what a job holds on one server. gpus is nil if the cluster's tools do not report the indices.
type piece struct {
	cluster.Piece
	gpus   []int32
	shared []string // the names of its GPUs, if other jobs may have a part of them; one for each worker
}

const (
	longestAge  = 50 * 365 * 24 * time.Hour // of a job
	longestHeld = math.MaxInt64 / 4         // GPU-time of a job, 73 GPU-years: no sum overflows
)

// Clock says when the input was printed, and the instant from which the State counts times: Zero, which must not be later than
// the submission of any job, or, without it, the submission of the oldest job. If several snapshots are to be compared, as by a
// server that learns from one to the next, all need the same Zero.
type Clock struct{ Now, Zero time.Time }

// build returns the State of the servers and jobs. It contains the jobs in the order of their submission.
func build(servers []server, jobs []job, quotas []cluster.Quota, c Clock, told *notes) (*cluster.State, error) {
	now := c.Now
	makeRoom(servers, jobs)
	spec := cluster.Spec{Quotas: quotas}
	for i := range servers {
		spec.Servers = append(spec.Servers, servers[i].ServerSpec)
	}
	zero := now
	for i := range jobs {
		zero = earlier(zero, jobs[i].settle(now, told))
	}
	if !c.Zero.IsZero() {
		if c.Zero.After(zero) || zero.Sub(c.Zero) > longestAge {
			return nil, fmt.Errorf("times count from %s, but the oldest job was submitted, or the input printed, at %s: want an instant"+
				" before, by 50 years at most", c.Zero.UTC().Format(time.RFC3339), zero.UTC().Format(time.RFC3339))
		}
		zero = c.Zero
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Or(a.submit.Compare(b.submit), cmp.Compare(a.Name, b.Name)) })
	named := map[string]bool{}
	jobs = slices.DeleteFunc(jobs, func(j job) bool { return !j.sound(named, told) })
	s, err := cluster.NewState(spec, len(jobs))
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		j := &jobs[i]
		j.Submit = j.submit.Sub(zero)
		if len(j.pieces) == 0 {
			s.Submit(cluster.JobID(i), &j.JobSpec)
		}
	}
	order := running(jobs, servers, told)
	slices.SortStableFunc(order, func(a, b cluster.JobID) int {
		return cmp.Compare(jobs[a].from(zero, now), jobs[b].from(zero, now))
	})
	for _, id := range order {
		jobs[id].restore(s, id, zero, now, told)
	}
	s.Advance(now.Sub(zero))
	for i := range servers {
		servers[i].block(s, cluster.ServerID(i))
		if servers[i].closed {
			shut(s, cluster.ServerID(i), told)
		}
	}
	return s, nil
}

// block takes GPUs out of service that are in use although no job in the input holds them.
func (v *server) block(s *cluster.State, id cluster.ServerID) {
	use := s.GPUUse(id)
	left := v.used
	for _, milli := range use {
		left -= int32(min(milli, 1))
	}
	free := slices.Clone(v.usedGPUs)
	for g := range v.GPUs {
		free = append(free, g)
	}
	for _, g := range free {
		if left > 0 && g < v.GPUs && use[g] == 0 && !s.Failed(id, g) {
			s.Fail(id, g, nil)
			left--
		}
	}
}

// makeRoom gives every server at least the CPU and memory that its jobs hold. They may hold more than it has because amounts for
// each GPU are rounded up, and where a cluster oversubscribes its cores.
func makeRoom(servers []server, jobs []job) {
	cpu, mem := make([]int64, len(servers)), make([]int64, len(servers))
	for i := range jobs {
		for _, p := range jobs[i].pieces {
			cpu[p.Server] += int64(p.Workers) * int64(p.CPUMilli)
			mem[p.Server] += int64(p.Workers) * int64(p.MemMiB)
		}
	}
	for i := range servers {
		v := &servers[i]
		v.CPUMilli, v.MemMiB = max(v.CPUMilli, min(cpu[i], cluster.Unlimited)), max(v.MemMiB, min(mem[i], cluster.Unlimited))
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// settle limits the job's times to the range that a State can contain, and returns its submission.
func (j *job) settle(now time.Time, told *notes) time.Time {
	first := now.Add(-longestAge)
	if j.submit.Before(first) || len(j.pieces) > 0 && j.start.Before(first) {
		told.add("jobs older than 50 years, or without a time: taken to be of that age", j.Name)
	}
	if j.submit.After(now) || j.start.After(now) {
		told.add("jobs submitted or started after the snapshot: taken to be so at its time", j.Name)
	}
	within := func(t, from time.Time) time.Time {
		if t.Before(from) {
			return from
		}
		return earlier(t, now)
	}
	j.submit = within(j.submit, first)
	j.start = within(j.start, j.submit)
	return j.submit
}

// sound reports whether a State can contain the job. The parameter named contains the names of the jobs before it.
func (j *job) sound(named map[string]bool, told *notes) bool {
	switch {
	case len(j.Name) > names.Longest || !names.OK(j.Name) || j.Name == "":
		told.add(fmt.Sprintf("jobs whose names are empty or longer than %d bytes, left out", names.Longest), cut(j.Name))
	case named[j.Name]:
		told.add("jobs with the name of an earlier job, left out", j.Name)
	case j.Validate() != nil:
		told.add("jobs that a snapshot cannot represent, left out", j.Validate().Error())
	default:
		named[j.Name] = true
		return true
	}
	return false
}

// running returns the running jobs in the order of their starts, and gives every piece without GPU indices the lowest free ones.
func running(jobs []job, servers []server, told *notes) (ids []cluster.JobID) {
	taken := make([]map[int32]bool, len(servers))
	for i := range taken {
		taken[i] = map[int32]bool{}
	}
	for i := range jobs {
		if len(jobs[i].pieces) > 0 {
			ids = append(ids, cluster.JobID(i))
		}
	}
	slices.SortStableFunc(ids, func(a, b cluster.JobID) int { return jobs[a].start.Compare(jobs[b].start) })
	for _, id := range ids {
		for k := range jobs[id].pieces {
			p := &jobs[id].pieces[k]
			if slices.ContainsFunc(p.gpus, func(g int32) bool { return g >= servers[p.Server].GPUs || taken[p.Server][g] }) {
				told.add("jobs whose GPU indices do not exist or belong to another job: others are assigned", jobs[id].Name)
				p.gpus = nil
			}
			for _, g := range p.gpus {
				taken[p.Server][g] = true
			}
		}
	}
	at := map[sharedGPU][]int32{}
	for _, id := range ids {
		for k := range jobs[id].pieces {
			p := &jobs[id].pieces[k]
			for _, name := range p.shared {
				gpu := sharedGPU{p.Server, name}
				if _, known := at[gpu]; !known {
					at[gpu] = lowest(taken[p.Server], 1, servers[p.Server].GPUs)
				}
				p.gpus = append(p.gpus, at[gpu]...)
			}
			if p.gpus == nil {
				p.gpus = lowest(taken[p.Server], p.Workers, servers[p.Server].GPUs)
			}
		}
	}
	return ids
}

// sharedGPU is a GPU of a server that has a name there.
type sharedGPU struct {
	cluster.ServerID
	name string
}

// lowest takes the n lowest free GPUs of a server, or as many as there are.
func lowest(taken map[int32]bool, n, of int32) (gpus []int32) {
	for g := int32(0); g < of && len(gpus) < int(n); g++ {
		if !taken[g] {
			taken[g] = true
			gpus = append(gpus, g)
		}
	}
	return gpus
}

// from returns the time from which the State counts a job as running: its start, or later if the GPU time since would exceed
// longestHeld.
func (j *job) from(zero, now time.Time) time.Duration {
	held := int64(0)
	for i := range j.pieces {
		held += int64(j.pieces[i].Workers)
	}
	return max(j.start.Sub(zero), now.Sub(zero)-time.Duration(longestHeld/held))
}

// restore starts the job where it runs, as of the time of its start, so that its progress and GPU time count from then.
func (j *job) restore(s *cluster.State, id cluster.JobID, zero, now time.Time, told *notes) {
	var p cluster.Placement
	var gpus []int32
	for i := range j.pieces {
		q := &j.pieces[i]
		p, gpus = append(p, q.Piece), append(gpus, q.gpus...)
		if s.Server(q.Server).GPUType != s.Server(p[0].Server).GPUType {
			j.Mixed = true
		}
	}
	s.Advance(j.from(zero, now))
	s.Submit(id, &j.JobSpec)
	if err := s.Restore(id, p, gpus); err != nil {
		told.add("running jobs that do not fit on their servers, left out", fmt.Sprintf("%s (%v)", j.Name, err))
		s.Withdraw(id)
		return
	}
	if done := now.Sub(j.start) - (now.Sub(zero) - s.Now()); done > 0 {
		s.SetProgress(id, done, s.Now(), 1)
	}
}

// shut takes the GPUs that no job uses of a server out of service, because the server takes no new jobs.
func shut(s *cluster.State, id cluster.ServerID, told *notes) {
	used := false
	for _, milli := range s.GPUUse(id) {
		used = used || milli > 0
	}
	if !used {
		s.Fail(id, -1, nil)
		return
	}
	for g, milli := range slices.Clone(s.GPUUse(id)) {
		if milli == 0 {
			s.Fail(id, int32(g), nil)
		}
	}
	told.add("servers that run jobs but take no new ones: their free GPUs are out of order in the snapshot", s.Server(id).Name)
}

// perGPU returns the amount per GPU of all that some workers hold together, rounded up.
func perGPU(cpuMilli, memBytes, gpus int64) (a cluster.Amount, ok bool) {
	up := func(x, by int64) int64 { return x/by + min(x%by, 1) }
	cpu, mem := up(cpuMilli, gpus), up(memBytes, gpus<<20)
	a = cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: int32(min(cpu, math.MaxInt32)), MemMiB: int32(min(mem, math.MaxInt32))}
	return a, cpu <= math.MaxInt32 && mem <= math.MaxInt32
}
