package sim

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// The fields of a line, in the order of lineFields.
const (
	fAt = iota
	fKind
	fJob
	fServer
	fPieces
	fTerminated
	fTruncated
	fName
	fWorkers
	fGPUMilli
	fWork
	fStatus
	fUser
	fTenant
	fMinWorkers
	fMaxWorkers
	fCPUMilli
	fMemMiB
	fEstimate
	fModel
	fGroup
	fStages
	fTensor
	fGPUType
	fMixed
	fGPUMemMiB
	fGPU
	fNeed
	fOffer
	fWhere
)

var lineFields = []string{
	"at", "kind", "job", "server", "pieces", "terminated", "truncated", "name", "workers", "gpu_milli", "work", "status",
	"user", "tenant", "min_workers", "max_workers", "cpu_milli", "mem_mib", "estimate", "model", "group", "stages", "tensor",
	"gpu_type", "mixed", "gpu_mem_mib", "gpu", "need", "offer", "where",
}

// jobFields are those that the line of a job may have beside those that it must have.
const jobFields = 1<<fUser | 1<<fTenant | 1<<fMinWorkers | 1<<fMaxWorkers | 1<<fCPUMilli | 1<<fMemMiB | 1<<fEstimate |
	1<<fModel | 1<<fGroup | 1<<fStages | 1<<fTensor | 1<<fGPUType | 1<<fMixed | 1<<fGPUMemMiB | 1<<fWhere

// needs are the fields that a line of each kind must have.
var needs = [...]uint32{
	Submit:      1<<fJob | 1<<fName | 1<<fWorkers | 1<<fGPUMilli | 1<<fWork | 1<<fStatus,
	Start:       1<<fJob | 1<<fPieces,
	Resize:      1<<fJob | 1<<fPieces,
	Preempt:     1 << fJob,
	Migrate:     1<<fJob | 1<<fPieces,
	Loan:        1 << fServer,
	Reclaim:     1 << fServer,
	Finish:      1 << fJob,
	Fail:        1 << fServer,
	Repair:      1 << fServer,
	Interrupt:   1 << fJob,
	Need:        1<<fNeed | 1<<fOffer,
	Seize:       1 << fServer,
	End:         0,
	unsubmitted: 1<<fJob | 1<<fName | 1<<fWorkers | 1<<fGPUMilli | 1<<fWork | 1<<fStatus,
}

// may are the fields that a line of each kind can have besides.
var may = [...]uint32{
	Submit:      jobFields,
	Fail:        1 << fGPU,
	Repair:      1 << fGPU,
	End:         1<<fTerminated | 1<<fTruncated,
	unsubmitted: jobFields,
}

