// Package objectives says what a cluster should do. An objective is a sum of costs that a user writes as a few lines of YAML, or
// picks by name from the library; lower is better. A Meter computes what an episode costs, instant by instant, for rewards and
// for evaluations alike.
package objectives

import (
	"strconv"
	"time"
)

// Objective is a sum of costs. It is immutable once read. Lower is better.
type Objective struct {
	Name   string // lower-case letters, digits and dashes
	About  string // what it asks for, in one sentence
	Serves string // whom it serves and where somebody asked for it; "" if the file does not say
	Unit   string // the unit of all costs, only for display; "cost" if the file names none
	Terms  []Term // at least one

	text string
}

// Text returns the YAML that the objective was read from, which Read reads again; "" for an objective that was made in Go.
func (o *Objective) Text() string { return o.text }

// TermName returns the name of the i-th term: its cost, with a number from the second term of the same cost on.
func (o *Objective) TermName(i int) string {
	name, n := string(o.Terms[i].Cost), 1
	for _, t := range o.Terms[:i] {
		if t.Cost == o.Terms[i].Cost {
			n++
		}
	}
	if n > 1 {
		name += " " + strconv.Itoa(n)
	}
	return name
}

// Cost is what a term counts.
type Cost string

// The costs. Those of time count hours, GPU-time counts GPU-hours, and events are counted one by one; Term.Price says what each
// is worth.
const (
	Completion  Cost = "completion"    // the time from a job's submission to its end
	Wait        Cost = "wait"          // the time in the queue, also after a stop
	Late        Cost = "late"          // the time from a job's deadline to its end
	Stop        Cost = "stop"          // each time that a running job is stopped
	Move        Cost = "move"          // each time that a running job moves to other servers
	Resize      Cost = "resize"        // each time that a running job gets other amounts
	LostGPUTime Cost = "lost_gpu_time" // GPU-time of restarts, and of work that is lost
	GPUTime     Cost = "gpu_time"      // GPU-time held, at the price of the hour
	IdleGPUTime Cost = "idle_gpu_time" // GPU-time that nobody holds while a job waits
	Makespan    Cost = "makespan"      // the time until the last job ends
	Unfair      Cost = "unfair"        // the largest shortfall of a tenant below its share of GPUs, over time
)

// kind is how a cost is computed, which decides the options that it takes.
type kind uint8

const (
	clock  kind = iota // a job's clock, which runs in some phases of its life
	event              // something that happens to a job
	usage              // GPU-time of a job
	shared             // of the cluster as a whole
)

// costKind describes a cost.
type costKind struct {
	cost  Cost
	kind  kind
	about string
}

// costs lists what there is, in the order in which users see it.
var costs = []costKind{
	{Completion, clock, "time from submission to end"},
	{Wait, clock, "time in the queue, also after a stop; with first: only until the job has run for a minute"},
	{Late, clock, "time after the deadline"},
	{Stop, event, "each time that a running job is stopped"},
	{Move, event, "each time that a running job moves to other servers"},
	{Resize, event, "each time that a running job gets other amounts"},
	{LostGPUTime, usage, "GPU-time of restarts, and of work that is lost"},
	{GPUTime, usage, "GPU-time held, at the price of the hour"},
	{IdleGPUTime, shared, "GPU-time that nobody holds while a job waits"},
	{Makespan, shared, "time until the last job ends"},
	{Unfair, shared, "the largest shortfall of a tenant below its share of the GPUs, over time"},
}

func (c Cost) kind() kind {
	for i := range costs {
		if costs[i].cost == c {
			return costs[i].kind
		}
	}
	return shared
}

// Term is one cost of an objective.
type Term struct {
	Cost  Cost
	Price Price
	Jobs  Jobs // which jobs count; all costs but those of the cluster as a whole
	// First ends the wait once the job has run for a minute in all. A shorter run does not end it, so that nothing is gained by a
	// start that is taken back.
	First bool
	Over  time.Duration // what a clock shows up to here costs nothing
	// Power makes long times cost more: what counts is raised to it, in the unit of the price. 1 is linear.
	Power float64
	// PerRunTime divides the time by the job's run time alone, or by Floor if that is longer, which makes it a slowdown.
	PerRunTime bool
	Floor      time.Duration
	Deadline   Deadline        // of Late
	Miss       float64         // what a deadline that passes costs once, besides Price
	Prices     map[int]float64 // of GPUTime: from each of these hours of the day on, the factor to Price
}

// Deadline is when a job should have ended: the time that its trace gives, or else so many run times and so much time after its
// submission. The zero value takes the trace's time alone, and a job without one is never late.
type Deadline struct {
	RunTimes float64
	Plus     time.Duration
}

// Price is the cost of one unit of what a term counts.
type Price struct {
	Amount float64       // above 0
	Per    time.Duration // the unit of time; 0 for events and for slowdowns
}

// settled is how long a job must have run before its first wait is over.
const settled = time.Minute
