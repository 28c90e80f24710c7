package sim_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"pgregory.net/rapid"
)

// audit replays an episode from its log alone and checks every record.
type audit struct {
	t        rapid.TB
	log      *sim.Log
	now      time.Duration
	jobs     []account
	servers  []machine
	held     map[string]int64 // thousandths of GPUs by tenant
	lent     int32
	needs    int             // the number of Need records so far
	failed   int             // the number of Fail records so far
	out      []*sim.Outage   // outages in progress
	stopped  []cluster.JobID // jobs stopped by the last failure or seizure; their Interrupt records must follow
	moved    bool            // placements changed since the last respeed
	decided  bool            // the last change of placements was a decision, not an event
	finished int
	// The counts of cases that the audit has seen: a speed changed without a decision about its job, two jobs shared a GPU, a
	// gang ran on several servers, an interruption cost work.
	respeeds, shared, crossed, lost int
}

// machine is the usage of a server.
type machine struct {
	spec            *cluster.ServerSpec
	lent            bool
	cpu, mem        int64
	milli, gpuMem   []int32 // by GPU: the shares and the memory in use
	jobs            []int32 // by GPU: the number of jobs
	down            bool
	broken          []bool
	residents, most int32
}

// check audits the log and returns the audit's final state.
func check(t rapid.TB, l *sim.Log) *audit {
	a := &audit{t: t, log: l, jobs: make([]account, len(l.Jobs)), held: map[string]int64{}}
	for i := range a.jobs {
		a.jobs[i].first = -1
	}
	for i := range l.Config.Cluster.Servers {
		v := &l.Config.Cluster.Servers[i]
		m := machine{spec: v, most: l.Config.Cluster.PerGPU}
		if m.most == 0 {
			m.most = cluster.WholeGPU
		}
		m.milli, m.gpuMem = make([]int32, v.GPUs), make([]int32, v.GPUs)
		m.jobs, m.broken = make([]int32, v.GPUs), make([]bool, v.GPUs)
		a.servers = append(a.servers, m)
	}
	for i := range l.Records {
		a.record(&l.Records[i])
	}
	if n := len(l.Records); n == 0 || l.Records[n-1].Kind != sim.End {
		a.fail("no end")
	}
	return a
}

func (a *audit) fail(format string, args ...any) {
	a.t.Helper()
	a.t.Fatalf("at %v: %s", a.now, fmt.Sprintf(format, args...))
}

// isDecision reports whether a record of this kind is a scheduler's operation, as opposed to an event.
func isDecision(k sim.Kind) bool {
	switch k {
	case sim.Start, sim.Resize, sim.Preempt, sim.Migrate, sim.Loan, sim.Reclaim:
		return true
	}
	return false
}

func (a *audit) record(r *sim.Record) {
	if r.At < a.now {
		a.fail("%v at %v", r.Kind, r.At)
	}
	decision := isDecision(r.Kind)
	if r.At > a.now || decision != a.decided {
		a.respeed()
		a.settled(r, decision || r.Kind == sim.End)
		a.decided = decision
	}
	if len(a.stopped) > 0 && (r.Kind != sim.Interrupt || r.Job != a.stopped[0]) {
		a.fail("%v job %d, want the interruptions of jobs %v", r.Kind, r.Job, a.stopped)
	}
	a.now = r.At
	if r.Kind == sim.Finish && a.jobs[r.Job].ends != r.At {
		a.respeed() // the end of another job at this instant may have made this job end at this instant, too
	}
	switch r.Kind {
	case sim.Loan, sim.Reclaim, sim.Seize:
		a.lend(r)
	case sim.Need:
		a.need(r)
	case sim.Fail, sim.Repair:
		a.breakdown(r)
	case sim.Measure:
		a.measure(r)
	case sim.End:
		a.end(r)
	default:
		a.job(r, &a.jobs[r.Job])
	}
}

// settled checks that the log has not skipped any event that must precede the record: any event before the record's instant, and,
// if inclusive is set (for decisions and the end), any event at that instant.
func (a *audit) settled(r *sim.Record, inclusive bool) {
	over := func(at time.Duration) bool { return at < r.At || inclusive && at == r.At }
	for i := range a.jobs {
		j := &a.jobs[i]
		if submit := a.log.Jobs[i].Submit; j.runs && over(j.ends) || !j.submitted && over(submit) {
			a.fail("before %v at %v: job %d, submitted at %v, has not finished at %v", r.Kind, r.At, i, submit, j.ends)
		}
	}
	a.measuredUntil(r)
	failed := 0
	for _, o := range a.log.Config.Outages {
		if over(o.From) {
			failed++
		}
	}
	if late := slices.ContainsFunc(a.out, func(o *sim.Outage) bool { return over(o.To) }); late || failed > a.failed {
		a.fail("before %v at %v: %d failures, want %d; a repair is late: %v", r.Kind, r.At, a.failed, failed, late)
	}
	if all := a.log.Config.Demand; r.Kind != sim.Need && a.needs < len(all) && all[a.needs].At < r.At {
		a.fail("before %v at %v: no record of %+v", r.Kind, r.At, all[a.needs])
	}
	last := r.At
	if !inclusive {
		last--
	}
	if allowed := a.allowed(max(last, a.now)); a.lent > allowed {
		a.fail("before %v at %v: %d servers on loan, want at most %d", r.Kind, r.At, a.lent, allowed)
	}
}

