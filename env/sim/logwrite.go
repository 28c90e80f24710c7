package sim

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// logFormat and logVersion identify the format of a written log.
const (
	logFormat  = "clustergym-log"
	logVersion = 2
)

// Write writes the log as JSON lines: a header, a line for each record in order, and a line for each job that was not submitted
// before the log ended. ReadLog restores the same log from these lines alone. Times are integer nanoseconds. Equal logs give
// equal bytes.
//
//	{"format":"clustergym-log","version":2,"scheduler":"fifo","physics":"ideal",
//	 "restart":{"preempt":0,"migrate":0,"resize":0,"from_scratch":false,"interval":0,"save":0},"horizon":0,"jobs":1,
//	 "servers":[{"name":"server-","from":0,"count":2,"gpus":8,"cpu_milli":null,"mem_mib":null,"pool":"training"}]}
//	{"at":0,"kind":"submit","job":0,"name":"a","workers":2,"gpu_milli":1000,"work":60000000000,"status":"passed"}
//	{"at":0,"kind":"start","job":0,"pieces":[{"server":0,"workers":2,"gpu_milli":1000,"gpus":[0,1]}]}
//	{"at":60000000000,"kind":"finish","job":0}
//	{"at":60000000000,"kind":"end","terminated":true}
//
// Consecutive servers that differ only in a number at the end of their names, counted up by 1, are written as one group: count
// servers, numbered from the field from on. Lines refer to jobs and servers by their ids, which are indices. Write omits these
// fields if they are 0 or empty: of a job user, tenant, min_workers, max_workers, cpu_milli, mem_mib, gpu_mem_mib, model, group,
// stages, tensor, gpu_type, mixed and estimate; of a server gpu_type, gpu_mem_mib and rack; of the header warm, grace, per_gpu,
// no_preemption (true), quotas ([{"tenant":"t","gpus":8}]), outages ([[from,to,server,gpu]], gpu -1 for the whole server), demand
// ([[at,need,offer]], need in thousandths of servers), and readings ({"interval":60000000000,"noise":0.05,"seed":7}). A record of
// kind measure has "speed", the measured throughput. The last record of a truncated episode has "truncated" with the reason. A
// job that was not submitted has a line of kind "unsubmitted" with its submit time as "at". Write returns an error if
// physics.Parse does not accept the physics's name or if a text is not printable UTF-8.
func (l *Log) Write(w io.Writer) error {
	switch {
	case l.forgotten > 0:
		return fmt.Errorf("write log: its first %d records were forgotten", l.forgotten)
	case l.Config.Physics == nil:
		return fmt.Errorf("write log: no physics")
	}
	if _, err := physics.Parse(l.Config.Physics.Name()); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	if err := l.clean(); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	b := l.appendHeader(nil)
	out.Write(append(b, '\n'))
	came := make([]bool, len(l.Jobs))
	for i := range l.Records {
		r := &l.Records[i]
		if r.Kind == Submit {
			came[r.Job] = true
		}
		b = l.appendRecord(b[:0], r)
		out.Write(append(b, '\n'))
	}
	for i := range came {
		if !came[i] {
			b = appendJob(b[:0], unsubmitted, cluster.JobID(i), &l.Jobs[i])
			out.Write(append(b, '\n'))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	return nil
}

// clean returns an error about the first text that ReadLog would refuse.
func (l *Log) clean() error {
	if !names.Clean(l.Scheduler) {
		return fmt.Errorf("scheduler %q: not printable UTF-8", l.Scheduler)
	}
	for i, q := range l.Config.Cluster.Quotas {
		if !names.Clean(q.Tenant) {
			return fmt.Errorf("quota %d: tenant %q: not printable UTF-8", i, q.Tenant)
		}
	}
	for i := range l.Config.Cluster.Servers {
		if v := &l.Config.Cluster.Servers[i]; !names.Clean(v.Name) || !names.Clean(v.GPUType) {
			return fmt.Errorf("server %d: name %q, GPU type %q: not printable UTF-8", i, v.Name, v.GPUType)
		}
	}
	for i := range l.Jobs {
		j := &l.Jobs[i]
		for _, text := range [...]string{j.Name, j.User, j.Tenant, j.Model, j.Group, j.GPUType} {
			if !names.Clean(text) {
				return fmt.Errorf("job %d: %q: not printable UTF-8", i, text)
			}
		}
	}
	return nil
}

func (l *Log) appendHeader(b []byte) []byte {
	b = fmt.Appendf(b, `{"format":"%s","version":%d,"scheduler":`, logFormat, logVersion)
	b = strictjson.AppendText(b, l.Scheduler)
	b = strictjson.AppendText(append(b, `,"physics":`...), l.Config.Physics.Name())
	c, r := &l.Config, &l.Config.Restart
	b = fmt.Appendf(b, `,"restart":{"preempt":%d,"migrate":%d,"resize":%d,"from_scratch":%t,"interval":%d,"save":%d}`,
		r.Preempt, r.Migrate, r.Resize, r.FromScratch, r.Interval, r.Save)
	b = fmt.Appendf(b, `,"horizon":%d,"jobs":%d`, c.Horizon, len(l.Jobs))
	b = strictjson.AppendSome(b, `,"warm":`, int64(c.Warm))
	b = strictjson.AppendSome(b, `,"grace":`, int64(c.Grace))
	b = strictjson.AppendSome(b, `,"per_gpu":`, int64(c.Cluster.PerGPU))
	if c.Cluster.NoPreemption {
		b = append(b, `,"no_preemption":true`...)
	}
	b = appendRows(b, `,"quotas":[`, len(c.Cluster.Quotas), func(b []byte, i int) []byte {
		b = strictjson.AppendText(append(b, `{"tenant":`...), c.Cluster.Quotas[i].Tenant)
		return append(strictjson.AppendInt(b, `,"gpus":`, int64(c.Cluster.Quotas[i].GPUs)), '}')
	})
	b = appendRows(b, `,"outages":[`, len(c.Outages), func(b []byte, i int) []byte {
		o := &c.Outages[i]
		return fmt.Appendf(b, "[%d,%d,%d,%d]", o.From, o.To, o.Server, o.GPU)
	})
	b = appendRows(b, `,"demand":[`, len(c.Demand), func(b []byte, i int) []byte {
		d := &c.Demand[i]
		return fmt.Appendf(b, "[%d,%d,%d]", d.At, d.Need, d.Offer)
	})
	if m := &c.Readings; *m != (Readings{}) {
		b = strictjson.AppendInt(b, `,"readings":{"interval":`, int64(m.Interval))
		b = strictjson.AppendFloat(b, `,"noise":`, m.Noise)
		b = append(strconv.AppendUint(append(b, `,"seed":`...), m.Seed, 10), '}')
	}
	if f := &c.Phases; *f != (Phases{}) {
		b = strictjson.AppendInt(b, `,"phases":{"every":`, int64(f.Every))
		b = strictjson.AppendFloat(b, `,"slowest":`, f.Slowest)
		b = append(strconv.AppendUint(append(b, `,"seed":`...), f.Seed, 10), '}')
	}
	if h := &c.Hidden; *h != (Hidden{}) {
		b = fmt.Appendf(b, `,"hidden":{"speeds":%t,"models":"%s"}`, h.Speeds, h.Models)
	}
	b = append(b, `,"servers":[`...)
	for all, i := l.Config.Cluster.Servers, 0; i < len(all); {
		if i > 0 {
			b = append(b, ',')
		}
		n := alike(all[i:])
		b = appendServers(b, &all[i], n)
		i += n
	}
	return append(b, "]}"...)
}

// appendRows appends a list with its key, or nothing if the list is empty.
func appendRows(b []byte, key string, n int, row func(b []byte, i int) []byte) []byte {
	if n == 0 {
		return b
	}
	b = append(b, key...)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = row(b, i)
	}
	return append(b, ']')
}

// alike returns how many of the servers, counted from the first, form one group.
func alike(servers []cluster.ServerSpec) int {
	first := servers[0]
	prefix, from, numbered := cutNumber(first.Name)
	n := 1
	for numbered && n < len(servers) {
		next := servers[n]
		if next.Name != prefix+strconv.Itoa(from+n) {
			break
		}
		if next.Name = first.Name; next != first {
			break
		}
		n++
	}
	return n
}

// cutNumber splits a name into a prefix and the number at its end. ok is false if there is no such number, or if Itoa would write
// it differently (leading zeros).
func cutNumber(name string) (prefix string, n int, ok bool) {
	prefix = strings.TrimRight(name, "0123456789")
	n, err := strconv.Atoi(name[len(prefix):])
	return prefix, n, err == nil && n < 1<<30 && strconv.Itoa(n) == name[len(prefix):]
}

func appendServers(b []byte, v *cluster.ServerSpec, count int) []byte {
	if prefix, from, _ := cutNumber(v.Name); count > 1 {
		b = strictjson.AppendText(append(b, `{"name":`...), prefix)
		b = strictjson.AppendInt(b, `,"from":`, int64(from))
		b = strictjson.AppendInt(b, `,"count":`, int64(count))
	} else {
		b = strictjson.AppendText(append(b, `{"name":`...), v.Name)
	}
	b = strictjson.AppendInt(b, `,"gpus":`, int64(v.GPUs))
	b = appendLimit(b, `,"cpu_milli":`, v.CPUMilli)
	b = appendLimit(b, `,"mem_mib":`, v.MemMiB)
	b = append(append(b, `,"pool":"`...), v.Pool.String()...)
	b = append(b, '"')
	b = strictjson.AppendSomeText(b, `,"gpu_type":`, v.GPUType)
	b = strictjson.AppendSome(b, `,"gpu_mem_mib":`, int64(v.GPUMemMiB))
	b = strictjson.AppendSome(b, `,"rack":`, int64(v.Rack))
	return append(b, '}')
}

func (l *Log) appendRecord(b []byte, r *Record) []byte {
	if r.Kind == Submit {
		return appendJob(b, Submit, r.Job, &l.Jobs[r.Job])
	}
	b = appendKind(b, r.At, r.Kind)
	switch r.Kind {
	case Loan, Reclaim, Seize:
		b = strictjson.AppendInt(b, `,"server":`, int64(r.Server))
	case Fail, Repair:
		b = strictjson.AppendInt(b, `,"server":`, int64(r.Server))
		if r.Index >= 0 {
			b = strictjson.AppendInt(b, `,"gpu":`, int64(r.Index))
		}
	case Need:
		d := &l.Config.Demand[r.Index]
		b = strictjson.AppendInt(b, `,"need":`, d.Need)
		b = strictjson.AppendInt(b, `,"offer":`, int64(d.Offer))
	case Measure:
		b = strictjson.AppendInt(b, `,"job":`, int64(r.Job))
		b = strictjson.AppendFloat(b, `,"speed":`, l.Speed(r))
	case End:
		if l.Outcome.Terminated {
			return append(b, `,"terminated":true}`...)
		}
		b = strictjson.AppendText(append(b, `,"truncated":`...), l.Outcome.Truncated)
	default:
		b = strictjson.AppendInt(b, `,"job":`, int64(r.Job))
		if p := l.Placement(r); len(p) > 0 {
			b = appendPieces(b, p, l.GPUs(r))
		}
	}
	return append(b, '}')
}

func appendKind(b []byte, at time.Duration, k Kind) []byte {
	b = strictjson.AppendInt(b, `{"at":`, int64(at))
	b = append(b, `,"kind":"`...)
	b = append(b, k.String()...)
	return append(b, '"')
}

func appendJob(b []byte, k Kind, id cluster.JobID, j *trace.Job) []byte {
	b = appendKind(b, j.Submit, k)
	b = strictjson.AppendInt(b, `,"job":`, int64(id))
	b = strictjson.AppendText(append(b, `,"name":`...), j.Name)
	b = strictjson.AppendSomeText(b, `,"user":`, j.User)
	b = strictjson.AppendSomeText(b, `,"tenant":`, j.Tenant)
	b = strictjson.AppendSomeText(b, `,"model":`, j.Model)
	b = strictjson.AppendSomeText(b, `,"group":`, j.Group)
	b = strictjson.AppendSome(b, `,"stages":`, int64(j.Stages))
	b = strictjson.AppendSome(b, `,"tensor":`, int64(j.Tensor))
	b = strictjson.AppendSomeText(b, `,"gpu_type":`, j.GPUType)
	if j.Mixed {
		b = append(b, `,"mixed":true`...)
	}
	b = appendWhere(b, j.Where)
	b = strictjson.AppendInt(b, `,"workers":`, int64(j.Workers))
	b = strictjson.AppendSome(b, `,"min_workers":`, int64(j.MinWorkers))
	b = strictjson.AppendSome(b, `,"max_workers":`, int64(j.MaxWorkers))
	b = appendAmount(b, j.Request)
	b = strictjson.AppendSome(b, `,"estimate":`, int64(j.Estimate))
	b = strictjson.AppendSome(b, `,"deadline":`, int64(j.Deadline))
	b = strictjson.AppendSome(b, `,"priority":`, int64(j.Priority))
	b = strictjson.AppendSome(b, `,"ran":`, int64(j.Ran))
	b = strictjson.AppendInt(b, `,"work":`, int64(j.Work))
	b = append(append(b, `,"status":"`...), j.Status.String()...)
	return append(b, `"}`...)
}

func appendWhere(b []byte, where *cluster.ServerSet) []byte {
	if where == nil {
		return b
	}
	b = append(b, `,"where":[`...)
	n := 0
	for id := range where.All() {
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

func appendPieces(b []byte, p cluster.Placement, gpus []int32) []byte {
	b = append(b, `,"pieces":[`...)
	for i := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = strictjson.AppendInt(b, `{"server":`, int64(p[i].Server))
		b = strictjson.AppendInt(b, `,"workers":`, int64(p[i].Workers))
		b = appendAmount(b, p[i].Amount)
		b = strictjson.AppendInts(append(b, `,"gpus":`...), gpus[:p[i].Workers])
		b, gpus = append(b, '}'), gpus[p[i].Workers:]
	}
	return append(b, ']')
}

func appendAmount(b []byte, a cluster.Amount) []byte {
	b = strictjson.AppendInt(b, `,"gpu_milli":`, int64(a.GPUMilli))
	b = strictjson.AppendSome(b, `,"cpu_milli":`, int64(a.CPUMilli))
	b = strictjson.AppendSome(b, `,"mem_mib":`, int64(a.MemMiB))
	return strictjson.AppendSome(b, `,"gpu_mem_mib":`, int64(a.GPUMemMiB))
}

func appendLimit(b []byte, key string, n int64) []byte {
	if n == cluster.Unlimited {
		return append(append(b, key...), "null"...)
	}
	return strictjson.AppendInt(b, key, n)
}