// line reads a record, or a job that had not come.
func (p *parser) line() error {
	s, l := &p.scan, &p.log
	var r Record
	var j trace.Job
	var seen uint32
	var d Demand
	r.Index = -1
	r.pieces = span{uint32(len(l.pieces)), uint32(len(l.pieces))}
	r.gpus = span{uint32(len(l.gpus)), uint32(len(l.gpus))}
	s.expect('{', "record")
	for n := 0; s.more('}', n, "record"); n++ {
		switch s.key(lineFields, &seen) {
		case fAt:
			r.At = time.Duration(s.number("at", 0, lastTime))
		case fKind:
			r.Kind = s.kind()
		case fJob:
			r.Job = cluster.JobID(s.number("job", 0, int64(p.count)-1))
		case fServer:
			r.Server = cluster.ServerID(s.number("server", 0, int64(len(l.Config.Cluster.Servers))-1))
		case fPieces:
			p.pieces()
			r.pieces.to, r.gpus.to = uint32(len(l.pieces)), uint32(len(l.gpus))
		case fTerminated:
			if l.Outcome.Terminated = s.flag("terminated"); !l.Outcome.Terminated {
				s.bad("terminated", "false", "true")
			}
		case fTruncated:
			if l.Outcome.Truncated = s.text("truncated"); l.Outcome.Truncated == "" {
				s.bad("truncated", `""`, "a reason")
			}
		case fName:
			j.Name = s.text("name")
		case fWorkers:
			j.Workers = int32(s.number("workers", 1, math.MaxInt32))
		case fGPUMilli:
			j.Request.GPUMilli = int32(s.number("gpu_milli", 1, cluster.WholeGPU))
		case fWork:
			j.Work = time.Duration(s.number("work", 0, int64(maxTime)))
		case fStatus:
			j.Status = s.status()
		case fUser:
			j.User = s.text("user")
		case fTenant:
			j.Tenant = s.text("tenant")
		case fMinWorkers:
			j.MinWorkers = int32(s.number("min_workers", 1, math.MaxInt32))
		case fMaxWorkers:
			j.MaxWorkers = int32(s.number("max_workers", 1, math.MaxInt32))
		case fCPUMilli:
			j.Request.CPUMilli = int32(s.number("cpu_milli", 0, math.MaxInt32))
		case fMemMiB:
			j.Request.MemMiB = int32(s.number("mem_mib", 0, math.MaxInt32))
		case fEstimate:
			j.Estimate = time.Duration(s.number("estimate", 0, int64(maxTime)))
		case fModel:
			j.Model = s.text("model")
		case fGroup:
			j.Group = s.text("group")
		case fStages:
			j.Stages = int32(s.number("stages", 1, math.MaxInt32))
		case fTensor:
			j.Tensor = int32(s.number("tensor", 1, cluster.MaxGPUs))
		case fGPUType:
			j.GPUType = s.text("gpu_type")
		case fMixed:
			j.Mixed = s.flag("mixed")
		case fGPUMemMiB:
			j.Request.GPUMemMiB = int32(s.number("gpu_mem_mib", 0, math.MaxInt32))
		case fGPU:
			r.Index = int32(s.number("gpu", 0, cluster.MaxGPUs))
		case fNeed:
			d.Need = s.number("need", 0, math.MaxInt64)
		case fOffer:
			d.Offer = int32(s.number("offer", 0, math.MaxInt32))
		case fWhere:
			j.Where = p.where()
		}
	}
	s.end()
	p.check(&r, seen)
	p.index(&r, d)
	if s.err != nil {
		return s.err
	}
	return p.add(r, j)
}

// where reads the servers that will do for a job, ascending. Jobs that name the same share a set.
func (p *parser) where() *cluster.ServerSet {
	s := &p.scan
	servers := len(p.log.Config.Cluster.Servers)
	set, last := cluster.NewServerSet(servers), int64(-1)
	s.expect('[', "where")
	for n := 0; s.more(']', n, "where"); n++ {
		last = s.number("where", last+1, int64(servers)-1)
		if s.err != nil {
			return nil
		}
		set.Add(cluster.ServerID(last))
	}
	if p.sets == nil {
		p.sets = cluster.ServerSets{}
	}
	return p.sets.Of(set)
}

// check holds the fields of a line to its kind, and the line to the lines before it.
func (p *parser) check(r *Record, seen uint32) {
	s := &p.scan
	need := needs[r.Kind] | 1<<fAt | 1<<fKind
	s.require(lineFields, seen, need)
	if extra := seen &^ (need | may[r.Kind]); extra != 0 {
		s.bad(lineFields[bits.TrailingZeros32(extra)], "unknown field", "those of a line of kind "+r.Kind.String())
	}
	switch last := len(p.log.Records) - 1; {
	case r.Kind == End && bits.OnesCount32(seen&may[End]) != 1:
		s.bad("kind", `"end"`, "either terminated or truncated beside it")
	case r.Kind == unsubmitted:
		p.rest = true
	case p.ended || p.rest:
		s.bad("kind", strconv.Quote(r.Kind.String()), "no record after the end")
	case last >= 0 && r.At < p.log.Records[last].At:
		s.bad("at", strconv.FormatInt(int64(r.At), 10), fmt.Sprintf("at least the %d of the line before", p.log.Records[last].At))
	}
	p.ended = p.ended || r.Kind == End
}

