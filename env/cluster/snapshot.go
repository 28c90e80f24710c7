package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// SnapshotVersion is the version of the snapshot format that this package writes and reads.
const SnapshotVersion = 1

// Limits of a snapshot, against hostile or mistaken ones.
const (
	maxSnapshot     = 256 << 20                  // bytes
	maxSnapshotJobs = 1 << 22                    // jobs
	maxTime         = 100 * 365 * 24 * time.Hour // of every instant and duration
	maxAttained     = math.MaxInt64 / 2          // GPU-time
)

// ReadSnapshot builds the state that a snapshot (cluster.json) describes, ready for Begin(Introduce()). A job's id is its
// index in the file. Anything the format does not know, a name or id given twice, a server that is not in the file and
// pieces that do not fit (see State.Restore) are errors with the path of the field, its value and what was expected.
//
//	{"version": 1, "now_s": 86400.5,
//	 "servers": [{"name": "a", "gpus": 8, "cpu_milli": 96000, "mem_mib": null, "pool": "training", "on_loan": false}],
//	 "jobs": [{"id": "17", "user": "u", "tenant": "t", "submit_s": 80000, "workers": 2, "min_workers": 1, "max_workers": 4,
//	           "gpu_milli": 1000, "cpu_milli": 4000, "mem_mib": 0, "estimate_s": 3600, "state": "running",
//	           "starts": 1, "progress_s": 60, "attained_s": 120, "speed": 1,
//	           "placement": [{"server": "a", "workers": 2, "gpus": [0, 3]}]}]}
//
// Times are seconds since the clock's zero, with at most nine decimals; attained_s is GPU-seconds. A null CPU or memory is
// not modelled. What a job may leave out: user, tenant, min_workers and max_workers (workers), gpu_milli (1000), cpu_milli
// and mem_mib (0), estimate_s (none), starts (1 if it runs, else 0), progress_s and attained_s (0), speed (1). A piece may
// hold other amounts than the job asked for: gpu_milli, cpu_milli, mem_mib. pool is training or inference, and training if
// left out; on_loan is false if left out.
func ReadSnapshot(r io.Reader) (*State, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSnapshot+1))
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	if len(text) > maxSnapshot {
		return nil, fmt.Errorf("read snapshot: more than %d bytes", maxSnapshot)
	}
	v, err := parseStrict(text)
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	s, err := restoreSnapshot(v)
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	return s, nil
}

func restoreSnapshot(v any) (_ *State, err error) {
	top := object(v, "", &err)
	top.whole("version", true, SnapshotVersion, SnapshotVersion, 0)
	now := top.seconds("now_s", true, maxTime)
	servers := top.list("servers", true, MaxServers)
	jobs := top.list("jobs", true, maxSnapshotJobs)
	if top.end(); err != nil {
		return nil, err
	}
	spec, lent, ids, err := readServers(servers)
	if err != nil {
		return nil, err
	}
	s, err := NewState(spec, len(jobs))
	if err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	s.Advance(now)
	for _, id := range lent {
		s.servers[id].onLoan = true
		s.index.add(id, s.servers[id].freeWhole)
	}
	specs := make([]JobSpec, len(jobs))
	seen := make(map[string]int, len(jobs))
	for i, v := range jobs {
		j, err := readJob(v, fmt.Sprintf("jobs[%d]", i), now, ids, &specs[i])
		if err != nil {
			return nil, err
		}
		if first, twice := seen[specs[i].Name]; twice {
			return nil, fmt.Errorf("jobs[%d].id: %q, want another than that of jobs[%d]", i, specs[i].Name, first)
		}
		seen[specs[i].Name] = i
		s.Submit(JobID(i), &specs[i])
		if j.phase == Running {
			if err := s.Restore(JobID(i), j.pieces, j.gpus); err != nil {
				return nil, fmt.Errorf("jobs[%d].placement: %w", i, err)
			}
		}
		own := &s.jobs[i]
		own.starts, own.done, own.served, own.rate = j.starts, j.done, j.served, j.rate
	}
	return s, nil
}

func readServers(list []any) (spec Spec, lent []ServerID, ids map[string]ServerID, err error) {
	ids = make(map[string]ServerID, len(list))
	spec.Servers = make([]ServerSpec, len(list))
	for i, v := range list {
		o := object(v, fmt.Sprintf("servers[%d]", i), &err)
		spec.Servers[i] = ServerSpec{
			Name: o.text("name", true), GPUs: int32(o.whole("gpus", true, 0, MaxGPUs, 0)),
			CPUMilli: o.limit("cpu_milli"), MemMiB: o.limit("mem_mib"), Pool: Pool(o.oneOf("pool", false, poolNames[:]...)),
		}
		own := &spec.Servers[i]
		if o.flag("on_loan") {
			lent = append(lent, ServerID(i))
			if own.Pool != Inference {
				o.bad("on_loan", true, "false for a server of the training pool")
			}
		}
		o.end()
		if first, twice := ids[own.Name]; twice {
			o.bad("name", own.Name, fmt.Sprintf("another than that of servers[%d]", first))
		}
		if ids[own.Name] = ServerID(i); err != nil {
			return Spec{}, nil, nil, err
		}
	}
	return spec, lent, ids, nil
}

