package env

// NewTimeStep returns a time step with the sizes of spec, for callers that encode a state without an environment.
func NewTimeStep(spec *Spec) *TimeStep {
	ts := &TimeStep{}
	spec.fit(ts)
	return ts
}

// CopyFrom makes ts a copy of src that shares no memory with it, but for State.
func (ts *TimeStep) CopyFrom(src *TimeStep) {
	old := *ts
	*ts = *src
	ts.Servers = append(old.Servers[:0], src.Servers...)
	ts.Jobs = append(old.Jobs[:0], src.Jobs...)
	ts.Items = append(old.Items[:0], src.Items...)
	ts.Global = append(old.Global[:0], src.Global...)
	ts.Mask = append(old.Mask[:0], src.Mask...)
	ts.Window = append(old.Window[:0], src.Window...)
	ts.Refused = append(old.Refused[:0], src.Refused...)
}
