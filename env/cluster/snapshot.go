package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
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
//
// Where they are modelled: a server has gpu_type, gpu_mem_mib, rack, down and out_of_order (a list of GPUs); a job has model,
// group, stages, tensor, gpu_type, mixed and servers (the names of those that will do, all if left out), and gpu_mem_mib among
// its amounts; the whole has per_gpu, offer (all inference servers if left out), reclaim_by_s and quotas:
// [{"tenant": "t", "gpus": 16}].
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
	perGPU := int32(top.whole("per_gpu", false, 0, WholeGPU, 0))
	offer := int32(top.whole("offer", false, 0, math.MaxInt32, -1))
	deadline := top.seconds("reclaim_by_s", false, maxTime)
	quotas := readQuotas(top.list("quotas", false, maxQuotas), &err)
	if top.end(); err != nil {
		return nil, err
	}
	spec, now0, ids, err := readServers(servers)
	if err != nil {
		return nil, err
	}
	spec.PerGPU, spec.Quotas = perGPU, quotas
	s, err := NewState(spec, len(jobs))
	if err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	s.Advance(now)
	for i := range now0 {
		s.restoreServer(ServerID(i), &now0[i])
	}
	if offer >= 0 {
		s.SetOffer(offer, deadline)
	}
	specs := make([]JobSpec, len(jobs))
	seen := make(map[string]int, len(jobs))
	named := naming{ids: ids, sets: ServerSets{}}
	for i, v := range jobs {
		j, err := readJob(v, fmt.Sprintf("jobs[%d]", i), now, &named, &specs[i])
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
		own.starts, own.first, own.done, own.served, own.rate = j.starts, longAgo, j.done, j.served, j.rate
	}
	return s, nil
}

// serverNow is what changes about a server.
type serverNow struct {
	onLoan, down bool
	broken       []int32
}

func (s *State) restoreServer(id ServerID, now *serverNow) {
	if now.onLoan {
		s.lend(id, true)
	}
	for _, g := range now.broken {
		s.Fail(id, g, nil)
	}
	if now.down {
		s.Fail(id, -1, nil)
	}
}

func readServers(list []any) (spec Spec, now []serverNow, ids map[string]ServerID, err error) {
	ids = make(map[string]ServerID, len(list))
	spec.Servers, now = make([]ServerSpec, len(list)), make([]serverNow, len(list))
	for i, v := range list {
		o := object(v, fmt.Sprintf("servers[%d]", i), &err)
		spec.Servers[i] = ServerSpec{
			Name: o.text("name", true), GPUs: int32(o.whole("gpus", true, 0, MaxGPUs, 0)),
			CPUMilli: o.limit("cpu_milli"), MemMiB: o.limit("mem_mib"), Pool: Pool(o.oneOf("pool", false, poolNames[:]...)),
			GPUType: o.text("gpu_type", false), GPUMemMiB: int32(o.whole("gpu_mem_mib", false, 0, math.MaxInt32, 0)),
			Rack: int32(o.whole("rack", false, 0, MaxRacks, 0)),
		}
		own := &spec.Servers[i]
		now[i] = serverNow{onLoan: o.flag("on_loan"), down: o.flag("down")}
		if now[i].onLoan && own.Pool != Inference {
			o.bad("on_loan", true, "false for a server of the training pool")
		}
		for _, g := range o.list("out_of_order", false, MaxGPUs) {
			gpu := int32(o.number("out_of_order", g, "indices of GPUs", 0, int64(own.GPUs)-1))
			if slices.Contains(now[i].broken, gpu) {
				o.bad("out_of_order", gpu, "each GPU once")
			}
			now[i].broken = append(now[i].broken, gpu)
		}
		o.end()
		if first, twice := ids[own.Name]; twice {
			o.bad("name", own.Name, fmt.Sprintf("another than that of servers[%d]", first))
		}
		if ids[own.Name] = ServerID(i); err != nil {
			return Spec{}, nil, nil, err
		}
	}
	return spec, now, ids, nil
}

