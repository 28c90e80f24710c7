package loan_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// drawEpisode draws a small cluster with an inference pool and the features of real clusters, and jobs that its training servers
// can hold.
func drawEpisode(t *rapid.T) (sim.Config, []trace.Job) {
	cfg := sim.Config{
		Cluster: cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs")),
		Restart: sim.Pause(simtest.Seconds(t, "overhead", 0, 5)),
	}
	if rapid.Bool().Draw(t, "penalty between servers") {
		cfg.Physics = physics.Compose(physics.InterServer{Penalty: 0.5})
	}
	cfg.Restart.FromScratch = rapid.IntRange(0, 3).Draw(t, "from scratch") == 0
	for i := range cfg.Cluster.Servers {
		if v := &cfg.Cluster.Servers[i]; rapid.IntRange(0, 3).Draw(t, "little memory") == 0 {
			v.CPUMilli, v.MemMiB = 6, 6
		}
	}
	if rapid.Bool().Draw(t, "types") {
		for i := range cfg.Cluster.Servers {
			cfg.Cluster.Servers[i].GPUType = rapid.SampledFrom([]string{"V100", "T4"}).Draw(t, "type")
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "quotas") == 0 {
		cfg.Cluster.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 1}, {Tenant: "b", GPUs: 3}}
	}
	jobs := drawJobs(t, &cfg)
	simtest.Lend(t, &cfg, 5)
	for i := range cfg.Cluster.Servers {
		if v := &cfg.Cluster.Servers[i]; v.Pool == cluster.Inference {
			v.GPUs = rapid.Int32Range(1, 4).Draw(t, "GPUs")
		}
	}
	simtest.Break(t, &cfg)
	return cfg, jobs
}

func drawJobs(t *rapid.T, cfg *sim.Config) (jobs []trace.Job) {
	for i := range rapid.IntRange(0, 15).Draw(t, "jobs") {
		j := trace.Job{Work: simtest.Seconds(t, "work", 1, 40), JobSpec: cluster.JobSpec{
			Name: fmt.Sprint(i), Submit: simtest.Seconds(t, "submit", 0, 60), Estimate: simtest.Seconds(t, "estimate", 1, 50),
			Tenant:  rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "tenant"),
			Mixed:   rapid.Bool().Draw(t, "mixed"),
			GPUType: rapid.SampledFrom([]string{"", "V100|T4", cfg.Cluster.Servers[0].GPUType}).Draw(t, "types"),
			Request: cluster.Amount{
				GPUMilli: rapid.SampledFrom([]int32{1000, 1000, 600, 250}).Draw(t, "GPU milli"),
				CPUMilli: rapid.SampledFrom([]int32{0, 0, 3}).Draw(t, "CPU milli"),
			},
			Tensor: rapid.SampledFrom([]int32{0, 0, 0, 2}).Draw(t, "tensor"),
		}}
		if j.Workers = int32(min(cfg.Cluster.Capacity(&j.JobSpec), 6)); j.Workers < j.Together() {
			continue
		}
		j.Workers = rapid.Int32Range(1, j.Workers/j.Together()).Draw(t, "workers") * j.Together()
		if j.Together() == 1 && rapid.Bool().Draw(t, "elastic") {
			j.MinWorkers = rapid.Int32Range(1, j.Workers).Draw(t, "least")
			j.MaxWorkers = j.Workers + rapid.Int32Range(0, 5).Draw(t, "more")
		}
		jobs = append(jobs, j)
	}
	return jobs
}

func drawOptions(t *rapid.T) loan.Config {
	return loan.Config{
		Policy:   rapid.SampledFrom([]loan.Policy{loan.Lyra, loan.Lyra, loan.SCF, loan.Random}).Draw(t, "policy"),
		Flexible: rapid.IntRange(0, 3).Draw(t, "flexible") > 0,
	}
}

// inners returns the names of schedulers of many kinds.
func inners() []string {
	return []string{"fifo", "fjf", "sjf", "sjfhold", "srtf", "srsf", "las", "random", "grower", "sleeper"}
}

func inner(name string) cluster.Scheduler {
	switch name {
	case "grower":
		return grower{}
	case "sleeper":
		return &sleeper{}
	}
	s, err := baselines.New(name)
	if err != nil {
		panic(err)
	}
	return s
}

// grower starts what fits and lets elastic jobs grow into all free GPUs.
type grower struct{}

func (grower) Name() string       { return "grower" }
func (grower) Reset(uint64) error { return nil }

func (grower) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	for _, id := range slices.Sorted(slices.Values(s.Pending())) {
		if p, fits := s.BestFit(id, nil); fits {
			if err := tx.Place(id, p); err != nil {
				return err
			}
		}
	}
	for _, id := range slices.Sorted(slices.Values(s.Running())) {
		for i := range s.Servers() {
			v, p := cluster.ServerID(i), slices.Clone(s.Placement(id))
			n := min(s.Fits(v, id, s.Spec(id).Request), s.Spec(id).Most()-p.Workers())
			if n <= 0 || !s.SameType(id, v, p[0].Server) {
				continue
			}
			if at := slices.IndexFunc(p, func(q cluster.Piece) bool { return q.Server == v }); at >= 0 {
				p[at].Workers += n
			} else {
				p = append(p, cluster.Piece{Server: v, Workers: n, Amount: s.Spec(id).Request})
				slices.SortFunc(p, func(a, b cluster.Piece) int { return cmp.Compare(a.Server, b.Server) })
			}
			if err := tx.Resize(id, p); err != nil && !errors.Is(err, cluster.ErrInfeasible) { // two shares of one GPU
				return err
			}
		}
	}
	return nil
}

// sleeper is a grower that looks at waiting jobs only at instants that it has requested.
type sleeper struct {
	grower
	at time.Duration // requested instant; 0 if none
}

func (*sleeper) Name() string         { return "sleeper" }
func (p *sleeper) Reset(uint64) error { p.at = 0; return nil }

func (p *sleeper) Schedule(tx *cluster.Txn) error {
	now := tx.Now()
	if p.at > 0 && p.at <= now {
		p.at = 0
		if err := p.grower.Schedule(tx); err != nil {
			return err
		}
	}
	if p.at > 0 {
		tx.WakeAt(p.at + time.Second) // redundant: the earliest request counts
	}
	if p.at == 0 && len(tx.View().Pending()) > 0 {
		p.at = now + 4*time.Second
		tx.WakeAt(p.at)
	}
	return nil
}

func play(t rapid.TB, cfg sim.Config, jobs []trace.Job, p cluster.Scheduler, seed uint64) *sim.Log {
	t.Helper()
	s := must.Get(sim.New(cfg, jobs))(t)
	must.Do(t, s.Run(context.Background(), p, seed))
	return s.Log()
}

// timeline returns what the scheduler and the pool did, with placements.
func timeline(l *sim.Log) (lines []string) {
	for i := range l.Records {
		switch r := &l.Records[i]; r.Kind {
		case sim.Submit, sim.Need, sim.End:
		case sim.Loan, sim.Reclaim, sim.Seize, sim.Fail, sim.Repair:
			lines = append(lines, fmt.Sprintf("%v %v server %d", r.At, r.Kind, r.Server))
		default:
			line := fmt.Sprintf("%v %v %s", r.At, r.Kind, l.Jobs[r.Job].Name)
			for _, p := range l.Placement(r) {
				line += fmt.Sprintf(" %d:%d", p.Server, p.Workers)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func count(l *sim.Log, k sim.Kind) (n int) {
	for i := range l.Records {
		if l.Records[i].Kind == k {
			n++
		}
	}
	return n
}
