package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
)

// Limits of a log, against hostile or mistaken ones.
const (
	maxLogLine = 16 << 20                   // bytes
	maxLogJobs = 1 << 27                    // jobs
	maxTime    = 100 * 365 * 24 * time.Hour // of a submit time, a duration and a horizon
	lastTime   = int64(never - 1)           // of any record
)

// unsubmitted is the kind of the lines after the records: jobs that had not come.
const unsubmitted = End + 1

// ReadLog reads what Log.Write wrote. Lines that the format does not allow are errors with the line, the field, its value
// and what was expected. It checks that ids name what the header and the submissions hold and that time does not run back,
// not that the cluster allowed what the records say: Replay does.
func ReadLog(r io.Reader) (*Log, error) {
	p := parser{in: bufio.NewScanner(r), scan: scanner{intern: map[string]string{}}}
	p.in.Buffer(make([]byte, 0, 64<<10), maxLogLine)
	err := p.read()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("more than %d bytes", maxLogLine)
	}
	if err != nil {
		return nil, fmt.Errorf("read log: line %d: %w", max(p.number, 1), err)
	}
	return &p.log, nil
}

// parser builds a log line by line.
type parser struct {
	in     *bufio.Scanner
	scan   scanner
	number int // of the line in hand, from 1
	log    Log
	count  int             // jobs that the header announces
	jobs   []trace.Job     // in the order of their lines
	ids    []cluster.JobID // of jobs
	ended  bool            // the end was read
	rest   bool            // a job that had not come was read
}

func (p *parser) read() error {
	if ok, err := p.next(); err != nil || !ok {
		return errors.Join(err, errors.New("no header"))
	}
	if err := p.header(); err != nil {
		return err
	}
	for {
		ok, err := p.next()
		if err != nil {
			return err
		}
		if !ok {
			return p.settle()
		}
		if err := p.line(); err != nil {
			return err
		}
	}
}

func (p *parser) next() (bool, error) {
	p.number++
	if !p.in.Scan() {
		return false, p.in.Err()
	}
	p.scan.reset(p.in.Bytes())
	return true, nil
}

// settle puts the jobs in the order of their ids.
func (p *parser) settle() error {
	if len(p.jobs) != p.count {
		return fmt.Errorf("the log ends after %d jobs, want the %d of its header", len(p.jobs), p.count)
	}
	p.log.Jobs = make([]trace.Job, p.count)
	seen := make([]bool, p.count)
	for i, id := range p.ids {
		if seen[id] {
			return fmt.Errorf("the log submits job %d twice", id)
		}
		seen[id], p.log.Jobs[id] = true, p.jobs[i]
	}
	return nil
}

var headerFields = []string{
	"format", "version", "scheduler", "physics", "overhead", "from_scratch", "horizon", "jobs", "servers",
}

func (p *parser) header() error {
	s, c := &p.scan, &p.log.Config
	seen, name := uint32(0), ""
	s.expect('{', "header")
	for n := 0; s.more('}', n, "header"); n++ {
		switch s.key(headerFields, &seen) {
		case 0:
			if f := s.text("format"); f != LogFormat {
				s.bad("format", strconv.Quote(f), strconv.Quote(LogFormat))
			}
		case 1:
			s.number("version", LogVersion, LogVersion)
		case 2:
			p.log.Scheduler = s.text("scheduler")
		case 3:
			name = s.text("physics")
		case 4:
			c.Overhead = time.Duration(s.number("overhead", 0, int64(maxTime)))
		case 5:
			c.FromScratch = s.flag("from_scratch")
		case 6:
			c.Horizon = time.Duration(s.number("horizon", 0, int64(maxTime)))
		case 7:
			p.count = int(s.number("jobs", 0, maxLogJobs))
		case 8:
			c.Cluster.Servers = p.servers()
		}
	}
	s.end()
	s.require(headerFields, seen, 1<<len(headerFields)-1)
	if s.err != nil {
		return s.err
	}
	var err error
	if c.Physics, err = physics.Parse(name); err != nil {
		return err
	}
	return c.Cluster.Validate()
}

