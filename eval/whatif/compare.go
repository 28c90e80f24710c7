package whatif

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
)

// Result is one play, or two plays with their difference. Times are in seconds after the beginning; the time of an event that did
// not happen is null.
type Result struct {
	Now      float64 `json:"now_s"`
	Decision int     `json:"decision,omitempty"` // of the log; 0 for a snapshot
	// Does and Instead are what is done at first if only that differs, and Dropped what no longer fits then.
	Does       string    `json:"does,omitempty"`
	Instead    string    `json:"instead,omitempty"`
	Dropped    []string  `json:"no_longer_fits,omitempty"`
	Differs    bool      `json:"decides_otherwise,omitempty"` // the policy does not repeat the log after the decision as it was
	Jobs       int       `json:"jobs"`                        // number of jobs that have not ended
	Compared   int       `json:"compared"`                    // jobs that finish in both plays: means are over these
	Base       Side      `json:"base"`
	Change     *Side     `json:"change,omitempty"`
	Difference *Totals   `json:"difference,omitempty"` // change - base
	Effects    []Effect  `json:"effects"`              // every job, the most affected first; of a single play, by start
	Assumed    []Assumed `json:"assumed"`              // in either play
}

// Side is the summary of one play.
type Side struct {
	Policy  string `json:"policy"`
	Cluster string `json:"cluster"`         // description of the change
	Servers int    `json:"servers"`         // open to training at the beginning
	GPUs    int64  `json:"gpus"`            // that work, on those
	Ended   string `json:"ended,omitempty"` // the reason if the play was cut off
	Totals
	Costs []objectives.Bill `json:"costs,omitempty"` // by each objective of Options
}

// Totals are the totals and means of a play. Utilisation is the GPU-time held, divided by the GPU-time open to training jobs,
// until the last finish.
type Totals struct {
	MeanWait      float64 `json:"mean_wait_s"` // time without GPUs after the snapshot, including time after a preemption
	MeanJCT       float64 `json:"mean_jct_s"`  // finish - submission, including a job's age at the snapshot
	Makespan      float64 `json:"makespan_s"`  // time of the last finish
	Utilisation   float64 `json:"gpu_utilisation"`
	Held          float64 `json:"gpu_hours"` // by jobs until then
	Preemptions   int     `json:"preemptions"`
	Migrations    int     `json:"migrations"`
	Resizes       int     `json:"resizes"`
	Interruptions int     `json:"interruptions"` // by a server that was removed or that the inference pool took back
	Unfinished    int     `json:"unfinished"`
}

// Effect compares what happens to one job in each play.
type Effect struct {
	Job     string   `json:"job"`
	Workers int32    `json:"workers"`
	Ran     bool     `json:"running"` // whether it runs at the beginning
	Age     float64  `json:"age_s"`   // then; negative for a job that is still to come
	Base    Fate     `json:"base"`
	Change  *Fate    `json:"change,omitempty"`
	Earlier *float64 `json:"earlier_s,omitempty"` // how much earlier it finishes with the change; negative if later
}

// Fate is what happens to a job in one play.
type Fate struct {
	Start  *float64 `json:"start_s"` // 0 for a job that continues to run
	Finish *float64 `json:"finish_s"`
	Wait   float64  `json:"wait_s"`
	Stops  int      `json:"stops"`                     // number of preemptions and interruptions
	AtOnce bool     `json:"stopped_at_once,omitempty"` // whether it runs in the snapshot and is stopped at once
	Never  Never    `json:"never,omitempty"`
}

