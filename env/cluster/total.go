package cluster

// Total is a sum of amounts.
type Total struct{ GPUMilli, CPUMilli, MemMiB int64 }

// Add adds what the given number of workers hold.
func (t *Total) Add(workers int32, a Amount) {
	t.GPUMilli += int64(workers) * int64(a.GPUMilli)
	t.CPUMilli += int64(workers) * int64(a.CPUMilli)
	t.MemMiB += int64(workers) * int64(a.MemMiB)
}

// Sub subtracts another total; the result may be negative.
func (t *Total) Sub(u Total) {
	t.GPUMilli, t.CPUMilli, t.MemMiB = t.GPUMilli-u.GPUMilli, t.CPUMilli-u.CPUMilli, t.MemMiB-u.MemMiB
}

// Holds reports whether the total contains at least the other one in every resource.
func (t *Total) Holds(u Total) bool {
	return u.GPUMilli <= t.GPUMilli && u.CPUMilli <= t.CPUMilli && u.MemMiB <= t.MemMiB
}

// Total returns the capacity of the servers open to training jobs, used or free, without failed GPUs. CPU or memory is Unlimited
// if some server does not model it.
func (s *View) Total() (t Total) {
	for i := range s.servers {
		if v := &s.servers[i]; v.open() {
			t.GPUMilli += int64(s.Working(ServerID(i))) * WholeGPU
			t.CPUMilli = min(t.CPUMilli+v.spec.CPUMilli, Unlimited)
			t.MemMiB = min(t.MemMiB+v.spec.MemMiB, Unlimited)
		}
	}
	return t
}
