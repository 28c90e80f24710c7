package observe

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
)

// observeCandidate fills the part of a candidate's row after its kind. The candidate's operations have just been carried out. job
// is the row of the candidate's job, -1 for none.
func (e *Standard) observeCandidate(o *candidates.Candidate, job int32, row []float32) {
	t := &e.trial
	row[candidateActs] = flag(len(o.Ops) > 0)
	row[candidateWait] = logTime(o.Wait)
	r := result{end: cluster.Never, cost: t.observeOthers(row)}
	if job >= 0 {
		c, gpus := e.observeOwn(o, job, row)
		if e.Uncertainty {
			e.observeUncertainty(o.Job, &c, row[candidateWidth:])
		}
		wait := min(max(o.Wait, 0), 30*365*day)
		blind := wait == 0 && row[candidatePlaced] == 0 // the waiting time is unknown
		if c.run != cluster.Never {
			row[candidateAge] = against(t.state.Now()-t.state.Spec(o.Job).Submit, c.run)
			if wait > 0 {
				row[candidatePatience] = against(wait, c.run)
			}
			if !blind {
				r.end = wait + c.run
			}
		}
		r.cost += c.seconds*(1+t.price*gpus) + wait.Seconds()
		if blind {
			r.cost += c.seconds
		}
	}
	t.results = append(t.results, r)
	e.observeGround(o, row)
	e.observeHead(row)
	t.observePlan(o.Job, row)
}

// observeOwn fills the features of the candidate's job. It returns how the job continues (or how it would run as requested, if it
// waits after the operations) and the number of GPUs that it has to itself.
func (e *Standard) observeOwn(o *candidates.Candidate, job int32, row []float32) (c course, gpus float64) {
	t, s, j := &e.trial, e.trial.state, &e.shown[job]
	row[candidateRuns] = flag(t.pace > 0)
	row[candidateRank] = ratio(int64(e.rank[job]), int64(e.demand.all))
	row[candidateForeseen] = flag(j.known && s.Profile() != nil)
	best := 1.0
	if j.kind != nil && j.kind.best > 0 {
		best = j.kind.best
	}
	if s.Phase(o.Job) != cluster.Running {
		c, gpus = t.courseOf(o.Job, best), s.Spec(o.Job).GPUs()
		if c.run != cluster.Never {
			row[candidateRunTime], row[candidateGPUTime] = logTime(c.run), logTime(span(c.seconds*gpus))
		}
		return c, gpus
	}
	if i, moves := t.mover(o.Job); moves {
		c = t.movers[i].course
	} else {
		c = t.courseOf(o.Job, t.speed(o.Job))
	}
	p := s.Placement(o.Job)
	row[candidatePlaced] = 1
	row[candidateSpeed] = logRatio(c.speed, best)
	if t.pace > 0 {
		row[candidateGain] = logRatio(c.speed, t.pace)
	}
	row[candidateTypeSpeed] = 1
	for i := range p {
		if j.kind != nil {
			row[candidateTypeSpeed] = min(row[candidateTypeSpeed], j.kind.asked[s.TypeOf(p[i].Server)])
		}
	}
	if c.run != cluster.Never {
		row[candidateRunTime], row[candidateGPUTime] = logTime(c.run), logTime(span(c.seconds*p.GPUs()))
	}
	t.observeAmounts(o.Job, p, e.outlook.most, row)
	return c, t.observePartners(o.Job, p, c.run, row)
}

