package sim

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// header is the first line of a log.
type header struct {
	Format    uint8  `log:"format,need,format"`
	Version   int    `log:"version,need,2..2"`
	Scheduler string `log:"scheduler,need,text"`
	Jobs      int    `log:"jobs,need,0..maxLogJobs"`
	Config    `log:",inline"`
}

// recordFields are the fields of a record. They come first among those of a line; the others describe a job.
var (
	recordFields = []string{
		"at", "kind", "job", "server", "pieces", "terminated", "truncated", "gpu", "need", "offer", "speed",
	}
	jobFields  = strictjson.Names("log", trace.Job{})
	lineFields = slices.Concat(recordFields, jobFields)
)

// needs and may are the fields that a line must have, and those that it may have in addition, by the kind of the line. Every line
// must also have the two fields of ofLine.
var (
	ofLine   = strictjson.Bits(lineFields, "at", "kind")
	ofServer = strictjson.Bits(lineFields, "server")
	ofJob    = strictjson.Bits(lineFields, "job")
	ofGPU    = strictjson.Bits(lineFields, "gpu")
	placed   = ofJob | strictjson.Bits(lineFields, "pieces")
	submits  = ofJob | strictjson.Bits(lineFields, "name", "workers", "gpu_milli", "work", "status")
	describe = strictjson.Bits(lineFields, jobFields...)

	needs = [...]uint32{
		Submit: submits, Start: placed, Resize: placed, Preempt: ofJob, Migrate: placed, Loan: ofServer, Reclaim: ofServer,
		Finish: ofJob, Fail: ofServer, Repair: ofServer, Interrupt: ofJob, Need: strictjson.Bits(lineFields, "need", "offer"),
		Seize: ofServer, Measure: ofJob | strictjson.Bits(lineFields, "speed"), End: 0, unsubmitted: submits,
	}
	may = [...]uint32{
		Submit: describe, Fail: ofGPU, Repair: ofGPU, End: strictjson.Bits(lineFields, "terminated", "truncated"),
		unsubmitted: describe,
	}
)

func (p *parser) header() error {
	var h header
	p.r.Struct(&h)
	p.r.End()
	if h.Warm > h.Jobs {
		p.r.Bad("warm", strconv.Itoa(h.Warm), fmt.Sprintf("at most the %d jobs of the header", h.Jobs))
	}
	if err := p.r.Err(); err != nil {
		return err
	}
	p.log.Scheduler, p.count, p.log.Config = h.Scheduler, h.Jobs, h.Config
	if err := h.Cluster.Validate(); err != nil {
		return err
	}
	return h.validate()
}

// line reads a record, or a job that was not submitted before the log ended.
func (p *parser) line() error {
	rec := Record{Index: -1}
	var d Demand
	p.job = trace.Job{}
	seen := p.r.Object(lineFields, ofLine, func(i int) {
		if i < len(recordFields) {
			p.recordField(recordFields[i], &rec, &d)
		} else {
			p.describe.Read(p.r, i-len(recordFields), &p.job)
		}
	})
	p.r.End()
	p.check(&rec, seen)
	p.index(&rec, d)
	if err := p.r.Err(); err != nil {
		return err
	}
	return p.add(rec, &p.job)
}

// recordField reads a field of a record. It does so without a Format, which would take a fifth more time for a log.
func (p *parser) recordField(field string, rec *Record, d *Demand) {
	r, l := p.r, &p.log
	switch field {
	case "at":
		rec.At = time.Duration(r.Number(0, int64(lastTime)))
	case "kind":
		rec.Kind = Kind(r.OneOf(kindNames[:]...))
	case "job":
		rec.Job = cluster.JobID(r.Number(0, int64(p.count)-1))
	case "server":
		readServer(r, &rec.Server)
	case "pieces":
		rec.Index = l.place()
		p.pieces()
	case "terminated":
		if l.Outcome.Terminated = r.Flag(); !l.Outcome.Terminated {
			r.Refuse("true")
		}
	case "truncated":
		if l.Outcome.Truncated = readText(r); l.Outcome.Truncated == "" {
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
	}
}

// check verifies that the line has the fields that its kind requires and no others, and that it may follow the lines before it.
func (p *parser) check(rec *Record, seen uint32) {
	need := needs[rec.Kind] | ofLine
	require(p.r, lineFields, seen, need)
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

func (p *parser) add(rec Record, j *trace.Job) error {
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
		p.jobs, p.ids = append(p.jobs, *j), append(p.ids, rec.Job)
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
				readServer(r, &q.Server)
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

// require records an error if one of the required fields (the bits of need) is missing from the object that was read last.
func require(r *strictjson.Reader, fields []string, seen, need uint32) {
	if missing := need &^ seen; missing != 0 {
		r.Bad(fields[bits.TrailingZeros32(missing)], "missing", "this field")
	}
}
