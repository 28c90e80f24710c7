package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// jobText is what the parser has read of one job. The next job reuses its memory.
type jobText struct {
	JobSpec   `snapshot:",inline"`
	State     Phase         `snapshot:"state,need,phase"`
	Starts    int32         `snapshot:"starts"`
	Progress  time.Duration `snapshot:"progress_s,seconds"`
	Reached   time.Duration `snapshot:"reached_s,seconds"`
	Attained  time.Duration `snapshot:"attained_s,gputime"`
	Speed     rate          `snapshot:"speed,rate"`
	Placement []pieceText   `snapshot:"placement,pieces"`
	Readings  []Reading     `snapshot:"readings,readings"`

	gpus []int32 // of all pieces
}

// pieceText is a piece of a placement, and which fields of it were read.
type pieceText struct {
	Piece
	GPUs []int32 `snapshot:"gpus,need,0..MaxGPUs,most=MaxGPUs"`
	seen uint32
}

var (
	jobFields   = strictjson.Names("snapshot", jobText{})
	jobAmount   = amountAt(jobFields)
	jobStarts   = strictjson.Bits(jobFields, "starts")
	jobSpeed    = strictjson.Bits(jobFields, "speed")
	jobPlaced   = strictjson.Bits(jobFields, "placement")
	pieceAmount = amountAt(strictjson.Names("snapshot", pieceText{}))
)

// jobs reads the list of jobs and adds the jobs to the state.
func (p *snapshotParser) jobs() {
	const chunk = 256 // the state keeps pointers to the specifications, so they cannot move
	var specs []JobSpec
	names := map[string]int32{}
	at := p.top.Jobs
	p.r.Return("jobs", at)
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
	s, j := p.s, &p.job
	s.jobs = append(s.jobs, job{})
	s.Submit(id, spec)
	if j.State == Running {
		p.pieces = p.pieces[:0]
		for i := range j.Placement {
			p.pieces = append(p.pieces, j.Placement[i].Piece)
		}
		if err := s.Restore(id, p.pieces, j.gpus); err != nil {
			p.r.Fail(fmt.Errorf("jobs[%d].placement: %w", id, err))
			return
		}
	}
	own := &s.jobs[id]
	own.starts, own.first, own.done, own.reached, own.served = j.Starts, longAgo, j.Progress, j.Reached, j.Attained
	own.rate = j.Speed.speed
	if len(j.Readings) > 0 {
		all := slices.Clone(j.Readings)
		own.readings = &all
	}
}

// readJob reads the i-th job: what does not change into spec, and what does into p.job.
func (p *snapshotParser) readJob(i int, spec *JobSpec) {
	r, j := p.r, &p.job
	if err := p.ctx.Err(); err != nil {
		r.Fail(err)
		return
	}
	*j = jobText{Placement: j.Placement[:0], gpus: j.gpus[:0], Readings: j.Readings[:0]}
	seen := r.Struct(j)
	if r.Err() != nil {
		return
	}
	j.Request.fill(seen, jobAmount, Amount{GPUMilli: WholeGPU})
	for i := range j.Placement {
		q := &j.Placement[i]
		q.fill(q.seen, pieceAmount, j.Request)
	}
	p.checkJob(seen)
	if *spec = j.JobSpec; r.Err() == nil {
		if err := spec.Validate(); err != nil {
			r.Fail(fmt.Errorf("jobs[%d]: %w", i, err))
		}
	}
}

// checkJob checks the fields that depend on the job's state, and sets the defaults of those left out.
func (p *snapshotParser) checkJob(seen uint32) {
	r, j := p.r, &p.job
	runs, least := j.State == Running, int32(j.State-Pending)
	switch {
	case seen&jobStarts == 0:
		j.Starts = least
	case j.Starts < least:
		r.Bad("starts", strconv.Itoa(int(j.Starts)), fmt.Sprintf("at least %d for a running job", least))
	}
	switch {
	case seen&jobSpeed == 0 && runs:
		j.Speed.speed = 1
	case seen&jobSpeed != 0 && !runs:
		r.Bad("speed", j.Speed.text, aSpeed)
	}
	switch {
	case runs && seen&jobPlaced == 0:
		r.Bad("placement", "missing", "a list of pieces")
	case !runs && len(j.Placement) > 0:
		r.Bad("placement", strconv.Itoa(len(j.Placement)), "no pieces for a job that does not run")
	}
}

// placement reads the placement of a job.
func (p *snapshotParser) placement(to *[]pieceText) {
	r, j := p.r, &p.job
	r.List(MaxServers, func(int) {
		q := pieceText{GPUs: j.gpus[len(j.gpus):]} // it appends to those of the job
		q.seen = r.Struct(&q)
		if n := len(q.GPUs); n != int(q.Workers) {
			r.Bad("gpus", strconv.Itoa(n), fmt.Sprintf("one GPU for each of %d workers", q.Workers))
		}
		j.gpus, *to = append(j.gpus, q.GPUs...), append(*to, q)
	})
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
