package cluster

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

var poolNames = [...]string{Training: "training", Inference: "inference"}

func (p Pool) String() string { return poolNames[p] }

// WriteSnapshot writes the servers, the pending jobs and the running jobs, in the order of their ids. ReadSnapshot returns the
// same state, except that it numbers the jobs from 0 and that a job that is restarting now is written as one that runs already.
// WriteSnapshot returns an error if a name cannot be written (because it is empty, not printable or not unique) or a time is out
// of range; the text written so far is then not a valid snapshot.
func (s *View) WriteSnapshot(w io.Writer) error {
	if err := s.rulesWritable(); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	out := bufio.NewWriter(w)
	b := appendSeconds(fmt.Appendf(nil, "{\"version\":%d,\"now_s\":", snapshotVersion), s.now)
	b = s.appendRules(b)
	b = append(b, ",\n\"servers\":["...)
	seen := make(map[string]bool, len(s.servers))
	for i := range s.servers {
		v := &s.servers[i]
		if n := v.spec.Name; n == "" || !names.OK(n) || seen[n] || !names.OK(v.spec.GPUType) {
			return fmt.Errorf("write snapshot: server %d: name %q, GPU type %q: want printable ones and a name that no other server has",
				i, n, v.spec.GPUType)
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

// spill writes b to out and returns b emptied. If the write fails, out.Flush returns the error later.
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

func (s *View) rulesWritable() error {
	for i := range s.tenants {
		if n := s.tenants[i].name; !names.OK(n) {
			return fmt.Errorf("quota %d: tenant %q, want a printable one", i, n)
		}
	}
	if s.offer < 0 || s.lent > s.offer && (s.deadline < 0 || s.deadline > maxTime) {
		return fmt.Errorf("offer of %d servers, those beyond back by %v: want 0 or more, by 0s to %v", s.offer, s.deadline, maxTime)
	}
	return nil
}

func (s *View) writable(id JobID, seen map[string]bool) error {
	j := &s.jobs[id]
	switch n := j.spec.Name; {
	case n == "" || !names.OK(n) || seen[n]:
		return fmt.Errorf("name %q, want a printable one that no other job has", n)
	case !names.OK(j.spec.User) || !names.OK(j.spec.Tenant):
		return fmt.Errorf("user %q of tenant %q, want printable ones", j.spec.User, j.spec.Tenant)
	case !names.OK(j.spec.Model) || !names.OK(j.spec.Group) || !names.OK(j.spec.GPUType):
		return fmt.Errorf("model %q, group %q, GPU type %q: want printable ones", j.spec.Model, j.spec.Group, j.spec.GPUType)
	case j.spec.Submit > s.now:
		return fmt.Errorf("submit %v, want at most %v, the snapshot's instant", j.spec.Submit, s.now)
	case max(s.now, s.Age(id), j.spec.Estimate) > maxTime:
		return fmt.Errorf("now %v, progress %v, estimate %v: want at most %v", s.now, s.Age(id), j.spec.Estimate, maxTime)
	}
	return readingsWritable(s.Readings(id))
}

func (v *server) append(b []byte) []byte {
	b = strictjson.AppendText(append(b, `{"name":`...), v.spec.Name)
	b = strictjson.AppendInt(b, `,"gpus":`, int64(v.spec.GPUs))
	b = appendLimit(append(b, `,"cpu_milli":`...), v.spec.CPUMilli)
	b = appendLimit(append(b, `,"mem_mib":`...), v.spec.MemMiB)
	b = fmt.Appendf(b, `,"pool":"%v","on_loan":%t`, v.spec.Pool, v.onLoan)
	b = strictjson.AppendSomeText(b, `,"gpu_type":`, v.spec.GPUType)
	b = strictjson.AppendSome(b, `,"gpu_mem_mib":`, int64(v.spec.GPUMemMiB))
	b = strictjson.AppendSome(b, `,"rack":`, int64(v.spec.Rack))
	if v.down {
		b = append(b, `,"down":true`...)
	}
	if broken := v.broken(); len(broken) > 0 {
		b = strictjson.AppendInts(append(b, `,"out_of_order":`...), broken)
	}
	return append(b, '}')
}

// broken returns the server's failed GPUs.
func (v *server) broken() (gpus []int32) {
	for g, n := range v.failed {
		if n {
			gpus = append(gpus, int32(g))
		}
	}
	return gpus
}

// appendRules writes the fields of the snapshot other than servers and jobs.
func (s *View) appendRules(b []byte) []byte {
	if perGPU := s.servers[0].perGPU; perGPU < WholeGPU {
		b = strictjson.AppendInt(b, `,"per_gpu":`, int64(perGPU))
	}
	inference := int32(0)
	for i := range s.servers {
		if s.servers[i].spec.Pool == Inference {
			inference++
		}
	}
	if s.offer != inference {
		b = strictjson.AppendInt(b, `,"offer":`, int64(s.offer))
		if s.lent > s.offer {
			b = appendSeconds(append(b, `,"reclaim_by_s":`...), s.deadline)
		}
	}
	for i := range s.tenants {
		if i == 0 {
			b = append(b, `,"quotas":[`...)
		} else {
			b = append(b, ',')
		}
		b = strictjson.AppendText(append(b, `{"tenant":`...), s.tenants[i].name)
		b = strictjson.AppendInt(b, `,"gpus":`, s.tenants[i].limit/WholeGPU)
		b = append(b, '}')
	}
	if len(s.tenants) > 0 {
		b = append(b, ']')
	}
	if s.forbids {
		b = append(b, `,"no_preemption":true`...)
	}
	return b
}

func (s *View) appendJob(b []byte, id JobID) []byte {
	j := &s.jobs[id]
	spec := j.spec
	b = strictjson.AppendText(append(b, `{"id":`...), spec.Name)
	b = strictjson.AppendText(append(b, `,"user":`...), spec.User)
	b = strictjson.AppendText(append(b, `,"tenant":`...), spec.Tenant)
	b = appendSeconds(append(b, `,"submit_s":`...), spec.Submit)
	b = strictjson.AppendInt(b, `,"workers":`, int64(spec.Workers))
	b = strictjson.AppendSome(b, `,"min_workers":`, int64(spec.MinWorkers))
	b = strictjson.AppendSome(b, `,"max_workers":`, int64(spec.MaxWorkers))
	b = appendAmount(b, spec.Request)
	b = strictjson.AppendSomeText(b, `,"model":`, spec.Model)
	b = strictjson.AppendSomeText(b, `,"group":`, spec.Group)
	b = strictjson.AppendSome(b, `,"stages":`, int64(spec.Stages))
	b = strictjson.AppendSome(b, `,"tensor":`, int64(spec.Tensor))
	b = strictjson.AppendSomeText(b, `,"gpu_type":`, spec.GPUType)
	if spec.Mixed {
		b = append(b, `,"mixed":true`...)
	}
	b = s.appendWhere(b, spec.Where)
	b = appendSeconds(append(b, `,"estimate_s":`...), spec.Estimate)
	if spec.Deadline > 0 {
		b = appendSeconds(append(b, `,"deadline_s":`...), spec.Deadline)
	}
	b = strictjson.AppendSome(b, `,"priority":`, int64(spec.Priority))
	if spec.Ran > 0 {
		b = appendSeconds(append(b, `,"ran_s":`...), spec.Ran)
	}
	b = fmt.Appendf(b, `,"state":"%v","starts":%d`, j.phase, j.starts)
	b = appendSeconds(append(b, `,"progress_s":`...), s.Progress(id))
	if most := s.Age(id) - spec.Ran; most > s.Progress(id) {
		b = appendSeconds(append(b, `,"reached_s":`...), most)
	}
	b = appendSeconds(append(b, `,"attained_s":`...), s.Attained(id))
	b = appendReadings(b, s.Readings(id))
	if j.phase != Running {
		return append(b, '}')
	}
	b = strictjson.AppendFloat(b, `,"speed":`, j.rate)
	b = append(b, `,"placement":[`...)
	gpus := j.gpus
	for i := range j.pieces {
		p := &j.pieces[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = strictjson.AppendText(append(b, `{"server":`...), s.servers[p.Server].spec.Name)
		b = strictjson.AppendInt(b, `,"workers":`, int64(p.Workers))
		b = appendAmount(b, p.Amount)
		b = strictjson.AppendInts(append(b, `,"gpus":`...), gpus[:p.Workers])
		b, gpus = append(b, '}'), gpus[p.Workers:]
	}
	return append(b, "]}"...)
}

// appendWhere writes the names of the servers that a job accepts.
func (s *View) appendWhere(b []byte, where *ServerSet) []byte {
	if where == nil {
		return b
	}
	b = append(b, `,"servers":[`...)
	n := 0
	for id := range where.All() {
		if int(id) >= len(s.servers) {
			break
		}
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = strictjson.AppendText(b, s.servers[id].spec.Name)
	}
	return append(b, ']')
}

func appendLimit(b []byte, n int64) []byte {
	if n == Unlimited {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, n, 10)
}

func appendAmount(b []byte, a Amount) []byte {
	b = strictjson.AppendInt(b, `,"gpu_milli":`, int64(a.GPUMilli))
	b = strictjson.AppendInt(b, `,"cpu_milli":`, int64(a.CPUMilli))
	b = strictjson.AppendInt(b, `,"mem_mib":`, int64(a.MemMiB))
	return strictjson.AppendSome(b, `,"gpu_mem_mib":`, int64(a.GPUMemMiB))
}
