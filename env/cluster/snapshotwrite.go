package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/clustergym/clustergym/internal/names"
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
	b = appendText(append(b, `{"name":`...), v.spec.Name)
	b = appendInt(b, `,"gpus":`, int64(v.spec.GPUs))
	b = appendLimit(append(b, `,"cpu_milli":`...), v.spec.CPUMilli)
	b = appendLimit(append(b, `,"mem_mib":`...), v.spec.MemMiB)
	b = fmt.Appendf(b, `,"pool":"%v","on_loan":%t`, v.spec.Pool, v.onLoan)
	b = appendSomeText(b, `,"gpu_type":`, v.spec.GPUType)
	b = appendSome(b, `,"gpu_mem_mib":`, int64(v.spec.GPUMemMiB))
	b = appendSome(b, `,"rack":`, int64(v.spec.Rack))
	if v.down {
		b = append(b, `,"down":true`...)
	}
	if broken := v.broken(); len(broken) > 0 {
		text, _ := json.Marshal(broken) // a list of integers always encodes
		b = append(append(b, `,"out_of_order":`...), text...)
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
		b = appendInt(b, `,"per_gpu":`, int64(perGPU))
	}
	inference := int32(0)
	for i := range s.servers {
		if s.servers[i].spec.Pool == Inference {
			inference++
		}
	}
	if s.offer != inference {
		b = appendInt(b, `,"offer":`, int64(s.offer))
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
		b = appendText(append(b, `{"tenant":`...), s.tenants[i].name)
		b = appendInt(b, `,"gpus":`, s.tenants[i].limit/WholeGPU)
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
	b = appendText(append(b, `{"id":`...), spec.Name)
	b = appendText(append(b, `,"user":`...), spec.User)
	b = appendText(append(b, `,"tenant":`...), spec.Tenant)
	b = appendSeconds(append(b, `,"submit_s":`...), spec.Submit)
	b = appendInt(b, `,"workers":`, int64(spec.Workers))
	b = appendSome(b, `,"min_workers":`, int64(spec.MinWorkers))
	b = appendSome(b, `,"max_workers":`, int64(spec.MaxWorkers))
	b = appendAmount(b, spec.Request)
	b = appendSomeText(b, `,"model":`, spec.Model)
	b = appendSomeText(b, `,"group":`, spec.Group)
	b = appendSome(b, `,"stages":`, int64(spec.Stages))
	b = appendSome(b, `,"tensor":`, int64(spec.Tensor))
	b = appendSomeText(b, `,"gpu_type":`, spec.GPUType)
	if spec.Mixed {
		b = append(b, `,"mixed":true`...)
	}
	b = s.appendWhere(b, spec.Where)
	b = appendSeconds(append(b, `,"estimate_s":`...), spec.Estimate)
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
		b = appendText(b, s.servers[id].spec.Name)
	}
	return append(b, ']')
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
	b = appendInt(b, `,"mem_mib":`, int64(a.MemMiB))
	return appendSome(b, `,"gpu_mem_mib":`, int64(a.GPUMemMiB))
}

// appendSome writes nothing for 0, and appendSomeText writes nothing for an empty text.
func appendSome(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return appendInt(b, key, n)
}

func appendSomeText(b []byte, key, text string) []byte {
	if text == "" {
		return b
	}
	return appendText(append(b, key...), text)
}
