package observe

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
)

// The positions of the features of uncertainty, behind those of the standard encoder.
const (
	serverEndsSoon = iota
	serverEndsLater
)

const (
	jobLeftSD = iota
	jobEndsSoon
	jobEndsLater
	jobEndsLate
	jobOutlived
	jobSpeedSD
	jobHalfCPUSD
	jobHalfGPUSD
	jobReadings
)

const (
	candidateSpeedSD = iota
	candidateSlower
	candidateUnpaid
	candidateOutlasts
)

// late is the longest horizon of the features of uncertainty.
const late = 6 * time.Hour

var (
	uncertainServer = slices.Concat(serverFeatures, []Feature{
		serverEndsSoon:  feature("ends_10m", "GPUs in use, each times the chance that its job ends within 10 min, of its own", 0, 1),
		serverEndsLater: feature("ends_1h", "GPUs in use, each times the chance that its job ends within 1 h, of its own", 0, 1),
	})
	uncertainJob = slices.Concat(jobFeatures, []Feature{
		jobLeftSD:    feature("left_sd", "standard deviation of the log of its time left, by the 80 % interval / 4", 0, 1),
		jobEndsSoon:  feature("ends_10m", "chance that it ends within 10 min, as requested if it waits", 0, 1),
		jobEndsLater: feature("ends_1h", "chance that it ends within 1 h, as requested if it waits", 0, 1),
		jobEndsLate:  feature("ends_6h", "chance that it ends within 6 h, as requested if it waits", 0, 1),
		jobOutlived:  feature("outlived", "work done against the median run time of such jobs, tanh of log ratio", -1, 1),
		jobSpeedSD:   feature("speed_sd", "standard deviation of the log of its speed where it runs / 2, 0 if it waits", 0, 1),
		jobHalfCPUSD: feature("half_cpu_sd", "standard deviation of the log of its speed with half the CPU / 2", 0, 1),
		jobHalfGPUSD: feature("half_gpu_sd", "standard deviation of the log of its speed on half the GPU share / 2", 0, 1),
		jobReadings:  feature("readings", "configurations in which its throughput was measured, log2(1 + n) / 4", 0, 1),
	})
	uncertainCandidate = []Feature{
		candidateSpeedSD: feature("speed_sd", "standard deviation of the log of its job's speed once placed / 2", 0, 1),
		candidateSlower:  feature("slower", "chance that its running job is slower than now", 0, 1),
		candidateUnpaid:  feature("unpaid", "chance that its running job ends before more speed makes up for a 10 min restart", 0, 1),
		candidateOutlasts: feature("outlasts_head", "chance that its job, once placed, still runs when the first held job could start",
			0, 1),
	}
	uncertainNarrow = slices.Concat(narrowFeatures, uncertainCandidate)
	uncertainWide   = slices.Concat(wideFeatures, uncertainCandidate)
)

// uncertainty asks what a state's beliefs say of their own uncertainty.
type uncertainty struct {
	state  *cluster.View
	times  *belief.Learner       // nil where run times are told
	speeds *belief.Speeds        // nil where speeds are told
	freed  []freed               // by server
	was    cluster.Configuration // of a candidate's running job before the operations
}

// freed are thousandths of a server's GPUs, each times the chance that its job ends within a time, in 1/logUnit. They are
// integers, so that the order of jobs does not matter.
type freed struct{ soon, later int64 }

func (u *uncertainty) look(s *cluster.View) {
	u.state = s
	u.times, _ = s.RunTimes().(*belief.Learner)
	u.speeds, _ = s.Profile().(*belief.Speeds)
	u.count()
}

// ends returns the chance that a job ends within the given seconds at a speed, 0 if nothing is known of how long it runs.
func (u *uncertainty) ends(id cluster.JobID, seconds, speed float64) float32 {
	s, work := u.state, span(max(seconds, 0)*speed)
	if u.times != nil {
		return float32(u.times.Of(s.Spec(id)).EndsWithin(s.Age(id), work))
	}
	left, known := s.Remaining(id)
	return flag(known && left <= work)
}

// endsIn returns the chance that a job ends within a time, as it runs or else as requested.
func (u *uncertainty) endsIn(id cluster.JobID, within time.Duration) float32 {
	s, speed := u.state, 1.0
	if s.Phase(id) == cluster.Running {
		within -= max(s.Since(id)-s.Now(), 0)
		speed = s.PlannedRate(id)
	}
	return u.ends(id, within.Seconds(), speed)
}

