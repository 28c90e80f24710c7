package sim

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/strictjson"
)

var lineFields = []string{
	"at", "kind", "job", "server", "pieces", "terminated", "truncated", "name", "workers", "gpu_milli", "work", "status",
	"user", "tenant", "min_workers", "max_workers", "cpu_milli", "mem_mib", "estimate", "model", "group", "stages", "tensor",
	"gpu_type", "mixed", "gpu_mem_mib", "gpu", "need", "offer", "where", "ran", "speed",
}

var statuses = []string{trace.Unknown.String(), trace.Passed.String(), trace.Failed.String(), trace.Killed.String()}

// needs and may are the fields that a line must have, and those that it may have in addition, by the kind of the line. Every line
// must also have the two fields of ofLine.
var (
	ofLine   = strictjson.Bits(lineFields, "at", "kind")
	ofServer = strictjson.Bits(lineFields, "server")
	ofJob    = strictjson.Bits(lineFields, "job")
	placed   = ofJob | strictjson.Bits(lineFields, "pieces")
	submits  = ofJob | strictjson.Bits(lineFields, "name", "workers", "gpu_milli", "work", "status")

	needs = [...]uint32{
		Submit: submits, Start: placed, Resize: placed, Preempt: ofJob, Migrate: placed, Loan: ofServer, Reclaim: ofServer,
		Finish: ofJob, Fail: ofServer, Repair: ofServer, Interrupt: ofJob, Need: strictjson.Bits(lineFields, "need", "offer"),
		Seize: ofServer, Measure: ofJob | strictjson.Bits(lineFields, "speed"), End: 0, unsubmitted: submits,
	}

	ofGPU    = strictjson.Bits(lineFields, "gpu")
	describe = strictjson.Bits(lineFields, "user", "tenant", "min_workers", "max_workers", "cpu_milli", "mem_mib", "estimate",
		"model", "group", "stages", "tensor", "gpu_type", "mixed", "gpu_mem_mib", "where", "ran")

	may = [...]uint32{
		Submit: describe, Fail: ofGPU, Repair: ofGPU, End: strictjson.Bits(lineFields, "terminated", "truncated"),
		unsubmitted: describe,
	}
)

// line reads a record, or a job that was not submitted before the log ended.
func (p *parser) line() error {
	rec := Record{Index: -1}
	var j trace.Job
	var d Demand
	seen := p.r.Object(lineFields, ofLine, func(field int) {
		if !p.recordField(lineFields[field], &rec, &d) {
			p.jobField(lineFields[field], &j)
		}
	})
	p.r.End()
	p.check(&rec, seen)
	p.index(&rec, d)
	if err := p.r.Err(); err != nil {
		return err
	}
	return p.add(rec, j)
}

// recordField reads a field of a record. It returns false if the field describes a job instead.
func (p *parser) recordField(field string, rec *Record, d *Demand) bool {
	r, l := p.r, &p.log
	switch field {
	case "at":
		rec.At = p.duration(lastTime)
	case "kind":
		rec.Kind = Kind(r.OneOf(kindNames[:]...))
	case "job":
		rec.Job = cluster.JobID(r.Number(0, int64(p.count)-1))
	case "server":
		rec.Server = p.server()
	case "pieces":
		rec.Index = l.place()
		p.pieces()
	case "terminated":
		if l.Outcome.Terminated = r.Flag(); !l.Outcome.Terminated {
			r.Refuse("true")
		}
	case "truncated":
		if l.Outcome.Truncated = p.text(); l.Outcome.Truncated == "" {
			r.Refuse("a reason")
		}
	case "gpu":
		rec.Index = int32(r.Number(0, cluster.MaxGPUs))
	case "need":
		d.Need = r.Number(0, math.MaxInt64)
	case "offer":
		d.Offer = r.Count(0)
	case "speed":
		rec.Index, l.speeds = int32(len(l.speeds)), append(l.speeds, r.Positive())
	default:
		return false
	}
	return true
}

// jobField reads a field that describes a job.
func (p *parser) jobField(field string, j *trace.Job) {
	r := p.r
	switch field {
	case "name":
		j.Name = p.text()
	case "workers":
		j.Workers = r.Count(1)
	case "gpu_milli":
		j.Request.GPUMilli = int32(r.Number(1, cluster.WholeGPU))
	case "work":
		j.Work = p.duration(maxTime)
	case "status":
		j.Status = trace.Status(r.OneOf(statuses...))
	case "user":
		j.User = p.text()
	case "tenant":
		j.Tenant = p.text()
	case "min_workers":
		j.MinWorkers = r.Count(1)
	case "max_workers":
		j.MaxWorkers = r.Count(1)
	case "cpu_milli":
		j.Request.CPUMilli = r.Count(0)
	case "mem_mib":
		j.Request.MemMiB = r.Count(0)
	case "estimate":
		j.Estimate = p.duration(maxTime)
	case "ran":
		j.Ran = p.duration(maxTime)
	case "model":
		j.Model = p.text()
	case "group":
		j.Group = p.text()
	case "stages":
		j.Stages = r.Count(1)
	case "tensor":
		j.Tensor = int32(r.Number(1, cluster.MaxGPUs))
	case "gpu_type":
		j.GPUType = p.text()
	case "mixed":
		j.Mixed = r.Flag()
	case "gpu_mem_mib":
		j.Request.GPUMemMiB = r.Count(0)
	case "where":
		j.Where = p.where()
	}
}

