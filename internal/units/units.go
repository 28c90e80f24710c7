// Package units says how a computation has parts of its work done by other processes.
package units

import "context"

// Pool gives units of a job to other processes. A unit is a number: what it stands for depends on the job. Package work has a
// Pool whose processes are on this machine and on others.
type Pool interface {
	// Start makes the job known: what a process must know to compute any unit of it. The pool calls take with the answer to a unit,
	// for several units at a time. If take returns refused, the answer was wrong, for the reason in refused, and the pool gives the
	// unit out again. If it returns failed, the answer could not be stored, and the pool ends with that error.
	Start(job []byte, take func(unit int, answer []byte) (refused, failed error)) error
	// Give gives units out, in this order. It ignores those that are given out already.
	Give(units ...int)
	// Wait returns nil once take has accepted an answer to every unit, and an error if the pool has ended or ctx ends.
	Wait(ctx context.Context, units ...int) error
}