// readJob fills the specification and returns what changes about the job.
func readJob(v any, path string, now time.Duration, ids map[string]ServerID, spec *JobSpec) (j job, err error) {
	o := object(v, path, &err)
	*spec = JobSpec{
		Name: o.text("id", true), User: o.text("user", false), Tenant: o.text("tenant", false),
		Submit: o.seconds("submit_s", true, now), Workers: int32(o.whole("workers", true, 1, math.MaxInt32, 0)),
		MinWorkers: int32(o.whole("min_workers", false, 1, math.MaxInt32, 0)),
		MaxWorkers: int32(o.whole("max_workers", false, 1, math.MaxInt32, 0)),
		Request:    o.amount(Amount{GPUMilli: WholeGPU}),
		Estimate:   o.seconds("estimate_s", false, maxTime),
	}
	j.phase = Pending + Phase(o.oneOf("state", true, phaseNames[Pending:Done]...))
	runs := j.phase == Running
	j.starts = int32(o.whole("starts", false, int64(j.phase-Pending), math.MaxInt32, int64(j.phase-Pending)))
	j.done = o.seconds("progress_s", false, maxTime)
	j.served = o.seconds("attained_s", false, maxAttained)
	j.rate = o.speed("speed", runs)
	for i, v := range o.list("placement", runs, MaxServers) {
		p := object(v, fmt.Sprintf("%s.placement[%d]", path, i), &err)
		name := p.text("server", true)
		server, known := ids[name]
		if !known {
			p.bad("server", name, "the name of a server in this snapshot")
		}
		workers := int32(p.whole("workers", true, 1, MaxGPUs, 0))
		j.pieces = append(j.pieces, Piece{Server: server, Workers: workers, Amount: p.amount(spec.Request)})
		gpus := p.list("gpus", true, MaxGPUs)
		if len(gpus) != int(workers) {
			p.bad("gpus", len(gpus), fmt.Sprintf("one GPU for each of %d workers", workers))
		}
		for _, g := range gpus {
			j.gpus = append(j.gpus, int32(p.number("gpus", g, "indices of GPUs", 0, MaxGPUs)))
		}
		if p.end(); err != nil {
			return job{}, err
		}
	}
	if !runs && len(j.pieces) > 0 {
		o.bad("placement", len(j.pieces), "no pieces for a job that does not run")
	}
	o.end()
	if err == nil {
		if bad := spec.Validate(); bad != nil {
			err = fmt.Errorf("%s: %w", path, bad)
		}
	}
	return j, err
}

// amount takes the three amounts; those left out are those of otherwise.
func (o *strict) amount(otherwise Amount) Amount {
	return Amount{
		GPUMilli: int32(o.whole("gpu_milli", false, 1, WholeGPU, int64(otherwise.GPUMilli))),
		CPUMilli: int32(o.whole("cpu_milli", false, 0, math.MaxInt32, int64(otherwise.CPUMilli))),
		MemMiB:   int32(o.whole("mem_mib", false, 0, math.MaxInt32, int64(otherwise.MemMiB))),
	}
}

func (o *strict) speed(name string, runs bool) float64 {
	const want = "a number above 0 and at most 1e6, for a running job only"
	v, ok := o.take(name, false, want)
	if !ok && runs {
		return 1
	}
	text, _ := v.(json.Number)
	rate, err := strconv.ParseFloat(string(text), 64)
	if ok && (err != nil || !runs || !(rate > 0 && rate <= 1e6)) {
		o.bad(name, v, want)
	}
	return rate
}

var poolNames = [...]string{Training: "training", Inference: "inference"}

func (p Pool) String() string { return poolNames[p] }