// index settles what Record.Index means: records of need come in the order of the header's demand.
func (p *parser) index(r *Record, d Demand) {
	switch r.Kind {
	case Fail, Repair:
		return
	case Need:
		d.At = r.At
		if all := p.log.Config.Demand; p.needs == len(all) || all[p.needs] != d {
			p.scan.bad("need", strconv.FormatInt(d.Need, 10), "the next demand of the header, at its time")
			return
		}
		r.Index = int32(p.needs)
		p.needs++
		return
	}
	r.Index = 0
}

func (p *parser) add(r Record, j trace.Job) error {
	if r.Kind == Submit || r.Kind == unsubmitted {
		j.Submit = r.At
		if j.Submit > maxTime {
			return fmt.Errorf("at: %d, want at most %d for a submission", r.At, maxTime)
		}
		if err := j.Validate(); err != nil {
			return err
		}
		if len(p.jobs) == p.count {
			return fmt.Errorf("job: %d, want no more than the %d jobs of the header", r.Job, p.count)
		}
		p.jobs, p.ids = append(p.jobs, j), append(p.ids, r.Job)
	}
	if r.Kind != unsubmitted {
		p.log.append(r)
	}
	return nil
}

func (s *scanner) kind() Kind {
	name := s.text("kind")
	for k, n := range kindNames {
		if n == name {
			return Kind(k)
		}
	}
	s.bad("kind", strconv.Quote(name), "the kind of a record")
	return 0
}

func (s *scanner) status() trace.Status {
	name := s.text("status")
	v, err := trace.ParseStatus(name)
	if err != nil || name == "" {
		s.bad("status", strconv.Quote(name), "passed, failed, killed or unknown")
	}
	return v
}

var pieceFields = []string{"server", "workers", "gpu_milli", "gpus", "cpu_milli", "mem_mib", "gpu_mem_mib"}

// pieces reads a placement into the log.
func (p *parser) pieces() {
	s, l := &p.scan, &p.log
	servers := l.Config.Cluster.Servers
	s.expect('[', "pieces")
	n := 0
	for ; s.more(']', n, "pieces"); n++ {
		var q cluster.Piece
		seen, first := uint32(0), len(l.gpus)
		s.expect('{', "pieces")
		for n := 0; s.more('}', n, "pieces"); n++ {
			switch s.key(pieceFields, &seen) {
			case 0:
				q.Server = cluster.ServerID(s.number("server", 0, int64(len(servers))-1))
			case 1:
				q.Workers = int32(s.number("workers", 1, cluster.MaxGPUs))
			case 2:
				q.GPUMilli = int32(s.number("gpu_milli", 1, cluster.WholeGPU))
			case 3:
				s.expect('[', "gpus")
				for n := 0; s.more(']', n, "gpus"); n++ {
					l.gpus = append(l.gpus, int32(s.number("gpus", 0, cluster.MaxGPUs)))
				}
			case 4:
				q.CPUMilli = int32(s.number("cpu_milli", 0, math.MaxInt32))
			case 5:
				q.MemMiB = int32(s.number("mem_mib", 0, math.MaxInt32))
			case 6:
				q.GPUMemMiB = int32(s.number("gpu_mem_mib", 0, math.MaxInt32))
			}
		}
		s.require(pieceFields, seen, 0b1111)
		if s.err != nil {
			return
		}
		if gpus := l.gpus[first:]; len(gpus) != int(q.Workers) {
			s.bad("gpus", strconv.Itoa(len(gpus)), fmt.Sprintf("one for each of %d workers", q.Workers))
		}
		for _, g := range l.gpus[first:] {
			if g >= servers[q.Server].GPUs {
				s.bad("gpus", strconv.Itoa(int(g)), fmt.Sprintf("below the %d GPUs of server %d", servers[q.Server].GPUs, q.Server))
			}
		}
		l.pieces = append(l.pieces, q)
	}
	if n == 0 {
		s.bad("pieces", "none", "at least one")
	}
	if max(len(l.pieces), len(l.gpus)) > math.MaxUint32 {
		s.bad("pieces", "more than a log holds", fmt.Sprintf("at most %d GPU indices in all", uint32(math.MaxUint32)))
	}
}
