package observe_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
)

// believer learns from an episode, and makes states show what it believes.
type believer struct {
	times  *belief.Learner
	speeds *belief.Speeds
	ended  map[cluster.JobID]bool
}

func newBeliever() *believer {
	return &believer{belief.New(belief.History, belief.Mean), belief.NewSpeeds(true), map[cluster.JobID]bool{}}
}

// show returns a copy of the state that shows what is believed.
func (b *believer) show(s *cluster.State) *cluster.State {
	for id := range cluster.JobID(s.Jobs()) {
		if s.Phase(id) == cluster.Done && !b.ended[id] {
			b.ended[id] = true
			b.times.Ended(s.Spec(id), s.Age(id))
		}
	}
	for _, id := range s.Running() {
		b.speeds.Read(&s.View, id)
	}
	var shown cluster.State
	s.Txn().As(cluster.Beliefs{Times: b.times, Speeds: b.speeds}).View().CopyTo(&shown)
	return &shown
}

// TestFeaturesTellDifferentThings checks that, over random episodes, mostly with beliefs, every feature of the uncertain encoder varies
// within its range and none is a linear function of another. It also checks that its other features are those of the standard
// encoder, and that an encoder that has seen these episodes, a fresh one and a copy of the state, as a fork has it, show the same.
func TestFeaturesTellDifferentThings(t *testing.T) {
	plain, e := &observe.Standard{Window: 12}, &observe.Standard{Window: 12, Uncertainty: true}
	few, spec := plain.Spec(), e.Spec()
	groups := []*moments{
		newMoments("server", spec.Server), newMoments("job", spec.Job), newMoments("candidate", spec.Candidate),
		newMoments("global", spec.Global),
	}
	var a, b, forked observe.Observation
	steps := 0
	for seed := range uint64(4) {
		draw, mind := rand.New(rand.NewPCG(seed, 3)), newBeliever()
		var fork cluster.State
		walk(t, seed, func(s *cluster.State) {
			list := candidatesIn(s, draw, 1+draw.IntN(8))
			if steps++; steps%4 > 0 { // else the driver tells run times and speeds
				s = mind.show(s)
			}
			see(t, plain, s, list, &a)
			see(t, e, s, list, &b)
			for i, rows := range [][]float32{b.Servers, b.Jobs, b.Candidates, b.Global} {
				groups[i].add(t, rows)
			}
			for _, x := range []struct {
				a, b []float32
				n, m int
			}{
				{a.Servers, b.Servers, len(few.Server), len(spec.Server)}, {a.Jobs, b.Jobs, len(few.Job), len(spec.Job)},
				{a.Candidates, b.Candidates, len(few.Candidate), len(spec.Candidate)},
			} {
				for i := range len(x.a) / x.n {
					if got, want := x.b[i*x.m:i*x.m+x.n], x.a[i*x.n:(i+1)*x.n]; !slices.Equal(got, want) {
						t.Fatalf("row %d begins with\n%v\nwant that of the standard encoder\n%v", i, got, want)
					}
				}
			}
			if steps%4 == 0 {
				if see(t, &observe.Standard{Window: 12, Uncertainty: true}, s, list, &forked); !same(&b, &forked) {
					t.Fatalf("seed %d, step %d: an old encoder shows something else than a fresh one", seed, steps)
				}
			}
			s.CopyTo(&fork)
			if see(t, e, &fork, list, &forked); !same(&b, &forked) {
				t.Fatal("a copy of the state shows something else")
			}
		})
	}
	for _, m := range groups {
		m.judge(t)
	}
}

