package reproduce

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// measure computes the figures of an episode from its event log. Each GPU of an inference server stands for the parameter real
// of real ones.
func measure(log *sim.Log, real float64) Figures {
	m := eval.Measure(log)
	f := unknown()
	f[queueMean], f[queueMedian], f[queueP95] = m.MeanQueueing, m.P50Queueing, m.P95Queueing
	f[jctMean], f[jctMedian], f[jctP95] = m.MeanJCT, m.P50JCT, m.P95JCT
	f[preemptionRate] = float64(m.Preemptions+m.Interruptions) / float64(max(m.Jobs, 1))
	f[unfinished] = float64(m.Jobs - m.Finished)
	f[completionSum] = 0
	for _, r := range eval.Rows(log) {
		f[completionSum] += r.End.Seconds()
	}
	a := newAccount(log, real)
	a.run()
	f[trainingUse] = a.training[window].over(a.capacity[cluster.Training] * a.until[window].Seconds())
	f[trainingEnd] = a.training[whole].over(a.capacity[cluster.Training] * a.until[whole].Seconds())
	if a.capacity[cluster.Inference] > 0 {
		everything := real*a.capacity[cluster.Inference] + a.capacity[cluster.Training]
		f[overallUse] = a.overall[window].over(everything * a.until[window].Seconds())
		f[overallEnd] = a.overall[whole].over(everything * a.until[whole].Seconds())
		f[lentMean] = m.MeanLent
		if a.lentTime.sum > 0 {
			f[loanUse] = a.borrowed.over(a.lentTime.sum)
		}
		if a.returned > 0 {
			f[unforced] = float64(a.returned-a.forced) / float64(a.returned)
		}
	}
	return f
}

// account follows, record by record of an event log, which job holds which GPUs.
type account struct {
	log      *sim.Log
	real     float64
	capacity [2]float64       // GPUs by pool
	until    [2]time.Duration // ends of the two periods: the last submit, and the end

	since time.Duration
	where []cluster.Placement // of running jobs
	held  [2]float64          // GPUs by pool
	need  float64             // real GPUs
	loans float64             // GPUs on loan

	training, overall  [2]integral // in [0, until]
	borrowed, lentTime integral

	stopped          []time.Duration // by server: when a job on it was last stopped
	returned, forced int
}

// The periods over which use is measured.
const (
	window = iota // to the last submit
	whole
)

// integral is a sum of GPU-seconds.
type integral struct{ sum float64 }

func (i *integral) add(gpus float64, d time.Duration) { i.sum += gpus * d.Seconds() }

func (i *integral) over(all float64) float64 {
	if all == 0 {
		return math.NaN()
	}
	return i.sum / all
}

func newAccount(log *sim.Log, real float64) *account {
	servers := log.Config.Cluster.Servers
	a := &account{
		log: log, real: real, where: make([]cluster.Placement, len(log.Jobs)),
		stopped: make([]time.Duration, len(servers)),
	}
	for i := range servers {
		a.capacity[servers[i].Pool] += float64(servers[i].GPUs)
		a.stopped[i] = -1
	}
	for i := range log.Jobs {
		a.until[window] = max(a.until[window], log.Jobs[i].Submit)
	}
	if n := len(log.Records); n > 0 {
		a.until[whole] = log.Records[n-1].At
	}
	return a
}

func (a *account) run() {
	for i := range a.log.Records {
		r := &a.log.Records[i]
		a.pass(r.At)
		switch r.Kind {
		case sim.Start, sim.Resize, sim.Migrate:
			a.move(r.Job, a.log.Placement(r))
		case sim.Preempt, sim.Interrupt:
			for _, p := range a.where[r.Job] {
				a.stopped[p.Server] = r.At
			}
			a.move(r.Job, nil)
		case sim.Finish:
			a.move(r.Job, nil)
		case sim.Need:
			need := float64(a.log.Config.Demand[r.Index].Need) / 1000
			a.need = need * a.real * a.perServer()
		case sim.Loan, sim.Reclaim, sim.Seize:
			a.lend(r)
		}
	}
}

// perServer returns the number of GPUs of an inference server.
func (a *account) perServer() float64 {
	servers := a.log.Config.Cluster.Servers
	return float64(servers[len(servers)-1].GPUs)
}

func (a *account) pass(at time.Duration) {
	if at == a.since {
		return
	}
	room := a.real * (a.capacity[cluster.Inference] - a.loans)
	for k, until := range a.until {
		if d := min(at, until) - a.since; d > 0 {
			a.training[k].add(a.held[cluster.Training], d)
			a.overall[k].add(a.held[cluster.Training]+a.real*a.held[cluster.Inference]+min(a.need, room), d)
		}
	}
	a.borrowed.add(a.held[cluster.Inference], at-a.since)
	a.lentTime.add(a.loans, at-a.since)
	a.since = at
}

func (a *account) move(id cluster.JobID, to cluster.Placement) {
	count := func(p cluster.Placement, sign float64) {
		for i := range p {
			pool := a.log.Config.Cluster.Servers[p[i].Server].Pool
			a.held[pool] += sign * float64(int64(p[i].Workers)*int64(p[i].GPUMilli)) / cluster.WholeGPU
		}
	}
	count(a.where[id], -1)
	count(to, 1)
	a.where[id] = to
}

func (a *account) lend(r *sim.Record) {
	gpus := float64(a.log.Config.Cluster.Servers[r.Server].GPUs)
	if r.Kind == sim.Loan {
		a.loans += gpus
		return
	}
	a.loans -= gpus
	a.returned++
	if r.Kind == sim.Seize || a.stopped[r.Server] == r.At {
		a.forced++
	}
}
