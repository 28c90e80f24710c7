package explain

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// rooms finds out when waiting jobs fit in the way in which EASY backfilling finds its shadow time (Lifka, JSSPP 1995; see
// cluster.Shadow). It considers where GPUs become free, not only how many: on a copy of the state, running jobs end in the order
// of their estimated ends until the job fits.

// rooms sets, for each waiting job that does not fit, when it would fit. Jobs of the same shape get the same answer.
func (d *Decision) rooms() {
	s, waiting := &d.after, d.Waiting
	type key struct {
		cluster.Shape
		least int32
		hole  bool // the job fits, and waits for a server that can take all of it
	}
	keyOf := func(w *Wait) key { return key{s.Shape(w.Job), s.Spec(w.Job).Least(), w.Code == spread} }
	var open []key
	found, asker := map[key]*Room{}, map[key]cluster.JobID{}
	for i := range waiting {
		w := &waiting[i]
		if w.Code == heldBack || w.Code == neverFits {
			continue
		}
		k := keyOf(w)
		if _, asked := asker[k]; !asked {
			open = append(open, k)
			asker[k] = w.Job
		}
	}
	if len(open) == 0 {
		return
	}
	var later cluster.State
	s.CopyTo(&later)
	for n, id := range byEnd(&s.View) {
		at := s.Placement(id)
		later.Finish(id)
		if d.late() {
			return
		}
		open = slices.DeleteFunc(open, func(k key) bool {
			if d.late() {
				return false
			}
			fits := startable(&later.View, asker[k])
			if k.hole {
				fits = whole(&later.View, asker[k], at)
			}
			if fits {
				found[k] = roomOf(&s.View, id, n)
			}
			return fits
		})
		if len(open) == 0 {
			break
		}
	}
	for i := range waiting {
		if w := &waiting[i]; w.Code != heldBack && w.Code != neverFits {
			w.Room = found[keyOf(w)]
		}
	}
}

func roomOf(s *cluster.View, id cluster.JobID, before int) *Room {
	p := s.Placement(id)
	r := &Room{Wait: s.Left(id), Job: s.Spec(id).Name, GPUs: p.GPUs(), Before: before, milli: p.GPUMilli()}
	r.Seconds = r.Wait.Seconds()
	for i := range p {
		r.Servers = append(r.Servers, s.Server(p[i].Server).Name)
	}
	return r
}

// byEnd returns the running jobs with an estimate in the order of their estimated ends.
func byEnd(s *cluster.View) []cluster.JobID {
	var ends []cluster.JobID
	for _, id := range s.Running() {
		if s.Knows(id) {
			ends = append(ends, id)
		}
	}
	slices.SortFunc(ends, func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(s.ExpectedFinish(a), s.ExpectedFinish(b)), cmp.Compare(a, b))
	})
	return ends
}

// startable reports whether a waiting job fits now, with the requested number of workers or, if the job allows it, with fewer.
func startable(s *cluster.View, id cluster.JobID) bool {
	if spec := s.Spec(id); spec.Least() < spec.Workers {
		return fits(s, id, spec.Request).room >= int64(spec.Least())
	}
	_, ok := s.BestFit(id, nil)
	return ok
}

// whole reports whether one of the placement's servers has room for the whole job.
func whole(s *cluster.View, id cluster.JobID, p cluster.Placement) bool {
	spec := s.Spec(id)
	for i := range p {
		if s.Fits(p[i].Server, id, spec.Request) >= spec.Workers {
			return true
		}
	}
	return false
}
