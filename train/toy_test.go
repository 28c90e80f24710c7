package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// lesson is a workload on two servers of one GPU each, with a known optimum. One job holds a GPU when two others arrive together:
// a gang that needs both GPUs and a job with a single worker.
type lesson struct {
	name                string
	first, single, gang time.Duration // minutes
	prior, best         float64       // sums of completion times, in minutes
}

// In the lessons of waitOrStart one GPU is free for the single worker, which takes longer than the gang. Shortest job first with
// skipping starts it. That is right if the first job holds the other GPU for long, and wrong if it ends soon.
var waitOrStart = []lesson{
	// Started at once: 2 + 100 + 120. If the single worker waits, the gang runs from 2 to 22 and the single worker to 122; both were
	// submitted at 1.
	{"waiting is right", 2, 100, 20, 2 + 100 + 120, 2 + 21 + 121},
	// Started at once: 120 + 100 + (140-1). If it waits, 120 + 139 + 239.
	{"starting is right", 120, 100, 20, 120 + 100 + 139, 120 + 100 + 139},
	{"waiting is right again", 5, 60, 20, 5 + 60 + 80, 5 + 24 + 84},
	{"starting is right again", 90, 60, 20, 90 + 60 + 109, 90 + 60 + 109},
}

// In the lessons of gangOrSmall the gang is first in the queue. First in, first out makes the single worker wait behind it,
// although a GPU is free. That is right if starting the single worker would delay the gang by more than the single worker gains.
var gangOrSmall = []lesson{
	// In queue order: the gang runs from 60 to 80, the small job to 90. If the small job starts at once, it ends at 11 and delays no
	// other job.
	{"the small one fits before the gang", 60, 10, 20, 60 + 79 + 89, 60 + 10 + 79},
	// Started at once: 5 + 100 + (101+20-1).
	{"the small one would hold up the gang", 5, 100, 20, 5 + 24 + 124, 5 + 24 + 124},
	// In queue order: 5 + 204 + 214. If the small job starts at once, it ends at 11 and the gang at 211.
	{"the gang may wait a little", 5, 10, 200, 5 + 204 + 214, 5 + 10 + 210},
	// Started at once: 5 + 30 + (31+8-1).
	{"the gang is short", 5, 30, 8, 5 + 12 + 42, 5 + 12 + 42},
}

// patientGang costs what a gang waits beyond half an hour. In the lessons of gangWaits, shortest job first with skipping starts the
// single worker, after which the gang waits for it; the best is to let the single worker wait, or makes no difference. Stops
// never pay. Costs are in minutes.
const patientGang = "{name: patient-gang, terms: [{cost: wait, over: 30m, price: 1/h, jobs: {gpus: 2-}}, {cost: stop, price: 2}]}"

var gangWaits = []lesson{
	{"the gang would wait long", 2, 100, 20, 100 - 30, 0},
	{"it waits either way", 120, 60, 20, 119 - 30, 119 - 30},
	{"nothing costs anything", 10, 20, 20, 0, 0},
	{"the gang would wait for an hour", 5, 60, 80, 60 - 30, 0},
}

func (l *lesson) episode() sim.Episode {
	job := func(name string, submit, work time.Duration, workers int32) trace.Job {
		j := trace.Job{Work: work * time.Minute}
		j.Name, j.Submit, j.Workers, j.Estimate = name, submit*time.Minute, workers, j.Work
		j.Request.GPUMilli = cluster.WholeGPU
		return j
	}
	// A restart takes so long that preemption never pays.
	rules := sim.Config{Cluster: cluster.Uniform(2, 1), Restart: sim.Pause(2 * time.Hour)}
	return sim.Episode{Config: rules, Jobs: []trace.Job{job("first", 0, l.first, 1), job("gang", 1, l.gang, 2), job("single", 1, l.single, 1)}}
}

