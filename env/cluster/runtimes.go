package cluster

import "time"

// Beliefs are what a scheduler believes in place of what it is told.
type Beliefs struct {
	Times  RunTimes // View.Remaining, and all that is computed from it, uses it; nil: the estimates of the jobs
	Speeds Profile  // the Profile of the View; nil: what the driver tells
}

// As returns the transaction as a scheduler sees it that has beliefs: its View shows them, and copies of this View do, too. An
// operation on either is an operation on both.
func (t *Txn) As(b Beliefs) *Txn {
	own := &struct {
		Txn
		View
	}{Txn{transaction: t.transaction}, View{t.s.core, b}}
	own.view = &own.View
	return &own.Txn
}

// RunTimes predicts how much longer jobs run.
type RunTimes interface {
	// Left returns how much work a job that has done the work age without ending still has to do, at least 1 ns. It also returns
	// the age (> age) at which to ask again, because the prediction changes then although nothing else happens, or Never.
	Left(spec *JobSpec, age time.Duration) (left, again time.Duration)
}

// RunTimes returns the predictions that the View shows, nil for the estimates of the jobs.
func (s *View) RunTimes() RunTimes { return s.believed.Times }

// Believes reports whether the View shows beliefs. What they say of a job may change at every decision.
func (s *View) Believes() bool { return s.believed.Times != nil || s.believed.Speeds != nil }

// Age returns the most work that a job has had done at any time, including the work before the episode began. It exceeds Progress
// if the job lost work when it was stopped or interrupted.
func (s *View) Age(id JobID) time.Duration {
	j := &s.jobs[id]
	return j.spec.Ran + max(j.reached, s.progressOf(j))
}

// total returns how much work the job has to do in all, counted as Progress counts it. It is 0 if nothing is known about it.
//
// An estimate that the job has outlived is wrong. It then counts as doubled, as often as needed, so that the work left grows with
// the job's age (Tsafrir, Etsion and Feitelson, TPDS 2007, §5, correct such predictions in steps, too).
func (s *View) total(id JobID) time.Duration {
	j, age := &s.jobs[id], s.Age(id)
	if s.believed.Times != nil {
		left, _ := s.believed.Times.Left(j.spec, age)
		return sum(age-j.spec.Ran, left)
	}
	if j.spec.Estimate == 0 {
		return 0
	}
	work := j.spec.Ran + j.spec.Estimate
	for work < age {
		work = sum(work, work)
	}
	return work - j.spec.Ran
}

// sum returns a + b, at most half of Never. Both must be at least 0.
func sum(a, b time.Duration) time.Duration {
	if a > Never/2-b {
		return Never / 2
	}
	return a + b
}

// Knows reports whether anything is known of how long the job runs: an estimate, or a belief.
func (s *View) Knows(id JobID) bool { return s.believed.Times != nil || s.jobs[id].spec.Estimate > 0 }

// Estimate returns the estimate of the job's run time. It is 0 if there is none, or if the View uses predictions in its place.
func (s *View) Estimate(id JobID) time.Duration {
	if s.believed.Times != nil {
		return 0
	}
	return s.jobs[id].spec.Estimate
}

// AsksAgain returns when the prediction for a running job changes although nothing else happens, Never if it does not.
func (s *View) AsksAgain(id JobID) time.Duration {
	if s.believed.Times == nil {
		return Never
	}
	spec := s.jobs[id].spec
	_, again := s.believed.Times.Left(spec, s.Age(id))
	if again == Never {
		return Never
	}
	return s.jobs[id].reaches(again - spec.Ran)
}

// reaches returns when a running job will have done the work at its present rate, Never if the time cannot be represented.
func (j *job) reaches(work time.Duration) time.Duration {
	left := work - j.done
	if float64(left)/j.rate > float64(Never/2) {
		return Never
	}
	return j.since + Scale(left, 1/j.rate)
}