// Compare compares two plays of one beginning; change may be nil.
func Compare(base, change *Outcome) *Result {
	r := &Result{
		Now: base.Now.Seconds(), Decision: base.First.Decision, Jobs: len(base.Jobs), Effects: []Effect{}, Assumed: []Assumed{},
		Differs: base.Differs,
	}
	r.Assumed = append(r.Assumed, base.Assumed...)
	if change != nil {
		if change.First.Altered {
			r.Does, r.Instead, r.Dropped = base.First.Does, change.First.Does, change.First.Dropped
		}
		for _, a := range change.Assumed {
			if !slices.Contains(r.Assumed, a) {
				r.Assumed = append(r.Assumed, a)
			}
		}
	}
	both := func(i int) bool { return base.Jobs[i].Finished && (change == nil || change.Jobs[i].Finished) }
	for i := range base.Jobs {
		if both(i) {
			r.Compared++
		}
	}
	r.Base = base.side(both)
	order := make([]int, len(base.Jobs))
	for i := range order {
		order[i] = i
	}
	if change == nil {
		slices.SortStableFunc(order, func(a, b int) int { return base.Jobs[a].before(&base.Jobs[b]) })
	} else {
		other := change.side(both)
		r.Change, r.Difference = &other, other.minus(&r.Base.Totals)
		slices.SortStableFunc(order, func(a, b int) int {
			x, y := shift(&base.Jobs[a], &change.Jobs[a]), shift(&base.Jobs[b], &change.Jobs[b])
			return cmp.Or(cmp.Compare(y.ends, x.ends), cmp.Compare(y.finish, x.finish), cmp.Compare(y.start, x.start))
		})
	}
	for _, i := range order {
		j := &base.Jobs[i]
		e := Effect{Job: j.Name, Workers: j.Workers, Ran: j.Ran, Age: j.Age.Seconds(), Base: j.fate()}
		if change != nil {
			fate := change.Jobs[i].fate()
			e.Change = &fate
			if both(i) {
				earlier := (j.Finish - change.Jobs[i].Finish).Seconds()
				e.Earlier = &earlier
			}
		}
		r.Effects = append(r.Effects, e)
	}
	return r
}

// before orders jobs by start; jobs that never start come last.
func (j *Job) before(k *Job) int {
	late := func(j *Job) int {
		if j.Started {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(late(j), late(k)), cmp.Compare(j.Start, k.Start), cmp.Compare(j.ID, k.ID))
}

// moved measures how much a change affects a job.
type moved struct {
	ends          int // 1 if the job finishes in only one of the plays
	finish, start time.Duration
}

func shift(a, b *Job) moved {
	switch {
	case a.Finished != b.Finished:
		return moved{ends: 1}
	case !a.Finished:
		return moved{start: (a.Start - b.Start).Abs()}
	}
	return moved{finish: (a.Finish - b.Finish).Abs(), start: (a.Start - b.Start).Abs()}
}

func (j *Job) fate() Fate {
	f := Fate{Wait: j.Wait.Seconds(), Stops: j.Stops, AtOnce: j.AtOnce, Never: j.Never}
	if j.Started {
		start := j.Start.Seconds()
		f.Start = &start
	}
	if j.Finished {
		finish := j.Finish.Seconds()
		f.Finish = &finish
	}
	return f
}

// side summarises an outcome, with means over the jobs for which counts returns true.
func (o *Outcome) side(counts func(int) bool) Side {
	s, n := o.Side, 0.0
	for i := range o.Jobs {
		if j := &o.Jobs[i]; counts(i) {
			n++
			s.MeanWait += j.Wait.Seconds()
			s.MeanJCT += j.jct().Seconds()
		}
	}
	s.MeanWait /= max(n, 1)
	s.MeanJCT /= max(n, 1)
	if o.Open > 0 {
		s.Utilisation = o.Held / o.Open
	}
	return s
}

func (t *Totals) minus(u *Totals) *Totals {
	return &Totals{
		MeanWait: t.MeanWait - u.MeanWait, MeanJCT: t.MeanJCT - u.MeanJCT, Makespan: t.Makespan - u.Makespan,
		Utilisation: t.Utilisation - u.Utilisation, Held: t.Held - u.Held, Preemptions: t.Preemptions - u.Preemptions,
		Migrations: t.Migrations - u.Migrations, Resizes: t.Resizes - u.Resizes, Interruptions: t.Interruptions - u.Interruptions,
		Unfinished: t.Unfinished - u.Unfinished,
	}
}

// state returns the job's state at the beginning.
func (e *Effect) state() string {
	switch {
	case e.Ran:
		return cluster.Running.String()
	case e.Age < 0:
		return "to come"
	}
	return cluster.Pending.String()
}
