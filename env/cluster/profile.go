package cluster

import "reflect"

// Profile is what a scheduler may know of speed before it decides: what profiles of the models say of a running job as it is
// placed, also in the middle of a transaction. The truth may differ from it. A physics model is one.
type Profile interface {
	// Speed is work per time, above 0: 1 for a job alone with what it asked for, on reference hardware, well placed.
	Speed(s *View, job JobID) float64
	// Coupled appends the running jobs whose speed may change because a job takes or has left a placement. The job itself need
	// not be among them, and a job may come twice.
	Coupled(s *View, p Placement, dst []JobID) []JobID
}

// SetProfile states what schedulers may know of speed; nil, as in a new state, for nothing. Drivers call it.
func (s *State) SetProfile(p Profile) { s.profile = p }

// Profile returns what may be known of speed, nil if nothing is. It is shared by copies of the state.
func (s *View) Profile() Profile { return s.profile }

// SameProfile reports whether two profiles are the same for certain: of equal parts, down to pointers and plain values.
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
