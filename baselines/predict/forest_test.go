package predict

import (
	"math"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"pgregory.net/rapid"
)

// TestForestWorkersDoNotMatter checks that the number of workers does not change the forest's predictions.
func TestForestWorkersDoNotMatter(t *testing.T) {
	jobs := recurrent(t, 600)
	c := eager()
	c.Window, c.Every = 300, 100
	c.Forest.Workers = 1
	one, _ := answers(t, jobs, NewForest(c), 3)
	c.Forest.Workers = 4
	many, _ := answers(t, jobs, NewForest(c), 3)
	if !slices.Equal(one, many) {
		t.Error("4 workers give other answers than 1")
	}
	other, _ := answers(t, jobs, NewForest(c), 4)
	if slices.Equal(one, other) {
		t.Error("two seeds give the same answers")
	}
}

// TestForestQuestionsTeachNothing checks that predictions do not change if the predictor is asked twice, about other jobs, or
// about jobs that never end. Only the first prediction counts, and only ends teach.
func TestForestQuestionsTeachNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t)
		want, _ := answers(t, jobs, NewForest(eager()), 1)
		p := NewForest(eager())
		p.Reset(1)
		got := make([]float64, len(jobs))
		_ = inTime(t.Context(), jobs, func(i int32) {
			got[i], _ = p.Predict(&jobs[i].JobSpec)
		}, func(i int32) {
			for k := range jobs {
				if jobs[k].Submit < jobs[i].Submit { // predicted before
					p.Predict(&jobs[k].JobSpec)
				}
			}
			never := jobs[i].JobSpec
			never.Name = "never"
			p.Predict(&never)
			p.Observe(&jobs[i].JobSpec, trueIterations(&jobs[i]))
		})
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// TestForestHoldsContests checks that a recurring job for which the median is better gets the median, and any other the forest's
// prediction.
func TestForestHoldsContests(t *testing.T) {
	jobs := recurrent(t, 3000)
	c := DefaultForest()
	c.Trials = 0
	alone, _ := answers(t, jobs, NewForest(c), 1)
	both, _ := answers(t, jobs, NewForest(DefaultForest()), 1)
	medians, _ := answers(t, jobs, newGroupMedian(), 1)
	changed := 0
	for i := range jobs {
		near := func(x, y float64) bool { return x > .999999*y && x < 1.000001*y }
		if near(both[i], alone[i]) {
			continue
		}
		if changed++; !near(both[i], medians[i]) {
			t.Fatalf("job %d: %v, want the forest's %v or the median %v", i, both[i], alone[i], medians[i])
		}
	}
	if changed == 0 || changed == len(jobs) {
		t.Errorf("%d of %d jobs get the median", changed, len(jobs))
	}
}

func TestForestConfigMistakes(t *testing.T) {
	for _, change := range []func(*ForestConfig){
		func(c *ForestConfig) { c.Forest.Trees = 0 },
		func(c *ForestConfig) { c.First = 1 },
		func(c *ForestConfig) { c.Every = 0 },
		func(c *ForestConfig) { c.Window = c.First - 1 },
		func(c *ForestConfig) { c.Runs = 0 },
		func(c *ForestConfig) { c.Trials = -1 },
		func(c *ForestConfig) { c.Decay = 0 },
	} {
		c := DefaultForest()
		change(&c)
		if c.validate() == nil {
			t.Errorf("%+v passes", c)
		}
	}
}

// TestRow checks features by hand: runs of a group are in iterations, at the pace of the job to predict; other sets are in
// seconds.
func TestRow(t *testing.T) {
	f := NewForest(eager()).(*forestPredictor)
	job := func(user, model string, workers int32) *cluster.JobSpec {
		return &cluster.JobSpec{
			Group: "g", User: user, Model: model, Workers: workers, Request: cluster.Amount{GPUMilli: 500, CPUMilli: 3000, MemMiB: 7},
		}
	}
	s := job("u", "gpt2-1.5b", 2)
	pace := math.Log(physics.IterationSeconds(s))
	if pace == 0 {
		t.Fatal("the model's pace proves nothing")
	}
	check := func(when string, got, want []float64) {
		t.Helper()
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-5 {
				t.Errorf("%s: %.4f, want %.4f", when, got, want)
				return
			}
		}
	}
	row := func() (all []float64) {
		for _, x := range f.row(nil, s) {
			all = append(all, float64(x))
		}
		if len(all) != features {
			t.Fatalf("%d features, want %d", len(all), features)
		}
		return all
	}
	level := func(l int) []float64 { return row()[jobFeatures+l*levelFeatures:][:levelFeatures] }
	first := math.Log(600)
	check("before any job", row()[:jobFeatures], []float64{first, pace, 1000, 2, 3000, 7, 1, 1})
	check("before any job", level(ofUser), []float64{0, first, first, first, first, 0})
	other := job("v", "", 1) // an iteration takes a second
	for _, n := range []float64{10, 1000, 1000, 1000} {
		f.Observe(other, n)
	}
	ten, thousand := math.Log(10), math.Log(1000)
	mean := (ten + 3*thousand) / 4
	sd := math.Sqrt(((ten-mean)*(ten-mean) + 3*(thousand-mean)*(thousand-mean)) / 4)
	check("runs of another model", level(ofKey), []float64{math.Log(5), thousand + pace, mean + pace, thousand + pace, thousand + pace, sd})
	check("another user's jobs", level(ofUser), []float64{0, thousand + pace})
	check("all jobs", level(ofAll), []float64{math.Log(5), thousand, mean, thousand, thousand, sd})
	check("what the group median comes to", row()[:1], []float64{thousand + pace})
	f.Observe(s, 50)
	check("a run in seconds", level(ofUserSize), []float64{math.Log(2), math.Log(50) + pace})
	check("a run in iterations", level(ofKey)[3:4], []float64{math.Log(50) + pace})
}
