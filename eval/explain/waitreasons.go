package explain

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/phrase"
)

// waits explains every job that waits after all operations.
func (d *Decision) waits() {
	s, e := &d.after, newEmpty(&d.after.View)
	for _, id := range bySubmission(&s.View, s.Pending()) {
		if d.late() {
			return
		}
		d.Waiting = append(d.Waiting, look(&s.View, id, e))
	}
	d.rooms()
	for i := range d.Waiting {
		if d.late() {
			return
		}
		w := &d.Waiting[i]
		w.Text = d.sentence(w)
	}
}

// look returns why a job waits, without the sentence.
func look(s *cluster.View, id cluster.JobID, e *empty) Wait {
	spec := s.Spec(id)
	w := Wait{Job: id, Capacity: e.capacity(spec), FreeGPUs: s.FreeTotal(), Excluded: []Excluded{}}
	count := map[Exclusion]int{}
	for i := range s.Servers() {
		_, why := exclude(s, id, cluster.ServerID(i))
		count[why]++
	}
	w.Taking = count[notExcluding]
	for _, why := range exclusions() {
		if n := count[why]; n > 0 {
			w.Excluded = append(w.Excluded, Excluded{why, n})
		}
	}
	now := fits(s, id, spec.Request)
	w.Fits, w.Hole = now.room, now.most
	least := int64(spec.Least())
	gpu := spec.Request
	gpu.CPUMilli, gpu.MemMiB = 0, 0
	quota, limited := s.QuotaLeft(id)
	all := s.Quota(id)
	switch {
	case limited && (quota < least*int64(gpu.GPUMilli) || all < least*int64(gpu.GPUMilli)):
		w.Code = overQuota
	case w.Capacity < least:
		w.Code = neverFits
	case now.room >= least:
		w.Code = heldBack
		if p, ok := s.BestFit(id, nil); ok {
			w.Over = len(p)
		}
		if w.Over > 1 && w.Hole < spec.Workers && e.one(spec) >= int64(spec.Workers) {
			w.Code = spread
		}
	case now.all >= least:
		w.Code = wrongType
	case fits(s, id, gpu).room >= least:
		w.Code = cpuMemory
	case fits(s, id, cluster.Amount{GPUMilli: gpu.GPUMilli}).room >= least:
		w.Code = gpuMemory
	case shares(s, id) < least:
		w.Code = noRoom
	case spec.Together() > 1:
		w.Code = noHole
	default:
		w.Code = perGPU
	}
	return w
}

// sentence returns the reason of a wait as text.
func (d *Decision) sentence(w *Wait) string {
	s, f := &d.after, d.facts
	spec := s.Spec(w.Job)
	var b strings.Builder
	b.WriteString("needs " + need(spec))
	switch w.Code {
	case overQuota:
		quota, _ := s.QuotaLeft(w.Job)
		fmt.Fprintf(&b, "; tenant %q may hold %s, and %s of it are left", spec.Tenant, gpus(s.Quota(w.Job)), gpus(max(quota, 0)))
	case neverFits:
		fmt.Fprintf(&b, "; the empty cluster takes only %d of its workers", w.Capacity)
	case wrongType:
		fmt.Fprintf(&b, " of one type; at most %d fit so", w.Fits)
	case cpuMemory:
		free := "enough"
		if spec.Request.GPUMilli == cluster.WholeGPU {
			free = fmt.Sprint(w.FreeGPUs)
		}
		fmt.Fprintf(&b, "; %s are free, but CPU and memory last for %s", free, phrase.Count(w.Fits, "worker"))
	case gpuMemory:
		fmt.Fprintf(&b, "; the memory free on GPUs lasts for %s", phrase.Count(w.Fits, "worker"))
	case perGPU:
		fmt.Fprintf(&b, "; %d fit, other GPUs have as many jobs as they may", w.Fits)
	case noHole:
		if spec.Together() < spec.Workers {
			fmt.Fprintf(&b, ", %d together", spec.Together())
		}
		fmt.Fprintf(&b, " on one server; largest hole %d", d.hole(w.Job))
	case noRoom:
		fmt.Fprintf(&b, "; %d fit, at most %d on one server", w.Fits, w.Hole)
	case spread:
		fmt.Fprintf(&b, " on one server; largest hole %d; fits only spread over %d: held back by the policy", w.Hole, w.Over)
	case heldBack:
		if w.Fits < int64(spec.Workers) {
			fmt.Fprintf(&b, " or at least %d", spec.Least())
		}
		fmt.Fprintf(&b, ", and %d fit: held back by the policy", w.Fits)
	}
	if r := w.Room; r != nil {
		what, when := "room", "at any moment"
		if w.Code == spread {
			what = "a hole"
		}
		if r.Wait > 0 {
			when = "in about " + phrase.Time(r.Wait)
		}
		fmt.Fprintf(&b, "; %s %s, when %s (%s on %s) ends", what, when, r.Job, gpus(r.milli), several(r.Servers))
		if r.Before > 0 {
			fmt.Fprintf(&b, " as the %s", ordinal(r.Before+1))
		}
	}
	if w.Code == heldBack || w.Code == spread {
		b.WriteString("; " + f.order(&s.View, w.Job))
		if f.besides[w.Job] {
			fmt.Fprintf(&b, "; %s would start it", f.beside)
		}
	}
	return b.String()
}

// hole returns the largest number of GPUs, on one server that the job may use, with enough free share for a worker of the job.
func (d *Decision) hole(id cluster.JobID) int32 {
	s, most := &d.after, int32(0)
	spec := s.Spec(id)
	for i := range s.Servers() {
		if v := cluster.ServerID(i); s.Open(v) && s.MayUse(id, v) {
			most = max(most, freeFor(&s.View, v, spec.Request))
		}
	}
	return most
}