// TestEqualMeansOfUnequalJobsDiffer checks that two jobs with the same expected run time differ in the features of uncertainty if
// the run times of one user are all alike and those of the other are not.
func TestEqualMeansOfUnequalJobsDiffer(t *testing.T) {
	times := belief.New(belief.History, belief.Mean)
	user := func(name string) option { return func(j *cluster.JobSpec) { j.User = name } }
	g := of(1)
	steady, erratic := g.wait(1, 0, user("steady")), g.wait(1, 0, user("erratic"))
	for range 200 {
		times.Ended(&g.jobs[steady], 55*minutes)
		times.Ended(&g.jobs[erratic], 2*minutes)
		times.Ended(&g.jobs[steady], 55*minutes)
		times.Ended(&g.jobs[erratic], 100*minutes)
	}
	mean := func(id int) float64 { return times.Of(&g.jobs[id]).Mean(0).Minutes() }
	if a, b := mean(steady), mean(erratic); math.Abs(math.Log(a/b)) > 0.1 {
		t.Fatalf("means of %v and %v min, want about as much", a, b)
	}
	s := g.build(t)
	var shown cluster.State
	s.Begin(nil).As(cluster.Beliefs{Times: times}).View().CopyTo(&shown)
	s = &shown
	spec, o := encode(t, &observe.Standard{Window: 8, Uncertainty: true}, s)
	says := func(id int, name string) float32 {
		return value(t, &spec, o, "job", slices.Index(o.Ids, cluster.JobID(id)), name)
	}
	if a, b := says(steady, "remaining"), says(erratic, "remaining"); math.Abs(float64(a-b)) > 0.02 {
		t.Errorf("remaining is %v and %v, want about as much", a, b)
	}
	for _, x := range []struct {
		name    string
		apart   float32
		erratic bool // whether the erratic job has the greater number
	}{
		{"left_sd", 0.1, true}, {"ends_10m", 0.3, true}, {"ends_1h", 0.2, false}, {"outlived", 0, true},
	} {
		more, less := says(steady, x.name), says(erratic, x.name)
		if x.erratic {
			more, less = less, more
		}
		if more < less+x.apart {
			t.Errorf("%s is %v and %v, want them farther apart", x.name, more, less)
		}
	}
}

// TestWhatIsToldIsCertain checks the features of uncertainty where the driver tells run times and speeds, or nothing is known.
func TestWhatIsToldIsCertain(t *testing.T) {
	g := of(2)
	g.known = rule{}
	g.run(0, 4, 5*minutes)
	long, blind := g.wait(1, 2*hour), g.wait(1, 0)
	start := func(id, server int) candidates.Candidate {
		at := cluster.Placement{{Server: cluster.ServerID(server), Workers: 1, Amount: g.jobs[id].Request}}
		return candidates.Candidate{Kind: candidates.Begin, Job: cluster.JobID(id), Ops: []cluster.Proposal{
			{Kind: cluster.OpPlace, Job: cluster.JobID(id), Placement: at},
		}}
	}
	move := candidates.Candidate{Kind: candidates.Move, Job: 0, Ops: []cluster.Proposal{{
		Kind: cluster.OpMigrate, Job: 0, Placement: cluster.Placement{{Server: 1, Workers: 4, Amount: g.jobs[0].Request}},
	}}}
	g.wait(16, hour)
	s := g.build(t)
	s.Begin(nil)
	spec, o := encode(t, &observe.Standard{Window: 8, Uncertainty: true, Wide: true}, s, start(long, 0), start(blind, 0), move)
	at := func(id int) int { return slices.Index(o.Ids, cluster.JobID(id)) }
	for _, x := range []struct {
		group string
		row   int
		name  string
		want  float32
	}{
		{"server", 0, "ends_10m", 0.5}, {"server", 0, "ends_1h", 0.5}, {"server", 1, "ends_1h", 0},
		{"job", at(long), "left_sd", 0}, {"job", at(long), "ends_1h", 0}, {"job", at(long), "ends_6h", 1},
		{"job", at(long), "outlived", against(0, 2*hour)}, {"job", at(blind), "ends_6h", 0}, {"job", at(blind), "outlived", 0},
		{"job", at(0), "ends_10m", 1}, {"job", at(0), "speed_sd", 0}, {"job", at(0), "readings", 0},
		{"candidate", 0, "outlasts_head", 1}, {"candidate", 0, "slower", 0}, {"candidate", 1, "outlasts_head", 0},
		{"candidate", 1, "speed_sd", 0}, {"candidate", 2, "outlasts_head", 0}, {"candidate", 2, "unpaid", 1},
		{"candidate", 2, "slower", 0},
	} {
		if got := value(t, &spec, o, x.group, x.row, x.name); math.Abs(float64(got-x.want)) > 1e-6 {
			t.Errorf("%s %d: %s is %v, want %v", x.group, x.row, x.name, got, x.want)
		}
	}
}
