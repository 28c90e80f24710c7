package train

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// lesson is a workload on two servers of one GPU each, whose best sum of completion times is known.
type lesson struct {
	name        string
	first       time.Duration // of the job that holds one GPU when the others come, a second later
	long        time.Duration // of a single worker; the gang of both GPUs takes 20 minutes
	prior, best float64       // sums of completion times in minutes
}

// In each lesson one GPU is free for the long job when the gang comes too. Shortest job first with skip starts the long
// one. That is right where the first job still holds the other GPU for long, and wrong where it is about to end.
var lessons = []lesson{
	// Started at once: 2 + 100 + 120. Waiting: the gang runs from 2 to 22, the long job to 122; both came at 1.
	{"waiting is right", 2, 100, 2 + 100 + 120, 2 + 21 + 121},
	// Started at once: 300 + 100 + (320-1). Waiting would cost 300 + 319 + 419.
	{"starting is right", 300, 100, 300 + 100 + 319, 300 + 100 + 319},
	{"waiting is right again", 5, 60, 5 + 60 + 80, 5 + 24 + 84},
	{"starting is right again", 200, 60, 200 + 60 + 219, 200 + 60 + 219},
}

func (l *lesson) jobs() []trace.Job {
	job := func(name string, submit, work time.Duration, workers int32) trace.Job {
		j := trace.Job{Work: work * time.Minute}
		j.Name, j.Submit, j.Workers, j.Estimate = name, submit*time.Minute, workers, j.Work
		j.Request.GPUMilli = cluster.WholeGPU
		return j
	}
	return []trace.Job{job("first", 0, l.first, 1), job("long", 1, l.long, 1), job("gang", 1, 20, 2)}
}

// The learner finds out when to wait: its greedy policy comes to the optimum of every lesson, two of which the prior gets
// wrong, and stays there.
func TestLearnsWhenToWait(t *testing.T) {
	rules := sim.Config{Cluster: cluster.Uniform(2, 1)}
	const memory, credit = 6 * time.Hour, 6 * time.Hour
	cfg := DefaultConfig()
	cfg.Batch, cfg.Epochs, cfg.Rate, cfg.Updates = 256, 4, 0.01, 80
	size := agents.Size{Width: 8, Heads: 2, Hidden: 8, Rank: 2, Kappa: 1, Inducing: 2}
	p, err := agents.NewPolicy("pupil", size, 3, nil, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLearner(&cfg, p, 2, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	exam := func() (minutes []float64) {
		for i := range lessons {
			c, err := follow(agents.NewTeam(p), sim.Episode{Config: rules, Jobs: lessons[i].jobs()}, memory)
			if err != nil {
				t.Fatal(err)
			}
			minutes = append(minutes, 60*c.total)
		}
		return minutes
	}
	for i, got := range exam() {
		if math.Abs(got-lessons[i].prior) > 1e-6 {
			t.Fatalf("%s: the prior takes %v minutes, want %v", lessons[i].name, got, lessons[i].prior)
		}
	}
	draw := rand.New(rand.NewPCG(2, 2))
	var minutes []float64
	for update, passed := 0, 0; update < cfg.Updates; update++ {
		var samples []learn.Sample
		for range 64 {
			for i := range lessons {
				r, err := play(p, sim.Episode{Config: rules, Jobs: lessons[i].jobs()}, memory, draw)
				if err != nil {
					t.Fatal(err)
				}
				r.judge(memory, credit)
				samples = append(samples, r.samples...)
			}
		}
		var out Metrics
		if err := l.improve(samples, float64(update)/float64(cfg.Updates), draw, &out); err != nil {
			t.Fatal(err)
		}
		passed++
		minutes = exam()
		for i, got := range minutes {
			if got > lessons[i].best+1e-6 {
				passed = 0
			}
		}
		if passed == 5 {
			t.Logf("after %d updates", update+1)
			return
		}
	}
	for i, got := range minutes {
		l := &lessons[i]
		t.Errorf("%s: %v minutes, the optimum is %v and the prior takes %v", l.name, got, l.best, l.prior)
	}
}
