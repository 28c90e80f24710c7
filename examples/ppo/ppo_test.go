package main

import (
	"math"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/examples/maintest"
)

var learners = []string{"ippo", "central"}

// rows is an environment that hides the cluster and the list of candidates, so that a learner can use only the numbers.
type rows struct{ env.Env }

func (r rows) Reset(seed uint64, first *env.TimeStep) error {
	err := r.Env.Reset(seed, first)
	first.Cluster, first.List = nil, nil
	return err
}

func (r rows) Step(joint []game.Action, next *env.TimeStep) error {
	err := r.Env.Step(joint, next)
	next.Cluster, next.List = nil, nil
	return err
}

// train returns a learner after the given number of updates, with the progress of each.
func train(t *testing.T, task task, who string, seed uint64, updates int) (l *learner, curve []progress) {
	t.Helper()
	e, err := env.New(task.config)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = newLearner(rows{e}, who, task.options, seed); err != nil {
		t.Fatal(err)
	}
	for range updates {
		p, err := l.update()
		if err != nil {
			t.Fatal(err)
		}
		curve = append(curve, p)
	}
	return l, curve
}

func mustFind(t *testing.T, name string, agree game.Agreement) task {
	t.Helper()
	task, err := find(name, agree)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// TestToysAreLearned checks that learners solve the toys. The most likely choices of a new network may be the best by chance, so
// it checks that the drawn choices have become good as well.
func TestToysAreLearned(t *testing.T) {
	for _, toy := range envtest.Toys() {
		for _, who := range learners {
			t.Run(toy.Name+" "+who, func(t *testing.T) {
				t.Parallel()
				reaches(t, mustFind(t, toy.Name, game.Lead), who)
			})
		}
	}
	t.Run("agree ippo, where all must name a gang", func(t *testing.T) {
		t.Parallel()
		reaches(t, mustFind(t, "agree", game.All), "ippo")
	})
}

// reaches checks that a learner reaches the optimum with each of several seeds.
func reaches(t *testing.T, task task, who string) {
	for seed := uint64(1); seed <= 3; seed++ {
		l, curve := train(t, task, who, seed, 50)
		greedy, err := l.greedy(l.returns, task.test)
		if err != nil {
			t.Fatal(err)
		}
		first, last := curve[0].mean, 0.0
		for _, p := range curve[len(curve)-10:] {
			last += p.mean / 10
		}
		t.Logf("seed %d: mean return %.1f in the first update, %.1f in the last 10, of the likeliest choices %.1f; optimum %.1f", seed,
			first, last, greedy, task.optimum)
		if math.Abs(greedy-task.optimum) > 1e-9 {
			t.Errorf("seed %d: the likeliest choices get %v, want %v", seed, greedy, task.optimum)
		}
		if task.optimum-last > (task.optimum-first)/3 {
			t.Errorf("seed %d: the last 10 updates are %v below the optimum, the first was %v", seed, task.optimum-last,
				task.optimum-first)
		}
	}
}

func TestSmallClusterIsLearned(t *testing.T) {
	for _, who := range learners {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			task := mustFind(t, "small", game.Lead)
			e, err := env.New(task.config)
			if err != nil {
				t.Fatal(err)
			}
			prior, err := byPrior(e, task.test)
			if err != nil {
				t.Fatal(err)
			}
			l, _ := train(t, task, who, 1, 24)
			greedy, err := l.greedy(l.returns, task.test)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("mean return of %d test episodes %.2f, of the prior %.2f", len(task.test), greedy, prior)
			if greedy <= prior {
				t.Errorf("mean return %v, the prior gets %v", greedy, prior)
			}
		})
	}
}

func TestSameSeedSameCurve(t *testing.T) {
	task := mustFind(t, "gather", game.Lead)
	for _, who := range learners {
		_, a := train(t, task, who, 7, 5)
		_, b := train(t, task, who, 7, 5)
		_, other := train(t, task, who, 8, 5)
		if !slices.Equal(a, b) || slices.Equal(a, other) {
			t.Errorf("%s: seed 7 gives %v and then %v, seed 8 %v", who, a, b, other)
		}
	}
}

func TestMain(m *testing.M) { maintest.Main(m, main) }

// TestCommand checks that the learner is a command with the flags of every environment, and that it learns on the windows of a
// scenario and on toys.
func TestCommand(t *testing.T) {
	maintest.Holds(t, maintest.Run(t, "ppo", "--toy", "short-first", "--who", "central", "--updates", "20"),
		"likeliest choice      -150.00", "prior                 -330.00", "optimum               -150.00")
	on := func(more ...string) string {
		return maintest.Run(t, append([]string{"ppo", "--scenario", "embedded-small-v1", "--set", "window.arrivals=20", "--prior", "fifo",
			"--updates", "1", "--json"}, more...)...)
	}
	plain := on()
	maintest.Holds(t, plain, `"episodes":90,"likeliest":-`)
	if again := on(); again != plain {
		t.Errorf("the same command line gives %s, then %s", plain, again)
	}
	if on("--prior", "sjfskip") == plain {
		t.Error("another prior changes nothing")
	}
	for want, args := range map[string][]string{
		`environment "none", want short-first`: {"--toy", "none"},
		"--toy agree with --scenario embedded": {"--toy", "agree", "--scenario", "embedded-small-v1"},
		`learner "none", want ippo or central`: {"--toy", "agree", "--who", "none"},
		"no scenario: name one":                {},
	} {
		maintest.Holds(t, maintest.Fail(t, append([]string{"ppo"}, args...)...), want)
	}
}