// server reads the id of a server.
func (p *parser) server() cluster.ServerID {
	return cluster.ServerID(p.r.Number(0, int64(len(p.log.Config.Cluster.Servers))-1))
}

// where reads the ids of the servers on which a job may run, in ascending order. Jobs with the same ids share one set.
func (p *parser) where() *cluster.ServerSet {
	servers := len(p.log.Config.Cluster.Servers)
	set, last := cluster.NewServerSet(servers), int64(-1)
	p.r.List(servers, func(int) {
		if last = p.r.Number(last+1, int64(servers)-1); p.r.Err() == nil {
			set.Add(cluster.ServerID(last))
		}
	})
	if p.r.Err() != nil {
		return nil
	}
	return p.sets.Of(set)
}

// check verifies that the line has the fields that its kind requires and no others, and that it may follow the lines before it.
func (p *parser) check(rec *Record, seen uint32) {
	need := needs[rec.Kind] | ofLine
	p.require(lineFields, seen, need)
	if extra := seen &^ (need | may[rec.Kind]); extra != 0 {
		p.r.Bad(lineFields[bits.TrailingZeros32(extra)], "unknown field", "those of a line of kind "+rec.Kind.String())
	}
	switch last := len(p.log.Records) - 1; {
	case rec.Kind == End && bits.OnesCount32(seen&may[End]) != 1:
		p.r.Bad("kind", `"end"`, "either terminated or truncated beside it")
	case rec.Kind == unsubmitted:
		p.rest = true
	case p.ended || p.rest:
		p.r.Bad("kind", strconv.Quote(rec.Kind.String()), "no record after the end")
	case last >= 0 && rec.At < p.log.Records[last].At:
		p.r.Bad("at", strconv.FormatInt(int64(rec.At), 10), fmt.Sprintf("at least the %d of the line before", p.log.Records[last].At))
	}
	p.ended = p.ended || rec.Kind == End
}

// index sets Record.Index. The records of kind Need must come in the order of the header's demand.
func (p *parser) index(rec *Record, d Demand) {
	switch rec.Kind {
	case Fail, Repair, Measure, Start, Resize, Migrate:
		return
	case Need:
		d.At = rec.At
		if all := p.log.Config.Demand; p.needs == len(all) || all[p.needs] != d {
			p.r.Bad("need", strconv.FormatInt(d.Need, 10), "the next demand of the header, at its time")
			return
		}
		rec.Index = int32(p.needs)
		p.needs++
		return
	}
	rec.Index = 0
}

func (p *parser) add(rec Record, j trace.Job) error {
	if rec.Kind == Submit || rec.Kind == unsubmitted {
		j.Submit = rec.At
		if j.Submit > maxTime {
			return fmt.Errorf("at: %d, want at most %d for a submission", rec.At, maxTime)
		}
		if err := j.Validate(); err != nil {
			return err
		}
		if len(p.jobs) == p.count {
			return fmt.Errorf("job: %d, want no more than the %d jobs of the header", rec.Job, p.count)
		}
		p.jobs, p.ids = append(p.jobs, j), append(p.ids, rec.Job)
	}
	if rec.Kind != unsubmitted {
		p.log.append(rec)
	}
	return nil
}

var pieceFields = []string{"server", "workers", "gpu_milli", "gpus", "cpu_milli", "mem_mib", "gpu_mem_mib"}

// pieces reads a placement and appends it to the log's pieces and GPU indices.
func (p *parser) pieces() {
	r, l := p.r, &p.log
	n := r.List(maxLogLine, func(int) {
		var q cluster.Piece
		first := len(l.gpus)
		r.Object(pieceFields, 0b1111, func(field int) {
			switch pieceFields[field] {
			case "server":
				q.Server = p.server()
			case "workers":
				q.Workers = int32(r.Number(1, cluster.MaxGPUs))
			case "gpu_milli":
				q.GPUMilli = int32(r.Number(1, cluster.WholeGPU))
			case "gpus":
				r.List(cluster.MaxGPUs, func(int) { l.gpus = append(l.gpus, int32(r.Number(0, cluster.MaxGPUs))) })
			case "cpu_milli":
				q.CPUMilli = r.Count(0)
			case "mem_mib":
				q.MemMiB = r.Count(0)
			case "gpu_mem_mib":
				q.GPUMemMiB = r.Count(0)
			}
		})
		if r.Err() != nil {
			return
		}
		if gpus := l.gpus[first:]; len(gpus) != int(q.Workers) {
			r.Bad("gpus", strconv.Itoa(len(gpus)), fmt.Sprintf("one for each of %d workers", q.Workers))
		}
		for _, g := range l.gpus[first:] {
			if most := l.Config.Cluster.Servers[q.Server].GPUs; g >= most {
				r.Bad("gpus", strconv.Itoa(int(g)), fmt.Sprintf("below the %d GPUs of server %d", most, q.Server))
			}
		}
		l.pieces = append(l.pieces, q)
	})
	if n == 0 {
		r.Bad("", "none", "at least one")
	}
	if max(len(l.pieces), len(l.gpus)) > math.MaxUint32 {
		r.Bad("", "more than a log holds", fmt.Sprintf("at most %d GPU indices in all", uint32(math.MaxUint32)))
	}
}