// TestLearnsItsLessons checks that the team learns when to wait and when to start, from labels with both learners and by PPO. The
// greedy policy must reach the optimum of every lesson and keep it; the prior is wrong in half of the lessons.
func TestLearnsItsLessons(t *testing.T) {
	for _, school := range []struct {
		name, prior, objective string
		lessons                []lesson
	}{
		{"wait or start", "sjfskip", "", waitOrStart},
		{"gang or small", "fifo", "", gangOrSmall},
		{"an objective", "sjfskip", patientGang, gangWaits},
	} {
		for _, way := range []struct {
			name, learner string
			expert        bool
			margin        float64
			repeats       int // of each lesson in an update
			critic        string
		}{
			{"policy from labels", policyLearner, true, 1, 8, ""},
			{"values from labels", valueLearner, true, 0.1, 8, ""},
			{"policy from draws", policyLearner, false, 1, 48, priorCritic},
			{"policy from draws with a learned critic", policyLearner, false, 1, 48, learnedCritic},
		} {
			t.Run(school.name+", "+way.name, func(t *testing.T) {
				cfg := DefaultConfig()
				cfg.Objective, cfg.Memory = school.objective, 6*time.Hour
				cfg.Batch, cfg.Epochs, cfg.Rate, cfg.Updates, cfg.Expert, cfg.Learner = 256, 4, 0.01, 80, 0, way.learner
				// A policy that is certain of a mistake hardly learns any more. A label counts the cost of one mistake, after which the prior
				// plays on, and that is small if the mistake is repeated anyway. The entropy bonus prevents certainty.
				cfg.Margin, cfg.Entropy, cfg.Critic = way.margin, 0.1, way.critic
				if way.expert {
					cfg.Expert = cfg.Updates
				}
				learnLessons(t, &cfg, school.prior, school.lessons, way.repeats)
			})
		}
	}
}

// learnLessons trains until all lessons are passed five times in a row.
func learnLessons(t *testing.T, cfg *Config, prior string, lessons []lesson, repeats int) {
	const credit = 6 * time.Hour
	goal := must.Get(cfg.goal())(t)
	size := agents.Size{Width: 8, Heads: 2, Hidden: 8, Rank: 2, Kappa: 1, Inducing: 2}
	p := must.Get(agents.NewPolicy("pupil", size, 4, prior, rand.New(rand.NewPCG(1, 1))))(t)
	p.Margin = cfg.Margin
	l := must.Get(newLearner(cfg, p, 2, 1))(t)
	defer l.close()
	central := must.Get(newCentral(cfg, p, 2, 1))(t)
	defer central.close()
	validate := func() (minutes []float64) {
		for i := range lessons {
			c, err := goal.follow(agents.NewTeam(p), lessons[i].episode())
			must.Do(t, err)
			minutes = append(minutes, 60*c.total)
		}
		return minutes
	}
	minutes := validate()
	for i, got := range minutes {
		if math.Abs(got-lessons[i].prior) > 1e-6 {
			t.Fatalf("%s: the prior takes %v minutes, want %v", lessons[i].name, got, lessons[i].prior)
		}
	}
	draw := rand.New(rand.NewPCG(2, 2))
	pupil, label := p, -1.0
	if cfg.Expert > 0 { // the labelled team does not learn, and tries everything
		scout := *p
		scout.Params = p.Params.Clone()
		pupil, label = &scout, 1
	}
	var foreseen []float64 // Metrics.Explained of the updates
	priors := make([]window, len(lessons))
	for i := range lessons {
		priors[i].prior = must.Get(goal.follow(agents.NewPrior(&p.Setting), lessons[i].episode()))(t)
	}
	for update, passed := 0, 0; update < cfg.Updates; update++ {
		var played []*rollout
		windows, out := slices.Clone(priors), Metrics{}
		for range repeats {
			for i := range lessons {
				g := must.Get(newPlayer(pupil, lessons[i].episode(), goal, label, draw))(t)
				g.learned = central != nil
				must.Do(t, playAll(t.Context(), []*player{g}, 1, func(int, *rollout) error { return nil }))
				windows[i].group = append(windows[i].group, g.out)
				played = append(played, g.out)
				if x := g.out.curve.total * 60; x < lessons[i].best-1e-6 {
					t.Fatalf("%s: %v minutes, less than the optimum of %v", lessons[i].name, x, lessons[i].best)
				}
			}
		}
		if central != nil {
			must.Do(t, central.judge(windows, draw, &out))
			foreseen = append(foreseen, *out.Explained)
		}
		var samples []learn.Sample
		for _, r := range played {
			if label < 0 {
				r.judge(cfg.Memory, credit)
			}
			samples = append(samples, r.samples...)
		}
		must.Do(t, l.improve(samples, cfg.Expert > 0, float64(update)/float64(cfg.Updates), draw, &out))
		passed++
		minutes = validate()
		for i, got := range minutes {
			if got > lessons[i].best+1e-6 {
				passed = 0
			}
		}
		if passed == 5 {
			t.Logf("after %d updates of %d samples; explained %.2f", update+1, len(samples), foreseen)
			if central != nil && (foreseen[0] != 0 || slices.Max(foreseen) < 0.7) {
				t.Errorf("the critic explains %v of the variance, want 0 at first and later more than 0.7", foreseen)
			}
			return
		}
	}
	for i, got := range minutes {
		l := &lessons[i]
		t.Errorf("%s: %v minutes, the optimum is %v and the prior takes %v", l.name, got, l.best, l.prior)
	}
}