// require reports the first of the needed fields that is missing.
func (s *scanner) require(names []string, seen, need uint32) {
	if missing := need &^ seen; missing != 0 {
		s.bad(names[bits.TrailingZeros32(missing)], "", "this field")
	}
}

var serverFields = []string{"name", "gpus", "cpu_milli", "mem_mib", "pool", "from", "count"}

func (p *parser) servers() (all []cluster.ServerSpec) {
	s := &p.scan
	s.expect('[', "servers")
	for n := 0; s.more(']', n, "servers"); n++ {
		s.path = fmt.Sprintf("servers[%d].", n)
		var v cluster.ServerSpec
		seen, from, count := uint32(0), 0, 1
		s.expect('{', "")
		for n := 0; s.more('}', n, ""); n++ {
			switch s.key(serverFields, &seen) {
			case 0:
				v.Name = s.text("name")
			case 1:
				v.GPUs = int32(s.number("gpus", 0, cluster.MaxGPUs))
			case 2:
				v.CPUMilli = s.limit("cpu_milli")
			case 3:
				v.MemMiB = s.limit("mem_mib")
			case 4:
				v.Pool = s.pool()
			case 5:
				from = int(s.number("from", 0, 1<<30))
			case 6:
				count = int(s.number("count", 2, cluster.MaxServers))
			}
		}
		s.require(serverFields, seen, 0b11111)
		if grouped := seen >> 5; grouped != 0 {
			s.require(serverFields, seen, 0b1111111)
		}
		if len(all)+count > cluster.MaxServers {
			s.bad("count", strconv.Itoa(count), fmt.Sprintf("at most %d servers in all", cluster.MaxServers))
		}
		if s.path = ""; s.err != nil {
			return nil
		}
		for i, name := 0, v.Name; i < count; i++ {
			if count > 1 {
				v.Name = name + strconv.Itoa(from+i)
			}
			all = append(all, v)
		}
	}
	return all
}

// limit is a whole number, or null for cluster.Unlimited.
func (s *scanner) limit(field string) int64 {
	if s.null() {
		return cluster.Unlimited
	}
	return s.number(field, 0, cluster.Unlimited-1)
}

func (s *scanner) pool() cluster.Pool {
	switch name := s.text("pool"); name {
	case cluster.Training.String():
		return cluster.Training
	case cluster.Inference.String():
		return cluster.Inference
	default:
		s.bad("pool", strconv.Quote(name), "training or inference")
		return 0
	}
}

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
)

var lineFields = []string{
	"at", "kind", "job", "server", "pieces", "terminated", "truncated", "name", "workers", "gpu_milli", "work", "status",
	"user", "tenant", "min_workers", "max_workers", "cpu_milli", "mem_mib", "estimate",
}

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
	End:         0,
	unsubmitted: 1<<fJob | 1<<fName | 1<<fWorkers | 1<<fGPUMilli | 1<<fWork | 1<<fStatus,
}

// may are the fields that a line of each kind can have besides.
var may = [...]uint32{
	Submit:      1<<fUser | 1<<fTenant | 1<<fMinWorkers | 1<<fMaxWorkers | 1<<fCPUMilli | 1<<fMemMiB | 1<<fEstimate,
	End:         1<<fTerminated | 1<<fTruncated,
	unsubmitted: 1<<fUser | 1<<fTenant | 1<<fMinWorkers | 1<<fMaxWorkers | 1<<fCPUMilli | 1<<fMemMiB | 1<<fEstimate,
}

// line reads a record, or a job that had not come.
func (p *parser) line() error {
	s, l := &p.scan, &p.log
	var r Record
	var j trace.Job
	var seen uint32
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
		}
	}
	s.end()
	p.check(&r, seen)
	if s.err != nil {
		return s.err
	}
	return p.add(r, j)
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

var pieceFields = []string{"server", "workers", "gpu_milli", "gpus", "cpu_milli", "mem_mib"}

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
