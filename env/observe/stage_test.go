package observe_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/internal/must"
)

// stage is a hand-made cluster at ten o'clock.
type stage struct {
	spec   cluster.Spec
	jobs   []cluster.JobSpec
	placed []cluster.Placement // placements of the jobs, nil for jobs that wait
	loans  []cluster.ServerID
	offer  int32 // servers that may be on loan, -1 for all
	due    time.Duration
	known  cluster.Profile
	window int
}

const ten = 10 * time.Hour

// of returns a stage with the given number of servers of 8 GPUs.
func of(servers int) *stage {
	return &stage{spec: cluster.Uniform(servers, 8), offer: -1, window: 8}
}

type option func(*cluster.JobSpec)

func share(milli int32) option { return func(j *cluster.JobSpec) { j.Request.GPUMilli = milli } }
func came(at time.Duration) option {
	return func(j *cluster.JobSpec) { j.Submit = at }
}
func model(name string) option { return func(j *cluster.JobSpec) { j.Model = name } }
func onType(name string) option {
	return func(j *cluster.JobSpec) { j.GPUType = name }
}
func tenant(name string) option { return func(j *cluster.JobSpec) { j.Tenant = name } }

// wait adds a waiting job and returns its id. If left is 0, the job has no estimate.
func (g *stage) wait(workers int32, left time.Duration, options ...option) int {
	j := cluster.JobSpec{
		Name: fmt.Sprint(len(g.jobs)), Workers: workers, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: left,
	}
	for _, o := range options {
		o(&j)
	}
	g.jobs, g.placed = append(g.jobs, j), append(g.placed, nil)
	return len(g.jobs) - 1
}

// run adds a job that has just started on a server.
func (g *stage) run(server int, workers int32, left time.Duration, options ...option) {
	id := g.wait(workers, left, options...)
	g.placed[id] = cluster.Placement{{Server: cluster.ServerID(server), Workers: workers, Amount: g.jobs[id].Request}}
}

// shows is a number that the observation must contain.
type shows struct {
	of     string // server, job or global
	job    int
	server int
	name   string
	want   float32
}

func server(i int, name string, want float32) shows {
	return shows{of: "server", server: i, name: name, want: want}
}
func job(id int, name string, want float32) shows {
	return shows{of: "job", job: id, name: name, want: want}
}
func global(name string, want float32) shows { return shows{of: "global", name: name, want: want} }

// build returns the state of the stage.
func (g *stage) build(t *testing.T) *cluster.State {
	t.Helper()
	s := must.Get(cluster.NewState(g.spec, len(g.jobs)))(t)
	s.Advance(ten)
	tx := s.Begin(nil)
	for _, id := range g.loans {
		must.Do(t, tx.Loan(id))
	}
	for i := range g.jobs {
		id := cluster.JobID(i)
		s.Submit(id, &g.jobs[i])
		if g.placed[i] != nil {
			must.Do(t, tx.Place(id, g.placed[i]))
		}
	}
	tx.End()
	s.SetProfile(g.known)
	if g.offer >= 0 {
		s.SetOffer(g.offer, g.due)
	}
	return s
}

func (g *stage) check(t *testing.T, all []shows) {
	t.Helper()
	spec, o := encode(t, &observe.Standard{Window: g.window}, g.build(t))
	for _, x := range all {
		row := x.server
		if x.of == "job" {
			if row = slices.Index(o.Ids, cluster.JobID(x.job)); row < 0 {
				t.Fatalf("job %d is not among the jobs %v", x.job, o.Ids)
			}
		}
		if got := value(t, &spec, o, x.of, row, x.name); math.Abs(float64(got-x.want)) > 1e-6 {
			t.Errorf("%s (job %d, server %d) %s is %v, want %v", x.of, x.job, x.server, x.name, got, x.want)
		}
	}
}

// rule is a profile. P100 GPUs run at half speed. Less CPU than requested costs a fifth of the speed. On a shared GPU a job runs
// at 0.6 of its speed beside a hungry job and at 0.9 beside any other, whatever the shares.
type rule struct{}

func (rule) Speed(s *cluster.View, id cluster.JobID) float64 {
	speed := 1.0
	p := s.Placement(id)[0]
	if s.Server(p.Server).GPUType == "P100" {
		speed /= 2
	}
	if p.CPUMilli < s.Spec(id).Request.CPUMilli {
		speed *= 0.8
	}
	for _, other := range s.Residents(p.Server) {
		if other == id || !slices.ContainsFunc(s.GPUsOn(id, p.Server), func(g int32) bool {
			return slices.Contains(s.GPUsOn(other, p.Server), g)
		}) {
			continue
		}
		if s.Spec(other).Model == "hungry" {
			return speed * 0.6
		}
		return speed * 0.9
	}
	return speed
}

func (rule) Coupled(_ *cluster.View, _ cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return dst
}

// against is the documented formula for two durations: tanh of the log of their ratio, up to the approximation of tanh.
func against(d, other time.Duration) float32 {
	return tanh((logTime(d) - logTime(other)) * 11.877575)
}

func tanh(x float32) float32 {
	x = min(max(x, -3), 3)
	return x * (27 + x*x) / (27 + 9*x*x)
}

// logShare is the documented formula for GPUs per GPU of the cluster.
func logShare(x float64) float32 { return float32(math.Log10(1+10*x) / 3) }
