package env_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// varied is an episode with everything that an observation tells of: types of GPUs, racks, shares, quotas, elastic jobs,
// loans, failures, jobs with and without estimates.
func varied(tb testing.TB, draw *rand.Rand) sim.Episode {
	model, err := physics.Parse("gpu-type * cpu-mem * sharing(1) * scaling * network(12.5,1.25,2.5)")
	if err != nil {
		tb.Fatal(err)
	}
	cfg := sim.Config{Physics: model, Grace: 30 * time.Minute}
	cfg.Cluster = cluster.Uniform(12, 8)
	cfg.Cluster.PerGPU = 2
	cfg.Cluster.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 16}, {Tenant: "b", GPUs: 40}}
	for i := range cfg.Cluster.Servers {
		v := &cfg.Cluster.Servers[i]
		v.CPUMilli, v.MemMiB, v.GPUType, v.GPUMemMiB, v.Rack = 40_000, 400*1024, "V100", 32*1024, int32(i/4)
		if i%3 == 0 {
			v.GPUType, v.GPUMemMiB = "P100", 16*1024
		}
		if i%5 == 0 {
			v.GPUs = 4
		}
		if i >= 9 {
			v.Pool = cluster.Inference
		}
	}
	for i := range 40 {
		cfg.Demand = append(cfg.Demand, sim.Demand{At: time.Duration(i) * 20 * time.Minute, Offer: int32(draw.IntN(4))})
		from := time.Duration(i)*15*time.Minute + time.Minute
		cfg.Outages = append(cfg.Outages, sim.Outage{
			From: from, To: from + 10*time.Minute, Server: cluster.ServerID(draw.IntN(12)), GPU: int32(draw.IntN(5)) - 1,
		})
	}
	e := sim.Episode{Config: cfg}
	models := []string{"resnet18-64", "resnet50-32", "lm-20", "a3c", "cyclegan", "recommendation-512", ""}
	at := time.Duration(0)
	for i := range 160 {
		at += time.Duration(draw.ExpFloat64() * float64(4*time.Minute))
		j := trace.Job{JobSpec: cluster.JobSpec{
			Name: fmt.Sprint(i), Submit: at, Tenant: []string{"a", "b", ""}[draw.IntN(3)], Model: models[draw.IntN(len(models))],
			Workers: []int32{1, 1, 1, 2, 2, 4, 4, 8, 12, 16}[draw.IntN(10)],
			Request: cluster.Amount{
				GPUMilli: []int32{1000, 1000, 500, 300}[draw.IntN(4)], CPUMilli: []int32{1000, 3000, 6000}[draw.IntN(3)],
				MemMiB: 32 * 1024, GPUMemMiB: int32(draw.IntN(12)) * 1024,
			},
		}}
		if j.Workers > 2 && draw.IntN(2) == 0 {
			j.MinWorkers, j.MaxWorkers = j.Workers/int32(1+draw.IntN(3)), j.Workers*int32(1+draw.IntN(3))
		}
		if draw.IntN(3) == 0 {
			j.GPUType = []string{"V100", "P100", "P100|V100"}[draw.IntN(3)]
		}
		j.Work = time.Duration(math.Exp(4+2*draw.NormFloat64()) * float64(time.Minute) / 2)
		if draw.IntN(10) > 0 {
			j.Estimate = time.Duration(float64(j.Work)*math.Exp(draw.NormFloat64()/2)) + 1
		}
		e.Jobs = append(e.Jobs, j)
	}
	return e
}

// walk plays a varied episode with random decisions, and shows the state before and after each.
func walk(tb testing.TB, seed uint64, visit func(*cluster.State)) {
	draw := rand.New(rand.NewPCG(seed, 7))
	e := varied(tb, draw)
	episode, err := e.New()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		tx, ok := episode.Next()
		if !ok {
			return
		}
		s := tx.State()
		visit(s)
		for id := cluster.ServerID(9); id < 12; id++ {
			if draw.IntN(2) == 0 {
				_ = tx.Loan(id) // refused if it is not offered
			}
		}
		if running := s.Running(); len(running) > 0 && draw.IntN(8) == 0 {
			if err := tx.Preempt(running[draw.IntN(len(running))]); err != nil {
				tb.Fatal(err)
			}
		}
		for _, id := range slices.Clone(s.Pending()) {
			if draw.IntN(6) == 0 {
				continue
			}
			if p, fits := s.BestFit(id, nil); fits {
				if err := tx.Place(id, p); err != nil {
					tb.Fatal(err)
				}
				if draw.IntN(2) == 0 {
					visit(s)
				}
			}
		}
		if len(s.Running()) == 0 {
			tx.WakeAt(s.Now() + time.Hour)
		}
		episode.Commit()
		if s.Now() > 60*24*time.Hour {
			return
		}
	}
}