// observeAmounts fills the features of the amounts and the number of servers that the job holds.
func (t *trial) observeAmounts(id cluster.JobID, p cluster.Placement, most int32, row []float32) {
	spec, workers := t.state.Spec(id), p.Workers()
	var held cluster.Total
	t.racks = t.racks[:0]
	largest := int32(0)
	for i := range p {
		held.Add(p[i].Workers, p[i].Amount)
		rack := int(t.state.Server(p[i].Server).Rack)
		for len(t.racks) <= rack {
			t.racks = append(t.racks, 0)
		}
		t.racks[rack] += p[i].Workers
		largest = max(largest, t.racks[rack])
	}
	n := float64(workers)
	row[candidateWorkers] = logRatio(n, float64(spec.Workers))
	row[candidateGPUShare] = ratio(held.GPUMilli, int64(workers)*cluster.WholeGPU)
	row[candidateCPU] = logRatio(float64(held.CPUMilli)/n, float64(spec.Request.CPUMilli))
	row[candidateMemory] = logRatio(float64(held.MemMiB)/n, float64(spec.Request.MemMiB))
	row[candidateScatter] = 1 - ratio(int64(min((workers+most-1)/most, int32(len(p)))), int64(len(p)))
	row[candidateRacks] = 1 - ratio(int64(largest), int64(workers))
}

// observePartners fills the features of the jobs that share GPUs with this one, and returns the number of GPUs that the job has
// to itself.
func (t *trial) observePartners(id cluster.JobID, p cluster.Placement, run time.Duration, row []float32) float64 {
	s, alone, last := t.state, int32(0), time.Duration(-1)
	gpus := s.GPUs(id)
	for i := range p {
		q, use := &p[i], s.GPUUse(p[i].Server)
		own := gpus[:q.Workers]
		gpus = gpus[q.Workers:]
		shared := false
		for _, g := range own {
			if int32(use[g]) == q.GPUMilli {
				alone++
			} else {
				shared = true
			}
		}
		if !shared {
			continue
		}
		for _, other := range s.Residents(q.Server) {
			if other != id && meets(own, s.GPUsOn(other, q.Server)) {
				if end := t.ends(other); end != cluster.Never {
					last = max(last, end)
				}
			}
		}
	}
	row[candidateShared] = 1 - ratio(int64(alone), int64(p.Workers()))
	if last >= 0 && run != cluster.Never {
		row[candidatePartner] = against(run, last)
	}
	return float64(alone)
}

// meets reports whether two lists of GPUs have one in common.
func meets(a, b []int32) bool {
	for _, g := range a {
		if slices.Contains(b, g) {
			return true
		}
	}
	return false
}

// observeOthers fills the features of running jobs that the operations slow down or speed up without moving them, and returns the
// cost of their delay in seconds.
func (t *trial) observeOthers(row []float32) (cost float64) {
	longest := 0.0
	for i := range t.movers {
		if m := &t.movers[i]; m.runs {
			longest = max(longest, m.seconds)
		}
	}
	lost, gained, worst := 0.0, 0.0, 0.0
	for i := range t.others {
		h := &t.others[i]
		left, known := guess, t.state.Left(h.job)
		if known != cluster.Never {
			left = max(known, time.Second).Seconds()
		}
		switch loss := 1 - h.after/h.before; {
		case loss > 0:
			overlap := longest
			if known != cluster.Never || longest == 0 {
				overlap = min(max(longest, 1), left*h.before/h.after)
			}
			worst = max(worst, loss)
			lost += overlap * loss
			cost += overlap * loss * (1 + t.price*t.state.Placement(h.job).GPUs())
		case loss < 0:
			gained += left * (1 - h.before/h.after)
		}
	}
	row[candidateDelay], row[candidateHarm], row[candidateRelief] = logTime(span(lost)), float32(worst), logTime(span(gained))
	return cost
}