// WriteSnapshot writes the servers, the pending and the running jobs, in the order of their ids, so that ReadSnapshot gives
// them back, renumbered from 0; a job that restarts at this instant is written as one that runs again. A name that the
// format cannot hold (empty, not printable or not unique) and a time out of range are errors; what was written is then no
// snapshot.
func (s *State) WriteSnapshot(w io.Writer) error {
	out := bufio.NewWriter(w)
	b := appendSeconds(fmt.Appendf(nil, "{\"version\":%d,\"now_s\":", SnapshotVersion), s.now)
	b = append(b, ",\n\"servers\":["...)
	seen := make(map[string]bool, len(s.servers))
	for i := range s.servers {
		v := &s.servers[i]
		if n := v.spec.Name; n == "" || !isName(n) || seen[n] {
			return fmt.Errorf("write snapshot: server %d: name %q, want a printable one that no other server has", i, n)
		}
		seen[v.spec.Name] = true
		b = v.append(separate(b, i))
		b = spill(out, b)
	}
	b = append(b, "\n],\n\"jobs\":["...)
	clear(seen)
	for i := range s.jobs {
		j := &s.jobs[i]
		if j.phase != Pending && j.phase != Running {
			continue
		}
		if err := s.writable(JobID(i), seen); err != nil {
			return fmt.Errorf("write snapshot: job %d: %w", i, err)
		}
		b = s.appendJob(separate(b, len(seen)), JobID(i))
		seen[j.spec.Name] = true
		b = spill(out, b)
	}
	out.Write(append(b, "\n]}\n"...))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

// spill writes b and returns it empty; an error stays with out until its Flush.
func spill(out *bufio.Writer, b []byte) []byte {
	out.Write(b)
	return b[:0]
}

func separate(b []byte, n int) []byte {
	if n > 0 {
		b = append(b, ',')
	}
	return append(b, '\n')
}

func (s *State) writable(id JobID, seen map[string]bool) error {
	j := &s.jobs[id]
	switch n := j.spec.Name; {
	case n == "" || !isName(n) || seen[n]:
		return fmt.Errorf("name %q, want a printable one that no other job has", n)
	case !isName(j.spec.User) || !isName(j.spec.Tenant):
		return fmt.Errorf("user %q of tenant %q, want printable ones", j.spec.User, j.spec.Tenant)
	case j.spec.Submit > s.now:
		return fmt.Errorf("submit %v, want at most %v, the snapshot's instant", j.spec.Submit, s.now)
	case max(s.now, s.Progress(id), j.spec.Estimate) > maxTime:
		return fmt.Errorf("now %v, progress %v, estimate %v: want at most %v", s.now, s.Progress(id), j.spec.Estimate, maxTime)
	}
	return nil
}

func (v *server) append(b []byte) []byte {
	b = appendText(append(b, `{"name":`...), v.spec.Name)
	b = appendInt(b, `,"gpus":`, int64(v.spec.GPUs))
	b = appendLimit(append(b, `,"cpu_milli":`...), v.spec.CPUMilli)
	b = appendLimit(append(b, `,"mem_mib":`...), v.spec.MemMiB)
	return fmt.Appendf(b, `,"pool":"%v","on_loan":%t}`, v.spec.Pool, v.onLoan)
}

func (s *State) appendJob(b []byte, id JobID) []byte {
	j := &s.jobs[id]
	spec := j.spec
	b = appendText(append(b, `{"id":`...), spec.Name)
	b = appendText(append(b, `,"user":`...), spec.User)
	b = appendText(append(b, `,"tenant":`...), spec.Tenant)
	b = appendSeconds(append(b, `,"submit_s":`...), spec.Submit)
	b = appendInt(b, `,"workers":`, int64(spec.Workers))
	if spec.MinWorkers != 0 {
		b = appendInt(b, `,"min_workers":`, int64(spec.MinWorkers))
	}
	if spec.MaxWorkers != 0 {
		b = appendInt(b, `,"max_workers":`, int64(spec.MaxWorkers))
	}
	b = appendAmount(b, spec.Request)
	b = appendSeconds(append(b, `,"estimate_s":`...), spec.Estimate)
	b = fmt.Appendf(b, `,"state":"%v","starts":%d`, j.phase, j.starts)
	b = appendSeconds(append(b, `,"progress_s":`...), s.Progress(id))
	b = appendSeconds(append(b, `,"attained_s":`...), s.Attained(id))
	if j.phase != Running {
		return append(b, '}')
	}
	b = strconv.AppendFloat(append(b, `,"speed":`...), j.rate, 'g', -1, 64)
	b = append(b, `,"placement":[`...)
	gpus := j.gpus
	for i := range j.pieces {
		p := &j.pieces[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"server":`...), s.servers[p.Server].spec.Name)
		b = appendInt(b, `,"workers":`, int64(p.Workers))
		b = appendAmount(b, p.Amount)
		b = append(b, `,"gpus":[`...)
		for k, g := range gpus[:p.Workers] {
			if k > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(g), 10)
		}
		b, gpus = append(b, "]}"...), gpus[p.Workers:]
	}
	return append(b, "]}"...)
}

func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("cluster: " + err.Error())
	}
	return append(b, text...)
}

func appendInt(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(b, key...), n, 10)
}

func appendLimit(b []byte, n int64) []byte {
	if n == Unlimited {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, n, 10)
}

func appendAmount(b []byte, a Amount) []byte {
	b = appendInt(b, `,"gpu_milli":`, int64(a.GPUMilli))
	b = appendInt(b, `,"cpu_milli":`, int64(a.CPUMilli))
	return appendInt(b, `,"mem_mib":`, int64(a.MemMiB))
}
