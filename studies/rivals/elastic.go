package rivals

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/studies/rivals/pollux"
)

// resizing returns Lyra and the policies that it is compared with for sizing elastic jobs. They run as in its simulator, where
// resizes and distance cost nothing.
func resizing() []baselines.Baseline {
	lyra, _ := baselines.Table{}.Find("lyra")
	of := func(b baselines.Baseline, c elastic.Config, make func() elastic.Policy) baselines.Baseline {
		b.Source += ", as in Lyra (EuroSys 2023), §7.1"
		b.Declare = func(s *baselines.Settings) func(string) cluster.Scheduler {
			s.Needs.Estimates = b.Needs == lyra.Needs
			return func(name string) cluster.Scheduler { return elastic.New(name, make(), c) }
		}
		return b
	}
	describe := func(p elastic.Policy, about, rule, source string) baselines.Baseline {
		return of(baselines.Baseline{Name: p.Name(), About: about, Rule: rule, Source: source, Needs: needsNothing}, elastic.Literal(),
			func() elastic.Policy { return p })
	}
	type maker = func() elastic.Policy
	literal := func(name string, b baselines.Baseline, about string, c elastic.Config, make maker) baselines.Baseline {
		b.Name, b.About = name, b.Name+about
		return of(b, c, make)
	}
	plain, epoch := elastic.Config{}, elastic.Literal()
	epoch.Epoch = time.Minute
	return []baselines.Baseline{
		literal("lyra-literal", lyra, " where resizes and distance cost nothing", elastic.Literal(), elastic.NewLyra),
		literal("lyra-plain", lyra, ", also without special placement of elastic jobs", plain, elastic.NewLyra),
		literal("pollux-literal", searched(), " where resizes and distance cost nothing, with a short search", epoch,
			func() elastic.Policy {
				c := pollux.Default()
				c.Population, c.Patience = 25, 20
				return pollux.New(c)
			}),
		describe(gandiva{}, "submission order; elastic jobs grow while nobody waits",
			"Jobs start in the order of their submission with their least workers. Elastic jobs grow while nobody waits.",
			"Gandiva (Xiao et al., OSDI 2018)"),
		describe(afs{}, "base demand for all, then workers one by one to who deserves them most",
			"Every job gets its least workers, shortest first. Then one worker after the other goes to the job that wins AFS's"+
				" comparison of gains in throughput with every other.",
			"AFS (Hwang et al., NSDI 2021)"),
	}
}

// budget is the thousandths of GPUs that an allocation can still give to jobs. It ignores GPU types, quotas and fragmentation.
type budget int64

// newBudget counts what is left once running jobs have their base, which it sets as what they get.
func newBudget(s *cluster.View, jobs []elastic.Job) budget {
	left := budget(s.Total().GPUMilli)
	for _, id := range s.Running() {
		left -= budget(s.Placement(id).GPUMilli())
	}
	for i := range jobs {
		if j := &jobs[i]; j.Now > 0 {
			left += budget(s.Placement(j.ID).GPUMilli())
			left.must(j, j.Base)
		}
	}
	return left
}

func (b *budget) must(j *elastic.Job, workers int32) {
	j.Want += workers
	*b -= budget(int64(workers) * j.GPUMilli)
}

// fits returns how many more workers the job can get.
func (b *budget) fits(j *elastic.Job) int32 {
	return int32(min(max(int64(*b), 0)/max(j.GPUMilli, 1), math.MaxInt32))
}

// give gives the job more workers and reports true, if there are as many.
func (b *budget) give(j *elastic.Job, workers int32) bool {
	if b.fits(j) < workers {
		return false
	}
	b.must(j, workers)
	return true
}

// gandiva starts jobs with their base in the order of submission; one that does not fit blocks those behind it, as in fifo,
// because in Lyra's table 5 jobs wait about as long under Gandiva as under its FIFO baseline. Only when no job waits do elastic
// jobs take the free GPUs, in the same order. Reconstructed: jobs that have grown shrink when others come.
type gandiva struct{}

