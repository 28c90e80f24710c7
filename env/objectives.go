package env

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/backlog"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/stats"
)

// BacklogReward is a Reward that can also be estimated for the time to come.
type BacklogReward interface {
	Reward
	// ScoreBacklog estimates the reward from the instant at on, if no other job arrives and nothing happens before that instant. It
	// lets the virtual machine play jobs, which are those of s that wait or run: see sim.Sim.Backlog. It may change them.
	ScoreBacklog(s *cluster.View, at time.Duration, jobs []backlog.Job) float64
}

// Surrogate is a Reward that is only correlated with the figure that matters, because no reward of intervals adds up to that
// figure.
type Surrogate interface {
	Reward
	// Figure returns the figure of an episode in which all jobs have finished; lower is better. It is 0 if there are no jobs.
	Figure(log *sim.Log) float64
}

// configurable is a Reward with options, which follow its name: "name:option=value:option=value".
type configurable interface {
	with(options string) (Reward, error)
}

// ScoreBacklog implements BacklogReward: minus the sum of the times until the jobs end.
func (f Flow) ScoreBacklog(_ *cluster.View, _ time.Duration, jobs []backlog.Job) float64 {
	return -weighted(jobs) / cmp.Or(f.Scale, time.Hour).Hours()
}

// weighted returns the sum of the jobs' weighted times until they end, in hours.
func weighted(jobs []backlog.Job) (sum float64) {
	backlog.Play(jobs)
	for i := range jobs {
		sum += jobs[i].Weight * jobs[i].End
	}
	return sum
}

// Makespan is minus the hours that pass. Over an episode in which all jobs finish it sums to minus the makespan. Before an
// episode ends, only the estimate of the backlog tells decisions apart: minus the time until the last job ends.
type Makespan struct{}

// Name implements Reward.
func (Makespan) Name() string { return "makespan" }

// Score implements Reward.
func (Makespan) Score(_ *cluster.View, from, to time.Duration) float64 { return -(to - from).Hours() }

// ScoreBacklog implements BacklogReward.
func (Makespan) ScoreBacklog(_ *cluster.View, _ time.Duration, jobs []backlog.Job) float64 {
	backlog.Play(jobs)
	last := 0.0
	for i := range jobs {
		last = max(last, jobs[i].End)
	}
	return -last
}

// P99 is a Surrogate of the 99th percentile of completion times (JCT): minus the sum over jobs of JCT^Power, with JCT in hours.
// The older a job, the more each further hour costs, so long completion times cost most. With Power 1 it is Flow.
type P99 struct{ Power float64 }

// Name implements Reward.
func (p P99) Name() string { return "p99:power=" + strconv.FormatFloat(p.Power, 'g', -1, 64) }

const mostPower = 8

func (P99) with(options string) (Reward, error) {
	text, ok := strings.CutPrefix(options, "power=")
	power, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil || !(power >= 1 && power <= mostPower) {
		return nil, fmt.Errorf("%q, want power=1 to %d", options, mostPower)
	}
	return P99{power}, nil
}

// Score implements Reward.
func (p P99) Score(s *cluster.View, from, to time.Duration) float64 {
	cost := 0.0
	for _, list := range [][]cluster.JobID{s.Pending(), s.Running()} {
		for _, id := range list {
			submit := s.Spec(id).Submit
			cost += p.grown((from - submit).Hours(), (to - from).Hours())
		}
	}
	return -cost
}

// grown returns how much age^Power grows within the given hours.
func (p P99) grown(age, hours float64) float64 {
	return math.Pow(age+hours, p.Power) - math.Pow(age, p.Power)
}

// ScoreBacklog implements BacklogReward. The virtual machine serves the jobs in its usual order, although another one may lower
// this cost.
func (p P99) ScoreBacklog(s *cluster.View, at time.Duration, jobs []backlog.Job) float64 {
	backlog.Play(jobs)
	cost := 0.0
	for i := range jobs {
		cost += p.grown((at - s.Spec(jobs[i].ID).Submit).Hours(), jobs[i].End)
	}
	return -cost
}

// Figure implements Surrogate: the 99th percentile of the completion times in hours, without warm jobs.
func (P99) Figure(log *sim.Log) float64 {
	jct := CompletionTimes(log)
	if len(jct) == 0 {
		return 0
	}
	return stats.Quantile(jct, 0.99)
}

// CompletionTimes returns the completion times of the jobs that finished in an episode, in hours and in the order in which they
// finished, without warm jobs (sim.Config.Warm).
func CompletionTimes(log *sim.Log) (hours []float64) {
	for i := range log.Records {
		if r := &log.Records[i]; r.Kind == sim.Finish && int(r.Job) >= log.Config.Warm {
			hours = append(hours, (r.At - log.Jobs[r.Job].Submit).Hours())
		}
	}
	return hours
}

// Tenants is minus the weighted number of jobs that wait or run, integrated over time, in hours: a job has the weight of its
// tenant or, in a trace without tenants, of its user. Over an episode in which all jobs finish it sums to minus the weighted sum
// of completion times.
type Tenants struct{ Weights []TenantWeight }

// TenantWeight is the weight of the jobs of a tenant or a user, above 0. All others have the weight 1.
type TenantWeight struct {
	Name   string
	Weight float64
}

// Name implements Reward.
func (t Tenants) Name() string {
	parts := []string{"tenants"}
	for _, w := range t.Weights {
		parts = append(parts, w.Name+"="+strconv.FormatFloat(w.Weight, 'g', -1, 64))
	}
	return strings.Join(parts, ":")
}

const mostWeight = 1e6

func (Tenants) with(options string) (Reward, error) {
	var t Tenants
	for text := range strings.SplitSeq(options, ":") {
		i := max(strings.LastIndexByte(text, '='), 0)
		w := TenantWeight{Name: text[:i]}
		var err error
		if w.Weight, err = strconv.ParseFloat(strings.TrimPrefix(text[i:], "="), 64); err != nil || w.Name == "" ||
			!(w.Weight > 0 && w.Weight <= mostWeight) {
			return nil, fmt.Errorf("%q, want TENANT=WEIGHT with a weight above 0 and at most %v", text, float64(mostWeight))
		}
		if slices.ContainsFunc(t.Weights, func(o TenantWeight) bool { return o.Name == w.Name }) {
			return nil, fmt.Errorf("%q comes twice", w.Name)
		}
		t.Weights = append(t.Weights, w)
	}
	return t, nil
}

// of returns the weight of a job.
func (t Tenants) of(spec *cluster.JobSpec) float64 {
	name := cmp.Or(spec.Tenant, spec.User)
	for i := range t.Weights {
		if t.Weights[i].Name == name {
			return t.Weights[i].Weight
		}
	}
	return 1
}

// Score implements Reward.
func (t Tenants) Score(s *cluster.View, from, to time.Duration) float64 {
	rate := 0.0
	for _, list := range [][]cluster.JobID{s.Pending(), s.Running()} {
		for _, id := range list {
			rate += t.of(s.Spec(id))
		}
	}
	return -rate * (to - from).Hours()
}

// ScoreBacklog implements BacklogReward.
func (t Tenants) ScoreBacklog(s *cluster.View, _ time.Duration, jobs []backlog.Job) float64 {
	for i := range jobs {
		jobs[i].Weight = t.of(s.Spec(jobs[i].ID))
	}
	return -weighted(jobs)
}