// observeGround fills the features of the GPUs that no job uses.
func (e *Standard) observeGround(o *candidates.Candidate, row []float32) {
	t, s, all := &e.trial, e.trial.state, &e.outlook.total
	took := t.free - s.FreeTotal()
	row[candidateTakes] = ratio(max(took, 0), t.free)
	row[candidateTakesAll] = ratio(max(took, 0), all.gpus)
	row[candidateFrees] = min(ratio(max(-took, 0), all.gpus), 1)
	workers := int32(0)
	if o.Job >= 0 && t.pace == 0 {
		workers = s.Spec(o.Job).Workers
	}
	servers, filled, broken, gpus, left, waste := int64(0), int64(0), int64(0), int64(0), int64(0), int64(0)
	for _, id := range t.on {
		was, is, n := e.outlook.servers[id].idle, s.FreeGPUs(id), s.Server(id).GPUs
		servers++
		gpus += int64(n)
		left += int64(is)
		if is > 0 {
			waste += int64(e.demand.waste(is, workers))
		} else if was > 0 {
			filled++
		}
		if was == n && 0 < is && is < n {
			broken++
		}
	}
	row[candidateLeaves], row[candidateWaste] = ratio(left, gpus), ratio(waste, gpus)
	row[candidateFills], row[candidateBreaks] = ratio(filled, servers), min(ratio(broken, int64(all.whole)), 1)
}

// observeHead fills the delay of the head, the first waiting job that cannot start, unless the candidate starts it.
func (e *Standard) observeHead(row []float32) {
	t, h := &e.trial, &e.head
	if !h.there {
		return
	}
	more, end := int64(0), time.Duration(0)
	for i := range t.movers {
		m := &t.movers[i]
		if !m.runs {
			continue
		}
		if m.job == e.held[0].job {
			return
		}
		if d := t.state.Placement(m.job).GPUMilli() - m.milli; d > 0 && m.run > h.wait {
			more += d
			end = max(end, m.run)
		}
	}
	row[candidateDelays] = logTime(h.delay(more, end))
	if h.host >= 0 && t.placed[h.host] > 0 {
		row[candidateBlocks] = logTime(min(t.hole(h), h.second) - h.hole)
	}
}

// hole returns the time, after the operations, until the head's server has enough free GPUs for it.
func (t *trial) hole(h *head) time.Duration {
	s := t.state
	t.gpus = t.gpus[:0]
	for g := range s.Server(h.host).GPUs {
		at := time.Duration(0)
		if s.Failed(h.host, g) {
			at = cluster.Never
		}
		t.gpus = append(t.gpus, at)
	}
	for _, id := range s.Residents(h.host) {
		end := t.state.Left(id)
		if i, moves := t.mover(id); moves {
			end = t.movers[i].run
		}
		for _, g := range s.GPUsOn(id, h.host) {
			t.gpus[g] = max(t.gpus[g], end)
		}
	}
	slices.Sort(t.gpus)
	return t.gpus[h.workers-1]
}

// observePlan fills how many jobs the candidate starts, stops and restarts, and what that costs.
func (t *trial) observePlan(own cluster.JobID, row []float32) {
	starts, stops, restarts := 0, 0, 0
	risk, run, gpuTime := 0.0, 0.0, 0.0
	for i := range t.movers {
		m := &t.movers[i]
		switch {
		case m.runs && !m.ran:
			starts++
			if m.job != own {
				run += m.seconds
				gpuTime += m.seconds * t.state.Placement(m.job).GPUs()
			}
			continue
		case m.ran && m.runs:
			restarts++
		case m.ran:
			stops++
		default:
			continue
		}
		risk += t.state.Progress(m.job).Seconds()
	}
	row[candidateStarts], row[candidateStops], row[candidateRestarts] = logCount(starts), logCount(stops), logCount(restarts)
	row[candidateAtRisk] = logTime(span(risk))
	row[candidateOthersRun], row[candidateOthersGPUTime] = logTime(span(run)), logTime(span(gpuTime))
}

// logRatio returns a third of the binary logarithm of have/want, clamped to [-1, 1]; 0 if want is 0.
func logRatio(have, want float64) float32 {
	if want <= 0 {
		return 0
	}
	return float32(min(max(math.Log2(have/want)/3, -1), 1))
}

// logCount returns log2(1+n)/4, at most 1.
func logCount(n int) float32 { return float32(min(math.Log2(1+float64(n))/4, 1)) }
