package cluster

import "context"

// Interruptible is a Scheduler whose decisions may take long and can be broken off.
type Interruptible interface {
	Scheduler
	// Within makes later decisions break off with the error of ctx after it ends.
	Within(ctx context.Context)
}

// Within calls the method Within of an Interruptible, also of one within others that have a method Unwrap. It does nothing to
// other schedulers: their decisions are short.
func Within(ctx context.Context, s Scheduler) {
	for {
		if i, ok := s.(Interruptible); ok {
			i.Within(ctx)
			return
		}
		w, ok := s.(interface{ Unwrap() Scheduler })
		if !ok {
			return
		}
		s = w.Unwrap()
	}
}