// occupy adds (sign 1) or removes (sign -1) a job's placement and checks all limits.
func (a *audit) occupy(id cluster.JobID, sign int32) {
	j := &a.jobs[id]
	spec, gpus := &a.log.Jobs[id].JobSpec, j.gpus
	a.held[spec.Tenant] += int64(sign) * j.place.GPUMilli()
	for _, q := range a.log.Config.Cluster.Quotas {
		if used := a.held[q.Tenant]; used > int64(q.GPUs)*cluster.WholeGPU || used < 0 {
			a.fail("tenant %q holds %d thousandths of GPUs, want at most %d GPUs", q.Tenant, used, q.GPUs)
		}
	}
	for _, p := range j.place {
		m := &a.servers[p.Server]
		m.residents += sign
		m.cpu += int64(sign) * int64(p.Workers) * int64(p.CPUMilli)
		m.mem += int64(sign) * int64(p.Workers) * int64(p.MemMiB)
		if m.cpu < 0 || m.cpu > m.spec.CPUMilli || m.mem < 0 || m.mem > m.spec.MemMiB {
			a.fail("server %d: %d CPU milli and %d MiB in use, want at most %d and %d", p.Server, m.cpu, m.mem, m.spec.CPUMilli, m.spec.MemMiB)
		}
		for _, g := range gpus[:p.Workers] {
			m.milli[g] += sign * p.GPUMilli
			m.gpuMem[g] += sign * p.GPUMemMiB
			m.jobs[g] += sign
			if m.jobs[g] > 1 {
				a.shared++
			}
			if m.milli[g] < 0 || m.milli[g] > cluster.WholeGPU || m.jobs[g] < 0 || m.jobs[g] > m.most ||
				m.gpuMem[g] < 0 || m.spec.GPUMemMiB > 0 && m.gpuMem[g] > m.spec.GPUMemMiB {
				a.fail("server %d GPU %d: %d thousandths, %d jobs (at most %d), %d MiB of %d",
					p.Server, g, m.milli[g], m.jobs[g], m.most, m.gpuMem[g], m.spec.GPUMemMiB)
			}
		}
		gpus = gpus[p.Workers:]
	}
}

// admit checks that a placement fits the job's specification and that its servers and GPUs may be used.
func (a *audit) admit(id cluster.JobID) {
	j, spec := &a.jobs[id], &a.log.Jobs[id].JobSpec
	workers, seen := int32(0), map[cluster.ServerID]bool{}
	gpus, kind := j.gpus, ""
	for i, p := range j.place {
		m := &a.servers[p.Server]
		if m.down || m.spec.Pool == cluster.Inference && !m.lent || seen[p.Server] {
			a.fail("job %d on server %d, which is down, not on loan, or there twice: %+v", id, p.Server, j.place)
		}
		if i == 0 {
			kind = m.spec.GPUType
		}
		if m.spec.GPUType != kind && !spec.Mixed || !spec.Allows(m.spec.GPUType) {
			a.fail("job %d, which wants %q, on %s after %s", id, spec.GPUType, m.spec.GPUType, kind)
		}
		if spec.Where != nil && !spec.Where.Has(p.Server) {
			a.fail("job %d on server %d, want one of %v", id, p.Server, slices.Collect(spec.Where.All()))
		}
		seen[p.Server] = true
		workers += p.Workers
		if p.Workers%spec.Together() != 0 || p.GPUMilli < 1 || p.GPUMemMiB < spec.Request.GPUMemMiB {
			a.fail("job %d: piece %+v of %+v", id, p, *spec)
		}
		own := slices.Sorted(slices.Values(gpus[:p.Workers]))
		if len(slices.Compact(own)) != int(p.Workers) || slices.ContainsFunc(own, func(g int32) bool { return m.broken[g] }) {
			a.fail("job %d on GPUs %v of server %d: twice or out of order", id, own, p.Server)
		}
		gpus = gpus[p.Workers:]
	}
	if workers < spec.Least() || workers > spec.Most() || len(gpus) > 0 {
		a.fail("job %d: a gang of %d on %v, want %d to %d", id, workers, j.gpus, spec.Least(), spec.Most())
	}
}

// end compares the outcome with the audit's own state.
func (a *audit) end(r *sim.Record) {
	running, waiting, coming := 0, 0, 0
	next := never // when a job would have arrived or finished next
	for i := range a.jobs {
		switch j := &a.jobs[i]; {
		case j.runs:
			running++
			next = min(next, j.ends)
		case !j.submitted:
			coming++
			next = min(next, a.log.Jobs[i].Submit)
		case !j.done:
			waiting++
		}
	}
	h := a.log.Config.Horizon
	switch got := a.log.Outcome; {
	case got.Terminated && got.Truncated == "" && a.finished == len(a.jobs):
	case got.Truncated == fmt.Sprintf("horizon %v", h) && h > 0 && r.At == h && next > h && a.finished < len(a.jobs):
	case got.Truncated == fmt.Sprintf("%d jobs wait, and nothing runs, arrives or wakes", waiting) &&
		waiting > 0 && running == 0 && coming == 0 && len(a.out) == 0:
	case got.Truncated == fmt.Sprintf("%d jobs run past the end of time", running) &&
		running > 0 && h == 0 && next == never && len(a.out) == 0:
	default:
		a.fail("end with %+v; %d run, %d wait, %d to come, next at %v, horizon %v", got, running, waiting, coming, next, h)
	}
	if r != &a.log.Records[len(a.log.Records)-1] {
		a.fail("records after the end")
	}
}