const maxQuotas = 1 << 16

func readQuotas(list []any, err *error) (quotas []Quota) {
	for i, v := range list {
		o := object(v, fmt.Sprintf("quotas[%d]", i), err)
		quotas = append(quotas, Quota{o.text("tenant", false), int32(o.whole("gpus", true, 0, math.MaxInt32, 0))})
		o.end()
	}
	return quotas
}

// readJob fills the specification and returns what changes about the job.
func readJob(v any, path string, now time.Duration, named *naming, spec *JobSpec) (j job, err error) {
	o := object(v, path, &err)
	*spec = JobSpec{
		Name: o.text("id", true), User: o.text("user", false), Tenant: o.text("tenant", false),
		Submit: o.seconds("submit_s", true, now), Workers: int32(o.whole("workers", true, 1, math.MaxInt32, 0)),
		MinWorkers: int32(o.whole("min_workers", false, 1, math.MaxInt32, 0)),
		MaxWorkers: int32(o.whole("max_workers", false, 1, math.MaxInt32, 0)),
		Request:    o.amount(Amount{GPUMilli: WholeGPU}),
		Model:      o.text("model", false), Group: o.text("group", false),
		Stages: int32(o.whole("stages", false, 0, math.MaxInt32, 0)), Tensor: int32(o.whole("tensor", false, 0, math.MaxInt32, 0)),
		GPUType: o.text("gpu_type", false), Mixed: o.flag("mixed"),
		Estimate: o.seconds("estimate_s", false, maxTime),
	}
	spec.Where = named.where(o)
	j.phase = Pending + Phase(o.oneOf("state", true, phaseNames[Pending:Done]...))
	runs := j.phase == Running
	j.starts = int32(o.whole("starts", false, int64(j.phase-Pending), math.MaxInt32, int64(j.phase-Pending)))
	j.done = o.seconds("progress_s", false, maxTime)
	j.served = o.seconds("attained_s", false, maxAttained)
	j.rate = o.speed("speed", runs)
	for i, v := range o.list("placement", runs, MaxServers) {
		p := object(v, fmt.Sprintf("%s.placement[%d]", path, i), &err)
		name := p.text("server", true)
		server, known := named.ids[name]
		if !known {
			p.bad("server", name, aServer)
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

const aServer = "the name of a server in this snapshot"

// naming finds servers by their names, and gives jobs that name the same servers one set.
type naming struct {
	ids  map[string]ServerID
	sets ServerSets
}

// where takes the servers that will do for a job: nil if it names none, and an empty set if its list is empty.
func (n *naming) where(o *strict) *ServerSet {
	if _, ok := o.fields["servers"]; !ok {
		return nil
	}
	set := NewServerSet(len(n.ids))
	for _, v := range o.list("servers", true, MaxServers) {
		name, _ := v.(string)
		id, known := n.ids[name]
		switch {
		case !known:
			o.bad("servers", v, aServer)
			return nil
		case set.Has(id):
			o.bad("servers", v, "each server once")
		}
		set.Add(id)
	}
	return n.sets.Of(set)
}

// amount takes the three amounts; those left out are those of otherwise.
func (o *strict) amount(otherwise Amount) Amount {
	return Amount{
		GPUMilli:  int32(o.whole("gpu_milli", false, 1, WholeGPU, int64(otherwise.GPUMilli))),
		CPUMilli:  int32(o.whole("cpu_milli", false, 0, math.MaxInt32, int64(otherwise.CPUMilli))),
		MemMiB:    int32(o.whole("mem_mib", false, 0, math.MaxInt32, int64(otherwise.MemMiB))),
		GPUMemMiB: int32(o.whole("gpu_mem_mib", false, 0, math.MaxInt32, int64(otherwise.GPUMemMiB))),
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
