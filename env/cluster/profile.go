package cluster

// Profile is what a scheduler may know of speed before it decides: what profiles of the models say of a running job as it is
// placed, also in the middle of a transaction. The truth may differ from it. A physics model is one.
type Profile interface {
	// Speed is work per time, above 0: 1 for a job alone with what it asked for, on reference hardware, well placed.
	Speed(s *State, job JobID) float64
	// Coupled appends the running jobs whose speed may change because a job takes or has left a placement. The job itself need
	// not be among them, and a job may come twice.
	Coupled(s *State, p Placement, dst []JobID) []JobID
}

// SetProfile states what schedulers may know of speed; nil, as in a new state, for nothing. Drivers call it.
func (s *State) SetProfile(p Profile) { s.profile = p }

// Profile returns what may be known of speed, nil if nothing is. It is shared by copies of the state.
func (s *State) Profile() Profile { return s.profile }
