package env_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/internal/must"
)

// lean is a custom encoder. It shows the free GPUs of servers, the workers of the jobs that candidates are about, and whether a
// candidate has operations.
type lean struct {
	window int
	wrong  int // number of superfluous global features
}

func (l *lean) Spec() observe.Spec {
	return observe.Spec{
		Window: l.window, Server: []observe.Feature{{Name: "free", Unit: "GPUs", Max: 8}},
		Job: []observe.Feature{{Name: "workers", Unit: "workers", Max: 64}}, Candidate: []observe.Feature{{Name: "acts", Unit: "flag", Max: 1}},
	}
}

func (l *lean) Encode(tx *cluster.Txn, list []candidates.Candidate, o *observe.Observation) error {
	s := tx.View()
	o.Servers, o.Jobs, o.Ids, o.Candidates, o.Of = o.Servers[:0], o.Jobs[:0], o.Ids[:0], o.Candidates[:0], o.Of[:0]
	o.Global = make([]float32, l.wrong)
	for i := range s.Servers() {
		o.Servers = append(o.Servers, float32(s.FreeGPUs(cluster.ServerID(i))))
	}
	for i := range list {
		c, row := &list[i], -1
		if c.Job >= 0 {
			if row = slices.Index(o.Ids, c.Job); row < 0 {
				row = len(o.Ids)
				o.Ids, o.Jobs = append(o.Ids, c.Job), append(o.Jobs, float32(s.Spec(c.Job).Workers))
			}
		}
		o.Of, o.Candidates = append(o.Of, int32(row)), append(o.Candidates, float32(min(len(c.Ops), 1)))
	}
	return nil
}

// TestOwnEncoder checks that agents observe exactly what a custom encoder writes, and may do the same as with the standard one.
func TestOwnEncoder(t *testing.T) {
	own, standard := small(t, func(c *env.Config) { c.Game.Encoder = &lean{} }), small(t, nil)
	if s := own.Spec(); s.Jobs != s.Candidates-1 || s.Jobs != standard.Spec().Jobs {
		t.Errorf("%d rows of jobs for %d candidates", s.Jobs, s.Candidates)
	}
	var a, b env.TimeStep
	joint := make([]game.Action, 3)
	must.Do(t, own.Reset(2, &a))
	must.Do(t, standard.Reset(2, &b))
	for n := 0; ; n++ {
		if !slices.Equal(a.Mask, b.Mask) || !slices.Equal(a.Coalition, b.Coalition) || a.Reward != b.Reward || a.Over() != b.Over() {
			t.Fatalf("round %d differs", n)
		}
		for k := range a.List {
			if a.Of[k] >= 0 && a.Jobs[a.Of[k]] != float32(a.Cluster.Spec(a.List[k].Job).Workers) || a.Candidates[k+1] != float32(min(len(a.List[k].Ops), 1)) {
				t.Fatalf("round %d: candidate %d has row %v and job %v", n, k+1, a.Candidates[k+1], a.Jobs)
			}
		}
		if a.Candidates[0] != 0 || slices.ContainsFunc(a.Candidates[1+len(a.List):], func(x float32) bool { return x != 0 }) {
			t.Fatalf("round %d: rows %v of %d candidates", n, a.Candidates, len(a.List))
		}
		if want := len(a.Servers) + len(a.Jobs) + len(a.Global); len(a.State(nil)) != want || want != 3+8 {
			t.Fatalf("round %d: the state has %d numbers, want %d", n, len(a.State(nil)), want)
		}
		if a.Over() {
			break
		}
		act(&a, n, joint)
		must.Do(t, own.Step(joint, &a))
		must.Do(t, standard.Step(joint, &b))
	}
	bad := small(t, func(c *env.Config) { c.Game.Encoder = &lean{wrong: 1} })
	if err := bad.Reset(2, &a); err == nil || !strings.Contains(err.Error(), "encoder") {
		t.Errorf("an encoder that fills too many numbers: error %v", err)
	}
}

// held is a custom reward: each agent gets the GPU-seconds that jobs hold on its server, and the shared reward is their sum.
type held struct{}

func (held) Name() string { return "held" }

func (h held) Score(s *cluster.View, from, to time.Duration) float64 {
	each := make([]float64, s.Servers())
	h.ScoreAgents(s, from, to, each)
	sum := 0.0
	for _, x := range each {
		sum += x
	}
	return sum
}

func (held) ScoreAgents(s *cluster.View, from, to time.Duration, dst []float64) {
	for i := range dst {
		id := cluster.ServerID(i)
		dst[i] += float64(s.Server(id).GPUs-s.FreeGPUs(id)) * (to - from).Seconds()
	}
}

// TestOwnReward checks that each agent gets its own reward, also for decision points that are not steps.
func TestOwnReward(t *testing.T) {
	e := small(t, func(c *env.Config) { c.Reward = held{} })
	var ts env.TimeStep
	must.Do(t, e.Reset(1, &ts))
	sums, total, joint := make([]float64, 3), 0.0, make([]game.Action, 3)
	for n := 0; ; n++ {
		total += ts.Reward
		for i, x := range ts.Rewards {
			sums[i] += x
		}
		if ts.Over() {
			break
		}
		act(&ts, n, joint)
		must.Do(t, e.Step(joint, &ts))
	}
	want, jobs := make([]float64, 3), 0.0
	all, _ := fewJobs(1)
	at := map[cluster.JobID]cluster.Placement{}
	since := map[cluster.JobID]time.Duration{}
	log := e.Log()
	for i := range log.Records {
		r := &log.Records[i]
		for _, p := range at[r.Job] { // whatever the record is about, the job has held this until now
			want[p.Server] += float64(p.Workers) * (r.At - since[r.Job]).Seconds()
		}
		if at[r.Job] = slices.Clone(log.Placement(r)); len(at[r.Job]) == 0 {
			delete(at, r.Job)
		}
		since[r.Job] = r.At
	}
	for _, j := range all {
		jobs += float64(j.Workers) * j.Work.Seconds()
	}
	sum := 0.0
	for i := range sums {
		sum += sums[i]
		if math.Abs(sums[i]-want[i]) > 1e-6 {
			t.Errorf("agent %d was given %v, the log says %v", i, sums[i], want[i])
		}
	}
	if math.Abs(sum-total) > 1e-6 || math.Abs(sum-jobs) > 1e-6 || e.Reward().Name() != "held" {
		t.Errorf("agents were given %v in all, the team %v, jobs hold %v", sum, total, jobs)
	}
}

// TestFlow checks that Flow counts the jobs in the system over an interval.
func TestFlow(t *testing.T) {
	s := must.Get(cluster.NewState(cluster.Uniform(1, 1), 3))(t)
	for i := range cluster.JobID(2) {
		s.Submit(i, &cluster.JobSpec{Workers: 1, Request: cluster.Amount{GPUMilli: 1000}})
	}
	tx := s.Begin(nil)
	must.Do(t, tx.Place(0, cluster.Placement{{Workers: 1, Amount: cluster.Amount{GPUMilli: 1000}}}))
	tx.End()
	for _, c := range []struct {
		scale time.Duration
		want  float64
	}{{0, -1}, {time.Hour, -1}, {time.Minute, -60}} {
		if got := (env.Flow{Scale: c.scale}).Score(&s.View, time.Hour, 90*time.Minute); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("scale %v: %v, want %v", c.scale, got, c.want)
		}
	}
}
