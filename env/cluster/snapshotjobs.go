package cluster

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// scratch is what the parser has read of one job. The next job reuses its memory.
type scratch struct {
	job
	speed    string
	read     []uint32 // for each piece, which fields were read, as bits
	measured []Reading
}

// jobs reads the list of jobs at the given place in the text and adds the jobs to the state.
func (p *snapshotParser) jobs(at strictjson.Place) {
	const chunk = 256 // the state keeps pointers to the specifications, so they cannot move
	var specs []JobSpec
	names := map[string]int32{}
	p.r.Return(topFields[topJobs], at)
	p.r.List(maxSnapshotJobs, func(i int) {
		if len(specs) == 0 {
			specs = make([]JobSpec, chunk)
		}
		spec := &specs[0]
		if p.readJob(i, spec); p.r.Err() != nil {
			return
		}
		specs = specs[1:]
		if first, twice := names[spec.Name]; twice {
			p.r.Bad("id", strconv.Quote(spec.Name), fmt.Sprintf("another than that of jobs[%d]", first))
			return
		}
		if len(p.s.jobs) == cap(p.s.jobs) { // not for all elements at once: there may be very many that are not jobs
			p.s.jobs = slices.Grow(p.s.jobs, min(i+chunk, at.Elements-i))
		}
		names[spec.Name] = int32(i)
		p.restore(JobID(i), spec)
	})
}

// restore adds to the state the job that was just read.
func (p *snapshotParser) restore(id JobID, spec *JobSpec) {
	s, j := p.s, &p.job.job
	s.jobs = append(s.jobs, job{})
	s.Submit(id, spec)
	if j.phase == Running {
		if err := s.Restore(id, j.pieces, j.gpus); err != nil {
			p.r.Fail(fmt.Errorf("jobs[%d].placement: %w", id, err))
			return
		}
	}
	own := &s.jobs[id]
	own.starts, own.first, own.done, own.reached, own.served, own.rate = j.starts, longAgo, j.done, j.reached, j.served, j.rate
	if len(p.job.measured) > 0 {
		all := slices.Clone(p.job.measured)
		own.readings = &all
	}
}

// The fields of a job. Those of its amount come first.
var jobFields = slices.Concat(amountFields, []string{
	"id", "user", "tenant", "submit_s", "workers", "min_workers", "max_workers", "model", "group", "stages", "tensor", "gpu_type",
	"mixed", "servers", "estimate_s", "ran_s", "state", "starts", "progress_s", "reached_s", "attained_s", "speed", "placement",
	"readings",
})

var (
	jobNeeds  = strictjson.Bits(jobFields, "id", "submit_s", "workers", "state")
	jobStarts = strictjson.Bits(jobFields, "starts")
	jobSpeed  = strictjson.Bits(jobFields, "speed")
	jobPlaced = strictjson.Bits(jobFields, "placement")
)

// readJob reads the i-th job: what does not change into spec, and what does into p.job.
func (p *snapshotParser) readJob(i int, spec *JobSpec) {
	r, j := p.r, &p.job
	if err := p.ctx.Err(); err != nil {
		r.Fail(err)
		return
	}
	*spec = JobSpec{}
	*j = scratch{job: job{pieces: j.pieces[:0], gpus: j.gpus[:0]}, read: j.read[:0], measured: j.measured[:0]}
	seen := r.Object(jobFields, jobNeeds, func(field int) { p.jobField(field, spec) })
	if r.Err() != nil {
		return
	}
	spec.Request.fill(seen, Amount{GPUMilli: WholeGPU})
	for i := range j.pieces {
		j.pieces[i].fill(j.read[i], spec.Request)
	}
	p.checkJob(seen)
	if err := spec.Validate(); err != nil {
		r.Fail(fmt.Errorf("jobs[%d]: %w", i, err))
	}
}

