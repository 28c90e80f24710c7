package cluster

import "reflect"

// Profile is what a scheduler may know about job speeds before it decides. It predicts, from profiles of the models, the speed
// of a running job in its placement, also in the middle of a transaction. True speeds may differ. A physics model (env/physics)
// is a Profile.
type Profile interface {
	// Speed returns work per time, above 0. A job that runs alone with what it requested, on reference hardware and well placed,
	// has speed 1.
	Speed(s *View, job JobID) float64
	// Coupled appends the running jobs whose speed may change because a job takes or has left the placement p. It may leave out
	// that job itself, and it may append a job twice.
	Coupled(s *View, p Placement, dst []JobID) []JobID
}

// Precise is a Profile that can say more exactly than Coupled which speeds a running job has changed.
type Precise interface {
	Profile
	// Affected appends the other running jobs whose speed may differ from what it would be if the given job did not run. It may
	// append that job itself, and it may append a job twice.
	Affected(s *View, job JobID, dst []JobID) []JobID
}

// Affected appends the running jobs whose speed may differ, according to the profile, from what it would be if the given job did
// not run. It may append that job itself, and it may append a job twice.
func Affected(p Profile, s *View, job JobID, dst []JobID) []JobID {
	if precise, ok := p.(Precise); ok {
		return precise.Affected(s, job, dst)
	}
	return p.Coupled(s, s.Placement(job), dst)
}

// Believed is a Profile that learns while jobs run, so that its predictions change. What is computed from them is valid as long
// as the kind and the version of a job's specification stay the same.
type Believed interface {
	Profile
	// Kind returns a text that is equal for jobs of which the same is believed if they also request the same.
	Kind(spec *JobSpec) string
	// Version returns a number that changes when what is believed of jobs with this specification does.
	Version(spec *JobSpec) int
}

// SpeedKind returns what tells jobs apart whose speeds the profile predicts differently although they request the same: the
// model, or the kind and the version of a profile that is Believed.
func SpeedKind(p Profile, spec *JobSpec) (kind string, version int) {
	if b, ok := p.(Believed); ok {
		return b.Kind(spec), b.Version(spec)
	}
	return spec.Model, 0
}

// SetProfile sets the profile that schedulers may use; nil, as in a new state, means that speeds are unknown. Drivers call it.
// If the state is a copy of a View that shows a belief about speeds, that no longer counts.
func (s *State) SetProfile(p Profile) { s.profile, s.believed.Speeds = p, nil }

// Profile returns the profile of speeds: what is believed, or else what the driver tells schedulers. It is nil if speeds are
// unknown. Copies share it.
func (s *View) Profile() Profile {
	if s.believed.Speeds != nil {
		return s.believed.Speeds
	}
	return s.profile
}

// SetRates lets each running job make progress, from now on, at the rate that the scheduler believes. It does nothing if the
// scheduler has no belief about speeds, or if the driver tells them.
func (t *Txn) SetRates() {
	s, p := t.s, t.view.believed.Speeds
	if p == nil || s.profile != nil {
		return
	}
	for _, id := range s.running {
		j, rate := &s.jobs[id], p.Speed(t.view, id)
		if s.now > j.since {
			j.done = s.progressOf(j) - Scale(s.now-j.since, rate) // which may be negative: it keeps the progress of now
		}
		j.rate = rate
	}
}

// SameProfile reports whether two profiles are certainly the same: all their parts, down to pointers and plain values, are
// equal.
func SameProfile(a, b Profile) bool { return equal(reflect.ValueOf(a), reflect.ValueOf(b)) }

func equal(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Interface:
		return equal(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map, reflect.Func:
		return a.IsNil() && b.IsNil()
	}
	return a.Equal(b)
}