// An encoder that has seen the episode, and others, shows what a fresh one shows.
func TestEncoderKeepsNoMemory(t *testing.T) {
	for _, menu := range [][]env.Level{nil, halves} {
		old := &env.StandardEncoder{Window: 12, Menu: menu}
		shape := old.Spec(12)
		a, b := env.NewTimeStep(&shape), env.NewTimeStep(&shape)
		for seed := range uint64(3) {
			steps := 0
			walk(t, seed, func(s *cluster.State) {
				if steps++; steps%4 != 0 {
					old.Encode(s, a)
					return
				}
				fresh := &env.StandardEncoder{Window: 12, Menu: menu}
				fresh.Spec(12)
				old.Encode(s, a)
				fresh.Encode(s, b)
				if !slices.Equal(a.Servers, b.Servers) || !slices.Equal(a.Jobs, b.Jobs) || !slices.Equal(a.Items, b.Items) ||
					!slices.Equal(a.Global, b.Global) || !slices.Equal(a.Window, b.Window) || !slices.Equal(a.Mask, b.Mask) {
					t.Fatalf("seed %d, step %d: an old encoder shows something else than a fresh one", seed, steps)
				}
			})
		}
	}
}

// What is said of the head's start is what cluster.Shadow says.
func TestHeadWaitIsTheShadow(t *testing.T) {
	e := &env.StandardEncoder{Window: 12}
	spec := e.Spec(12)
	ts := env.NewTimeStep(&spec)
	var shadow cluster.Shadow
	seen := 0
	for seed := range uint64(3) {
		walk(t, seed, func(s *cluster.State) {
			e.Encode(s, ts)
			for k, id := range ts.Window {
				if id >= 0 && value(t, &spec, ts, "job", k, "startable") == 0 {
					want := logTime(shadow.Wait(s, id))
					if got := value(t, &spec, ts, "global", 0, "head_wait"); got != want {
						t.Fatalf("at %v: head_wait of job %d is %v, want %v", s.Now(), id, got, want)
					}
					seen++
					break
				}
			}
		})
	}
	if seen == 0 {
		t.Error("no job was ever held")
	}
}

// What an item says of speed comes true once its job stands there, for a job of one worker and no gang beside it.
func TestSpeedsComeTrue(t *testing.T) {
	e := &env.StandardEncoder{Window: 12, Menu: halves}
	spec := e.Spec(12)
	ts := env.NewTimeStep(&spec)
	alone, beside := 0, 0
	visit := func(s *cluster.State) {
		e.Encode(s, ts)
		for row := range slices.Chunk(legalItems(&spec, ts), 3) {
			i, k, l := row[0], row[1], row[2]
			id, server := ts.Window[k], cluster.ServerID(i)
			if s.Spec(id).Workers > 1 {
				continue
			}
			at := ts.Items[(i*spec.Items()+k*len(spec.Menu)+l)*len(spec.Item):]
			loss, harm := read(t, spec.Item, at, "loss"), read(t, spec.Item, at, "harm")
			tx, model := s.Txn(), s.Profile()
			rates := map[cluster.JobID]float64{}
			for _, other := range s.Residents(server) {
				rates[other] = model.Speed(s, other)
			}
			mark := tx.Mark()
			p := cluster.Placement{{Server: server, Workers: 1, Amount: spec.Menu[l].Of(s.Spec(id).Request)}}
			if err := tx.Place(id, p); err != nil {
				t.Fatal(err)
			}
			speed, worst, gang := model.Speed(s, id), 0.0, false
			for other, rate := range rates {
				if slices.Contains(s.GPUsOn(other, server), s.GPUsOn(id, server)[0]) {
					worst, gang = 1-model.Speed(s, other)/rate, s.Placement(other).Workers() > 1
				}
			}
			tx.Rollback(mark)
			if want := 1 - speed/best(s, id); math.Abs(want-float64(loss)) > 1e-5 {
				t.Fatalf("at %v: job %d on server %d at level %d loses %v, said %v", s.Now(), id, i, l, want, loss)
			}
			// A gang that is slowed elsewhere feels less of it, or nothing.
			if d := worst - float64(harm); d > 1e-5 || d < -1e-5 && !gang {
				t.Fatalf("at %v: job %d on server %d at level %d harms by %v, said %v", s.Now(), id, i, l, worst, harm)
			}
			alone++
			if worst > 0 && !gang {
				beside++
			}
		}
	}
	for seed := range uint64(6) {
		walk(t, seed, visit)
	}
	if alone < 100 || beside < 100 {
		t.Errorf("%d items, %d beside a host: too few to tell", alone, beside)
	}
}