// jobField reads one field of a job.
func (p *snapshotParser) jobField(field int, spec *JobSpec) {
	r, j := p.r, &p.job
	switch jobFields[field] {
	default:
		readAmount(r, field, &spec.Request)
	case "id":
		spec.Name = readName(r, true)
	case "user":
		spec.User = readName(r, false)
	case "tenant":
		spec.Tenant = readName(r, false)
	case "submit_s":
		spec.Submit = readSeconds(r, p.now)
	case "workers":
		spec.Workers = r.Count(1)
	case "min_workers":
		spec.MinWorkers = r.Count(1)
	case "max_workers":
		spec.MaxWorkers = r.Count(1)
	case "model":
		spec.Model = readName(r, false)
	case "group":
		spec.Group = readName(r, false)
	case "stages":
		spec.Stages = r.Count(0)
	case "tensor":
		spec.Tensor = r.Count(0)
	case "gpu_type":
		spec.GPUType = readName(r, false)
	case "mixed":
		spec.Mixed = r.Flag()
	case "servers":
		spec.Where = p.named.where(r)
	case "estimate_s":
		spec.Estimate = readSeconds(r, maxTime)
	case "ran_s":
		spec.Ran = readSeconds(r, maxTime)
	case "state":
		j.phase = Pending + Phase(r.OneOf(phaseNames[Pending:Done]...))
	case "starts":
		j.starts = r.Count(0)
	case "progress_s":
		j.done = readSeconds(r, maxTime)
	case "reached_s":
		j.reached = readSeconds(r, maxTime)
	case "attained_s":
		j.served = readSeconds(r, maxAttained)
	case "speed":
		j.speed = string(r.Numeral())
		var err error
		if j.rate, err = strconv.ParseFloat(j.speed, 64); err != nil || !(j.rate > 0 && j.rate <= 1e6) {
			r.Refuse(aSpeed)
		}
	case "placement":
		r.List(MaxServers, func(int) { p.piece() })
	case "readings":
		r.List(MaxReadings, func(int) { j.measured = append(j.measured, p.reading(j.measured)) })
	}
}

const aSpeed = "a number above 0 and at most 1e6, for a running job only"

// checkJob checks the fields that depend on the job's state, and sets the defaults of those left out.
func (p *snapshotParser) checkJob(seen uint32) {
	r, j := p.r, &p.job
	runs, least := j.phase == Running, int32(j.phase-Pending)
	switch {
	case seen&jobStarts == 0:
		j.starts = least
	case j.starts < least:
		r.Bad("starts", strconv.Itoa(int(j.starts)), fmt.Sprintf("at least %d for a running job", least))
	}
	switch {
	case seen&jobSpeed == 0 && runs:
		j.rate = 1
	case seen&jobSpeed != 0 && !runs:
		r.Bad("speed", j.speed, aSpeed)
	}
	switch {
	case runs && seen&jobPlaced == 0:
		r.Bad("placement", "missing", "a list of pieces")
	case !runs && len(j.pieces) > 0:
		r.Bad("placement", strconv.Itoa(len(j.pieces)), "no pieces for a job that does not run")
	}
}

var pieceFields = slices.Concat(amountFields, []string{"server", "workers", "gpus"})

var pieceNeeds = strictjson.Bits(pieceFields, "server", "workers", "gpus")

// piece reads one piece of a job's placement.
func (p *snapshotParser) piece() {
	r, j := p.r, &p.job
	var q Piece
	first := len(j.gpus)
	read := r.Object(pieceFields, pieceNeeds, func(field int) {
		switch pieceFields[field] {
		default:
			readAmount(r, field, &q.Amount)
		case "server":
			q.Server = p.named.read(r)
		case "workers":
			q.Workers = int32(r.Number(1, MaxGPUs))
		case "gpus":
			r.List(MaxGPUs, func(int) { j.gpus = append(j.gpus, int32(r.Number(0, MaxGPUs))) })
		}
	})
	if n := len(j.gpus) - first; n != int(q.Workers) {
		r.Bad("gpus", strconv.Itoa(n), fmt.Sprintf("one GPU for each of %d workers", q.Workers))
	}
	j.pieces, j.read = append(j.pieces, q), append(j.read, read)
}

// naming finds servers by name. It gives jobs with equal lists of acceptable servers the same set.
type naming struct {
	ids  map[string]ServerID
	sets ServerSets
	next *ServerSet // empty, for the next job with a list
}

// read reads the name of a server and returns its id.
func (n *naming) read(r *strictjson.Reader) ServerID {
	name, _ := r.String(names.Longest)
	id, known := n.ids[name]
	if !known {
		r.Refuse("the name of a server in this snapshot")
	}
	return id
}

// where reads the list of the servers that a job accepts.
func (n *naming) where(r *strictjson.Reader) *ServerSet {
	if n.next == nil {
		n.next = NewServerSet(len(n.ids))
	}
	set := n.next
	r.List(MaxServers, func(int) {
		id := n.read(r)
		if r.Err() == nil && set.Has(id) {
			r.Refuse("each server once")
		}
		if r.Err() == nil {
			set.Add(id)
		}
	})
	if r.Err() != nil {
		return nil
	}
	known := n.sets.Of(set)
	if known != set {
		clear(set.bits)
		return known
	}
	if n.next = nil; len(n.sets) > maxWhere/len(n.ids) {
		r.Refuse(fmt.Sprintf("at most %d different lists in this snapshot", maxWhere/len(n.ids)))
	}
	return known
}
