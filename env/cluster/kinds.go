package cluster

// kinds are the kinds of jobs that were asked for since the last call of Txn.Expect.
type kinds struct {
	all  []kindOf // by job id
	call int64    // number of the call
}

type kindOf struct {
	call int64 // in which the kind was asked for, from 1 on
	kind string
}

// SpeedKind returns what tells jobs apart whose speeds the profile predicts differently although they request the same: the
// model, or the kind of a profile that is Believed.
func (s *View) SpeedKind(id JobID) string {
	spec := s.jobs[id].spec
	b, ok := s.Profile().(Believed)
	switch {
	case !ok:
		return spec.Model
	case s.expected == nil: // a driver may change its profile at any time
		return b.Kind(spec)
	}
	k := &s.kinds
	if n := int(id) + 1 - len(k.all); n > 0 {
		k.all = append(k.all, make([]kindOf, n)...)
	}
	if of := &k.all[id]; of.call != k.call {
		of.call, of.kind = k.call, b.Kind(spec)
	}
	return k.all[id].kind
}
