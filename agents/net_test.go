package agents_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// shake moves all weights away from where they start.
func shake(p *agents.Policy, seed uint64, by float64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range p.Params {
		for j := range p.Params[i].Data {
			p.Params[i].Data[j] += float32(by * r.NormFloat64())
		}
	}
}

// busy returns an environment of a contended cluster that has come so many steps far under the policy's own samples.
func busy(tb testing.TB, p *agents.Policy, servers, jobs, steps int) (*env.Cluster, *env.TimeStep) {
	tb.Helper()
	e, err := env.New(env.Config{
		Sim:  sim.Config{Cluster: cluster.Uniform(servers, 8)},
		Jobs: func(seed uint64) ([]trace.Job, error) { return crowd(jobs, servers, seed), nil }, Encoder: p.Encoder(),
		SkipForced: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	ts := &env.TimeStep{}
	if err := e.Reset(1, ts); err != nil {
		tb.Fatal(err)
	}
	d := agents.NewDecoder(e.Spec(), 0, nil)
	joint, draw := make([]env.Action, servers), rand.New(rand.NewPCG(7, 7))
	for range steps {
		d.Round(ts, draw, joint, nil)
		if err := e.Step(joint, ts); err != nil || ts.Over() {
			tb.Fatalf("episode over %v, error %v", ts.Over(), err)
		}
	}
	return e, ts
}

// crowd returns jobs that come at the rate at which that many servers of 8 just fall behind.
func crowd(n, servers int, seed uint64) []trace.Job {
	r := rand.New(rand.NewPCG(seed, 1))
	jobs := make([]trace.Job, n)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Submit = fmt.Sprint(i), time.Duration(i)*4*time.Minute/time.Duration(servers)
		j.Workers, j.Request.GPUMilli = []int32{1, 1, 2, 4, 8, 12, 24}[r.IntN(7)], cluster.WholeGPU
		j.Work = time.Duration(1+r.IntN(120)) * time.Minute
		j.Estimate = j.Work
	}
	return jobs
}

func TestForwardAllocatesNothing(t *testing.T) {
	p := newPolicy(t, 1)
	shake(p, 1, 0.3)
	e, ts := busy(t, p, 16, 400, 150)
	spec := e.Spec()
	n, d := agents.NewNet(p.Shape, p.Params), agents.NewDecoder(spec, 2, agents.NewNet(p.Shape, p.Params))
	var o agents.Observation
	joint := make([]env.Action, spec.Agents)
	many, wide := random(&p.Shape, 300, 32, 1), agents.NewNet(p.Shape, p.Params)
	for _, c := range []struct {
		name string
		call func()
	}{
		{"Fill", func() { o.Fill(&spec, ts) }},
		{"Forward", func() { n.Forward(&o) }},
		{"Forward on many servers", func() { wide.Forward(&many) }},
		{"a greedy round", func() { d.Round(ts, nil, joint, nil) }},
	} {
		c.call()
		if allocs := testing.AllocsPerRun(20, c.call); allocs != 0 {
			t.Errorf("%s allocates %v times", c.name, allocs)
		}
	}
}

// relabel returns the observation with server i where perm[i] was.
func relabel(o *agents.Observation, perm []int) agents.Observation {
	c := o.Clone()
	width, items := len(o.Server)/o.Servers, len(o.Item)/o.Servers
	for i, from := range perm {
		copy(c.Server[i*width:(i+1)*width], o.Server[from*width:])
		copy(c.Item[i*items:(i+1)*items], o.Item[from*items:])
		c.ServerMask[i], c.Active[i] = o.ServerMask[from], o.Active[from]
	}
	return c
}

// Servers have no names: with other numbers they bid the same, have the same neighbours and pay each other the same.
func TestRelabelledServersBidTheSame(t *testing.T) {
	const servers = 9
	edges := 0
	for seed := range uint64(5) {
		p := newPolicy(t, seed)
		shake(p, seed, 0.3)
		e, ts := busy(t, p, servers, 300, 60+30*int(seed))
		spec := e.Spec()
		var o agents.Observation
		o.Fill(&spec, ts)
		r := rand.New(rand.NewPCG(seed, 9))
		for i := range o.Server { // no two servers alike, so that no partners tie
			o.Server[i] += float32(0.05 * r.NormFloat64())
		}
		for i := range o.Active {
			o.Active[i] = i%3 != 0
		}
		perm := r.Perm(servers)
		shuffled := relabel(&o, perm)
		a, b := agents.NewNet(p.Shape, p.Params), agents.NewNet(p.Shape, p.Params)
		a.Forward(&o)
		b.Forward(&shuffled)
		close := func(what string, got, want float32) {
			if math.Abs(float64(got-want)) > 1e-5*max(10, math.Abs(float64(want))) { // sums of payoffs of about 10
				t.Fatalf("seed %d: %s is %v, want %v", seed, what, got, want)
			}
		}
		close("stop", b.Stop, a.Stop)
		spread := slices.Max(a.Bids) - slices.Min(a.Bids)
		if spread < 0.01 {
			t.Fatalf("all bids are alike: %v", spread)
		}
		paidA, paidB := slices.Clone(a.Bids), slices.Clone(b.Bids)
		for i, from := range perm {
			coordgraph.AddPayoff(paidA, &a.Graph, &a.Payoffs, from, i)
			coordgraph.AddPayoff(paidB, &b.Graph, &b.Payoffs, i, i)
			to, _ := b.Graph.Neighbours(i)
			var was []int32
			for _, j := range to {
				was = append(was, int32(perm[j]))
			}
			slices.Sort(was)
			if want, _ := a.Graph.Neighbours(from); !slices.Equal(was, want) {
				t.Fatalf("seed %d: server %d has neighbours %v, want %v", seed, from, was, want)
			}
			edges += len(to)
		}
		for i, from := range perm {
			for k := range o.Tokens {
				close("a bid", b.Bids[i*o.Tokens+k], a.Bids[from*o.Tokens+k])
				close("a bid with payoffs", paidB[i*o.Tokens+k], paidA[from*o.Tokens+k])
			}
		}
	}
	if edges < 50 {
		t.Fatalf("%d edges: the test sees too little", edges)
	}
}

// Jobs have no places either, but for what their rows say of them: a permuted window gets permuted bids.
func TestPermutedJobsBidTheSame(t *testing.T) {
	p := newPolicy(t, 3)
	shake(p, 3, 0.3)
	e, ts := busy(t, p, 6, 300, 150)
	spec := e.Spec()
	var o agents.Observation
	o.Fill(&spec, ts)
	r := rand.New(rand.NewPCG(1, 9))
	perm := r.Perm(o.Tokens)
	c := o.Clone()
	width, item := len(o.Token)/o.Tokens, len(o.Item)/o.Tokens/o.Servers
	for k, from := range perm {
		copy(c.Token[k*width:(k+1)*width], o.Token[from*width:])
		c.TokenMask[k] = o.TokenMask[from]
		for i := range o.Servers {
			copy(c.Item[(i*o.Tokens+k)*item:][:item], o.Item[(i*o.Tokens+from)*item:])
		}
	}
	a, b := agents.NewNet(p.Shape, p.Params), agents.NewNet(p.Shape, p.Params)
	a.Forward(&o)
	b.Forward(&c)
	if math.Abs(float64(a.Stop-b.Stop)) > 1e-5 {
		t.Errorf("stop is %v, want %v", b.Stop, a.Stop)
	}
	for i := range o.Servers {
		for k, from := range perm {
			if got, want := b.Bids[i*o.Tokens+k], a.Bids[i*o.Tokens+from]; math.Abs(float64(got-want)) > 1e-5 {
				t.Fatalf("bid of server %d for job %d is %v, want %v", i, from, got, want)
			}
		}
	}
}

// shown is a cluster with these jobs waiting after the first so many of them have been started on given servers.
func shown(t *testing.T, p *agents.Policy, c cluster.Spec, started []cluster.ServerID, jobs ...trace.Job) (
	env.Spec, *env.TimeStep) {
	t.Helper()
	run, err := sim.New(sim.Config{Cluster: c}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	tx, ok := run.Next()
	if !ok {
		t.Fatal("no decision")
	}
	for i, s := range started {
		piece := cluster.Piece{Server: s, Workers: jobs[i].Workers, Amount: jobs[i].Request}
		if err := tx.Place(cluster.JobID(i), cluster.Placement{piece}); err != nil {
			t.Fatal(err)
		}
	}
	encoder := p.Encoder()
	spec := encoder.Spec(len(c.Servers))
	ts := env.NewTimeStep(&spec)
	ts.State, ts.Now = tx.State(), tx.Now()
	encoder.Encode(tx.State(), ts)
	return spec, ts
}

func single(name string, workers int32, minutes time.Duration) trace.Job {
	j := trace.Job{Work: minutes * time.Minute}
	j.Name, j.Workers, j.Estimate, j.Request.GPUMilli = name, workers, j.Work, cluster.WholeGPU
	return j
}

// Among servers that are alike the lowest is taken, with a network too; a gang takes the next.
func TestTiesGoToTheLowestServer(t *testing.T) {
	blocker := single("blocker", 4, 500)
	for _, c := range []struct {
		name string
		busy []cluster.ServerID
		jobs []trace.Job
		want []env.Action
	}{
		{"all idle", nil, []trace.Job{single("a", 1, 5)}, []env.Action{1, 0, 0, 0}},
		{"the first is full", []cluster.ServerID{0}, []trace.Job{blocker, single("a", 1, 5)}, []env.Action{0, 1, 0, 0}},
		{"the first and third are full", []cluster.ServerID{0, 2}, []trace.Job{blocker, blocker, single("a", 2, 5)},
			[]env.Action{0, 1, 0, 0}},
		{"a gang of two", nil, []trace.Job{single("a", 8, 5)}, []env.Action{1, 1, 0, 0}},
		{"a gang of two beside a full one", []cluster.ServerID{1}, []trace.Job{blocker, single("a", 8, 5)},
			[]env.Action{1, 0, 1, 0}},
		{"twins: the lower job as well", nil, []trace.Job{single("a", 1, 5), single("b", 1, 5)}, []env.Action{1, 0, 0, 0}},
		{"nothing waits", []cluster.ServerID{3}, []trace.Job{blocker}, []env.Action{0, 0, 0, 0}},
	} {
		for _, shaken := range []bool{false, true} {
			p := newPolicy(t, 1)
			if shaken {
				shake(p, 1, 0.1)
				for i := range p.Params { // what would tell the servers of a gang apart, or the twins
					switch p.Params[i].Name {
					case "pair.weight":
						clear(p.Params[i].Data)
					case "token.w":
						for f, feature := range p.Encoder().Spec(1).Job {
							if feature.Name == "rank" || feature.Name == "turn" {
								clear(p.Params[i].Data[f*p.Shape.Width:][:p.Shape.Width])
							}
						}
					}
				}
			}
			spec, ts := shown(t, p, cluster.Uniform(4, 4), c.busy, c.jobs...)
			d := agents.NewDecoder(spec, 0, agents.NewNet(p.Shape, p.Params))
			joint := []env.Action{9, 9, 9, 9}
			var draws []int
			d.Round(ts, nil, joint, func(c *agents.Choice) { draws = append(draws, c.Action) })
			if shaken && len(c.busy) > 0 && slices.Max(joint) == 0 {
				continue // the network would rather wait, which is another matter
			}
			if !slices.Equal(joint, c.want) {
				t.Errorf("%s, network shaken %v: %v, want %v (draws %v)", c.name, shaken, joint, c.want, draws)
			}
		}
	}
}

// Where nothing runs, a round starts something, whatever the network says: nobody would ever ask again.
func TestIdleClustersStartSomething(t *testing.T) {
	p := newPolicy(t, 1)
	for i := range p.Params {
		if p.Params[i].Name == "stop.b" {
			p.Params[i].Data[0] = 50
		}
	}
	for _, c := range []struct {
		busy []cluster.ServerID
		want bool
	}{{nil, true}, {[]cluster.ServerID{0}, false}} {
		spec, ts := shown(t, p, cluster.Uniform(2, 4), c.busy, single("a", 1, 5), single("b", 1, 5))
		d := agents.NewDecoder(spec, 0, agents.NewNet(p.Shape, p.Params))
		joint := make([]env.Action, 2)
		d.Round(ts, nil, joint, nil)
		if got := slices.Max(joint) > 0; got != c.want {
			t.Errorf("running %d: starts something %v, want %v", len(c.busy), got, c.want)
		}
	}
	// A team that would always rather wait still finishes every job.
	play(t, cluster.Uniform(3, 8), workload(40, 1, false), agents.NewTeam(p))
}

// Sampling follows the probabilities that are recorded.
func TestDrawsFollowTheirProbabilities(t *testing.T) {
	p := newPolicy(t, 2)
	shake(p, 2, 0.3)
	spec, ts := shown(t, p, cluster.Uniform(3, 4), []cluster.ServerID{1},
		single("run", 2, 50), single("a", 1, 5), single("b", 2, 6), single("c", 3, 5))
	d := agents.NewDecoder(spec, 0, agents.NewNet(p.Shape, p.Params))
	draw, joint := rand.New(rand.NewPCG(1, 1)), make([]env.Action, 3)
	const n = 20000
	seen, said := map[int]float64{}, map[int]float64{}
	for range n {
		d.Round(ts, draw, joint, func(c *agents.Choice) {
			if len(c.Committed) == 0 {
				seen[c.Action]++
				said[c.Action] = math.Exp(c.LogProb)
			}
		})
	}
	sum := 0.0
	for a, times := range seen {
		sum += said[a]
		if sd := math.Sqrt(n * said[a] * (1 - said[a])); math.Abs(times-n*said[a]) > 5*sd+1 {
			t.Errorf("choice %d drawn %v times, want %v ± %v", a, times, n*said[a], sd)
		}
	}
	if len(seen) < 5 || math.Abs(sum-1) > 0.01 {
		t.Errorf("%d choices seen, their probabilities sum to %v", len(seen), sum)
	}
}

// Weights come from tensors by name, whatever their order and company, and are copied; what does not fit is named.
func TestFromTensors(t *testing.T) {
	p := newPolicy(t, 1)
	tensors := p.Params.Tensors()
	at := slices.IndexFunc(tensors, func(t checkpoints.Tensor) bool { return t.Name == "item.w" })
	shape := tensors[at].Shape
	data := func(n int, v float64) []float32 {
		d := make([]float32, n)
		d[n-1] = float32(v)
		return d
	}
	size := shape[0] * shape[1]
	for _, c := range []struct {
		name string
		put  checkpoints.Tensor
		want []string
	}{
		{"another name", checkpoints.Tensor{Name: "item.v", Shape: shape, Data: data(size, 1)}, []string{`"item.w"`, "not among"}},
		{"transposed", checkpoints.Tensor{Name: "item.w", Shape: []int{shape[1], shape[0]}, Data: data(size, 1)},
			[]string{`"item.w"`, "shape", "want"}},
		{"flat", checkpoints.Tensor{Name: "item.w", Shape: []int{size}, Data: data(size, 1)}, []string{`"item.w"`, "shape"}},
		{"too large", checkpoints.Tensor{Name: "item.w", Shape: []int{shape[0] + 1, shape[1]}, Data: data(size+shape[1], 1)},
			[]string{`"item.w"`, "shape"}},
		{"of float64", checkpoints.Tensor{Name: "item.w", Shape: shape, Data: make([]float64, size)},
			[]string{`"item.w"`, "float64"}},
		{"not a number", checkpoints.Tensor{Name: "item.w", Shape: shape, Data: data(size, math.NaN())},
			[]string{"item.w", "NaN", "finite"}},
		{"infinite", checkpoints.Tensor{Name: "item.w", Shape: shape, Data: data(size, math.Inf(-1))},
			[]string{"item.w", "-Inf", "finite"}},
	} {
		list := slices.Clone(tensors)
		list[at] = c.put
		_, err := agents.FromTensors(p.Shape, list)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %s", c.name, err, want)
			}
		}
	}
	if _, err := agents.FromTensors(p.Shape, nil); err == nil {
		t.Error("no tensors are fine")
	}
	list := append(slices.Clone(tensors), checkpoints.Tensor{Name: "adam.m", Shape: []int{1}, Data: []float32{1}})
	slices.Reverse(list)
	got, err := agents.FromTensors(p.Shape, list)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i].Name != p.Params[i].Name || !slices.Equal(got[i].Data, p.Params[i].Data) {
			t.Errorf("%s differs", p.Params[i].Name)
		}
		got[i].Data[0]++
		if got[i].Data[0] == p.Params[i].Data[0] {
			t.Errorf("%s is shared", got[i].Name)
		}
	}
}