func (gandiva) Name() string { return "gandiva" }
func (gandiva) Reset(uint64) {}

func (gandiva) Allocate(s *cluster.View, jobs []elastic.Job) {
	left := newBudget(s, jobs)
	waits, blocked := false, false
	for i := range jobs {
		j := &jobs[i]
		if j.Now > 0 || !blocked && left.give(j, j.Base) {
			continue
		}
		waits = true
		blocked = blocked || int64(j.Base)*j.GPUMilli <= s.Total().GPUMilli // one larger than the cluster blocks nobody
	}
	for i := range jobs { // what nobody needs goes back to those who have it
		if j := &jobs[i]; j.Now > j.Want {
			left.must(j, min(j.Now-j.Want, left.fits(j)))
		}
	}
	for i := range jobs {
		if j := &jobs[i]; !waits && j.Want > 0 {
			left.must(j, min(j.Most-j.Want, left.fits(j)))
		}
	}
}

// afs gives every job its base demand, then single workers to the job that wins against all others, one worker after the other.
//
// Let p be a job's throughput with its present workers and p' that with one more. Of two jobs, of which a would end first, b gets
// the worker if (p'b-pb)/p'b > (p'a-pa)/pa, for each GPU of a worker. This minimises the sum of their completion times if nothing
// else happens and a passes its workers on when it ends. Reconstructed: the inequality follows from the assumption of AFS on two
// jobs, and public re-implementations use it. It is not transitive, and public versions of AFS compare the jobs once, in any
// order; here they meet in a knock-out tournament. A job that one more worker would not speed up gets none. A job without an
// estimate counts as longer than every job with one, and as long as other jobs without.
type afs struct{}

func (afs) Name() string { return "afs" }
func (afs) Reset(uint64) {}

// standing contains the values of a job that the rule compares.
type standing struct {
	ends   float64 // time left with the present workers
	before float64 // (p'-p)/p per GPU
	after  float64 // (p'-p)/p' per GPU
}

func standingOf(s *cluster.View, j *elastic.Job) (d standing, gains bool) {
	family, perServer := profile.Lookup(s.Spec(j.ID).Model), max(s.MostGPUs(), 1)
	throughput := func(workers int32) float64 {
		if family == nil {
			return float64(workers)
		}
		return family.Throughput((workers+perServer-1)/perServer, workers)
	}
	p, more := throughput(j.Want), throughput(j.Want+1)
	gain := (more - p) / (float64(j.GPUMilli) / cluster.WholeGPU)
	d = standing{ends: math.Inf(1), before: gain / p, after: gain / more}
	if j.Left > 0 {
		d.ends = float64(j.Left) * throughput(j.Workers) / p
	}
	return d, gain > 0
}

// beats reports whether x deserves a worker at least as much as y.
func (x standing) beats(y standing) bool {
	if x.ends <= y.ends {
		return x.before >= y.after
	}
	return x.after > y.before
}

func (afs) Allocate(s *cluster.View, jobs []elastic.Job) {
	slices.SortStableFunc(jobs, func(a, b elastic.Job) int { return cmp.Compare(uint64(a.Left-1), uint64(b.Left-1)) }) // 0 last
	left := newBudget(s, jobs)
	for i := range jobs {
		if j := &jobs[i]; j.Now == 0 {
			left.give(j, j.Base)
		}
	}
	standings := make([]standing, len(jobs))
	var open []int32
	for i := range jobs {
		if j := &jobs[i]; j.Want > 0 && j.Want < j.Most {
			if d, gains := standingOf(s, j); gains {
				standings[i] = d
				open = append(open, int32(i))
			}
		}
	}
	c := newContest(len(open), func(x, y int32) bool { return standings[open[x]].beats(standings[open[y]]) })
	for k := c.first(); k >= 0; k = c.first() {
		i := open[k]
		j := &jobs[i]
		goesOn := left.give(j, 1) && j.Want < j.Most
		if goesOn {
			standings[i], goesOn = standingOf(s, j)
		}
		if goesOn {
			c.changed(k)
		} else {
			c.out(k)
		}
	}
}