// count adds up the GPUs of each server that may come free.
func (u *uncertainty) count() {
	s := u.state
	n := s.Servers()
	u.freed = slices.Grow(u.freed[:0], n)[:n]
	clear(u.freed)
	for _, id := range s.Running() {
		sooner, late := int64(u.endsIn(id, soon)*logUnit), int64(u.endsIn(id, later)*logUnit)
		for _, q := range s.Placement(id) {
			f, milli := &u.freed[q.Server], int64(q.Workers)*int64(q.GPUMilli)
			f.soon += milli * sooner
			f.later += milli * late
		}
	}
}

func (u *uncertainty) observeServer(id cluster.ServerID, row []float32) {
	if v := u.state.Server(id); v.GPUs > 0 && u.state.Open(id) {
		f, all := &u.freed[id], int64(v.GPUs)*cluster.WholeGPU*logUnit
		row[serverEndsSoon], row[serverEndsLater] = ratio(f.soon, all), ratio(f.later, all)
	}
}

func (u *uncertainty) observeJob(id cluster.JobID, row []float32) {
	s := u.state
	spec, age := s.Spec(id), s.Age(id)
	row[jobEndsSoon], row[jobEndsLater], row[jobEndsLate] = u.endsIn(id, soon), u.endsIn(id, later), u.endsIn(id, late)
	if u.times != nil {
		of := u.times.Of(spec)
		row[jobLeftSD] = part(of.Spread(age), 4)
		row[jobOutlived] = against(age, of.Quantile(0, 0.5))
	} else if left, known := s.Remaining(id); known {
		row[jobOutlived] = against(age, age+left)
	}
	row[jobReadings] = logCount(len(s.Readings(id)))
	if u.speeds == nil {
		return
	}
	asked := cluster.Configuration{Workers: spec.Workers, Amount: spec.Request, Servers: 1}
	cpu, gpu := asked, asked
	cpu.CPUMilli /= 2
	gpu.GPUMilli = max(gpu.GPUMilli/2, 1)
	row[jobHalfCPUSD], row[jobHalfGPUSD] = u.speedSD(spec, &cpu), u.speedSD(spec, &gpu)
	if s.Phase(id) == cluster.Running {
		now := s.Configuration(id)
		row[jobSpeedSD] = u.speedSD(spec, &now)
	}
}

// speedSD returns half the standard deviation of the logarithm of a job's speed in a configuration.
func (u *uncertainty) speedSD(spec *cluster.JobSpec, c *cluster.Configuration) float32 {
	_, sd := u.speeds.Of(u.state, spec, c)
	return part(sd, 2)
}

// part returns x as a part of the most that a feature shows, at most 1.
func part(x, most float64) float32 { return float32(min(x/most, 1)) }

// observeUncertainty fills the features of uncertainty of a candidate whose job continues like this. The candidate's operations
// have just been carried out.
func (e *Standard) observeUncertainty(id cluster.JobID, c *course, row []float32) {
	u, s, t := &e.uncertainty, e.trial.state, &e.trial
	if s.Phase(id) != cluster.Running {
		return
	}
	if h := &e.head; h.there && h.wait > 0 && e.held[0].job != id && s.Knows(id) {
		row[candidateOutlasts] = 1 - u.ends(id, h.wait.Seconds(), c.speed)
	}
	now := s.Configuration(id)
	if u.speeds != nil {
		row[candidateSpeedSD] = u.speedSD(s.Spec(id), &now)
	}
	if i, moves := t.mover(id); !moves || !t.movers[i].ran {
		return
	}
	row[candidateSlower], row[candidateUnpaid] = flag(c.speed < t.pace), flag(s.Knows(id)) // if all is told, and it gets no faster
	if u.speeds != nil && now != u.was {
		mean, sd := u.speeds.Between(s, s.Spec(id), &u.was, &now)
		row[candidateSlower] = below(mean, sd)
	}
	if gain := 1/t.pace - 1/c.speed; gain > 0 && s.Knows(id) {
		row[candidateUnpaid] = u.ends(id, soon.Seconds()/gain, 1)
	}
}

// below returns the probability that a normal variable is below 0.
func below(mean, sd float64) float32 {
	if sd <= 0 {
		return flag(mean < 0)
	}
	return float32(math.Erfc(mean/sd/math.Sqrt2) / 2)
}