// legalItems lists server, place in the window and level.
func legalItems(spec *env.Spec, ts *env.TimeStep) (all []int) {
	for i := range spec.Agents {
		for a, ok := range ts.Legal(spec, i) {
			if ok && a > 0 {
				k, l := spec.Unpack(env.Action(a))
				all = append(all, i, k, l)
			}
		}
	}
	return all
}

// best is the speed of a job as requested on the fastest type of GPU that will do.
func best(s *cluster.State, id cluster.JobID) float64 {
	f, most := profile.Lookup(s.Spec(id).Model), 0.0
	for _, name := range s.Types() {
		if s.Spec(id).Allows(name) {
			speed := 1.0
			if f != nil {
				speed, _ = f.GPUSpeed(name)
			}
			most = max(most, speed)
		}
	}
	return most
}

// Every number varies over random episodes, within its range, and none is a linear copy of another.
func TestFeaturesTellDifferentThings(t *testing.T) {
	e := &env.StandardEncoder{Window: 12, Menu: halves}
	spec := e.Spec(12)
	ts := env.NewTimeStep(&spec)
	groups := []*moments{
		newMoments("server", spec.Server), newMoments("job", spec.Job), newMoments("item", spec.Item),
		newMoments("global", spec.Global),
	}
	for seed := range uint64(4) {
		walk(t, seed, func(s *cluster.State) {
			e.Encode(s, ts)
			for i, rows := range [][]float32{ts.Servers, ts.Jobs, ts.Items, ts.Global} {
				groups[i].add(t, rows)
			}
		})
	}
	for _, m := range groups {
		m.judge(t)
	}
}

// moments gathers what correlations need.
type moments struct {
	group    string
	features []env.Feature
	n        float64
	sum      []float64
	cross    [][]float64
}

func newMoments(group string, features []env.Feature) *moments {
	m := &moments{group: group, features: features, sum: make([]float64, len(features))}
	for range features {
		m.cross = append(m.cross, make([]float64, len(features)))
	}
	return m
}

// add looks at the rows that are not empty: servers that are closed, places without a job and masked items are.
func (m *moments) add(t *testing.T, rows []float32) {
	width := len(m.features)
	for row := range slices.Chunk(rows, width) {
		if row[0] == 0 && m.group != "global" && m.group != "offer" {
			continue
		}
		m.n++
		for i, x := range row {
			f := m.features[i]
			if !(float64(x) >= f.Min && float64(x) <= f.Max) {
				t.Fatalf("%s %s is %v, want %v to %v", m.group, f.Name, x, f.Min, f.Max)
			}
			m.sum[i] += float64(x)
			for j, y := range row[:i+1] {
				m.cross[i][j] += float64(x) * float64(y)
			}
		}
	}
}

func (m *moments) judge(t *testing.T) {
	covariance := func(i, j int) float64 { return m.cross[i][j]/m.n - m.sum[i]/m.n*m.sum[j]/m.n }
	for i, f := range m.features {
		if constant := f.Name == "present" || f.Name == "legal"; covariance(i, i) < 1e-9 {
			if !constant {
				t.Errorf("%s %s is always %v in %v rows", m.group, f.Name, m.sum[i]/m.n, m.n)
			}
			continue
		}
		for j := range i {
			if covariance(j, j) < 1e-9 {
				continue
			}
			if r := covariance(i, j) / math.Sqrt(covariance(i, i)*covariance(j, j)); math.Abs(r) > 0.999 {
				t.Errorf("%s %s correlates with %s by %.4f", m.group, f.Name, m.features[j].Name, r)
			}
		}
	}
}

// value reads a number by its name. The item of a job and a server is job*servers + server at the first level.
func value(tb testing.TB, spec *env.Spec, ts *env.TimeStep, group string, row int, name string) float32 {
	tb.Helper()
	features, rows := spec.Server, ts.Servers
	switch group {
	case "job":
		features, rows = spec.Job, ts.Jobs
	case "item":
		features, rows = spec.Item, ts.Items
		job, server := row/spec.Agents, row%spec.Agents
		row = server*spec.Items() + job*len(spec.Menu)
	case "global":
		features, rows = spec.Global, ts.Global
	}
	return read(tb, features, rows[row*len(features):], name)
}

// read finds a number in a row by its name.
func read(tb testing.TB, features []env.Feature, row []float32, name string) float32 {
	tb.Helper()
	i := slices.IndexFunc(features, func(f env.Feature) bool { return f.Name == name })
	if i < 0 {
		tb.Fatalf("no feature %s", name)
	}
	return row[i]
}

// logTime is what docs/env.md says of durations: log(1 + minutes), of that of a hundred days.
func logTime(d time.Duration) float32 {
	return float32(min(math.Log1p(float64(d)/float64(time.Minute))/11.877575, 1))
}
