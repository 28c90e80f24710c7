package predict

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

func TestRecurringJobs(t *testing.T) {
	base := cluster.JobSpec{User: "ada", Workers: 2, Request: cluster.Amount{GPUMilli: 1000, CPUMilli: 4000}, Model: "m"}
	for _, c := range []struct {
		name   string
		change func(*cluster.JobSpec)
		same   bool
	}{
		{"another run", func(s *cluster.JobSpec) { s.Name, s.Submit, s.Estimate = "x", 9, 9 }, true},
		{"one stage is none", func(s *cluster.JobSpec) { s.Stages, s.Tensor = 1, 1 }, true},
		{"another user", func(s *cluster.JobSpec) { s.User = "bob" }, false},
		{"more workers", func(s *cluster.JobSpec) { s.Workers = 3 }, false},
		{"more cores", func(s *cluster.JobSpec) { s.Request.CPUMilli = 5000 }, false},
		{"another model", func(s *cluster.JobSpec) { s.Model = "n" }, false},
		{"another cut", func(s *cluster.JobSpec) { s.Tensor = 2 }, false},
		{"a group", func(s *cluster.JobSpec) { s.Group = "g" }, false},
	} {
		other := base
		c.change(&other)
		if same := KeyOf(&base) == KeyOf(&other); same != c.same {
			t.Errorf("%s: the same recurring job: %v, want %v", c.name, same, c.same)
		}
	}
	a, b := cluster.JobSpec{Group: "g", User: "ada", Workers: 1}, cluster.JobSpec{Group: "g", User: "bob", Workers: 2}
	if KeyOf(&a) != KeyOf(&b) {
		t.Error("jobs of one group are not runs of one recurring job")
	}
	p := newGroupMedian()
	nobody := cluster.JobSpec{Workers: 1, Request: cluster.Amount{GPUMilli: 1000}}
	p.Observe(&nobody, 5)
	if _, cold := p.Predict(&nobody); !cold {
		t.Error("a job of nobody recurs")
	}
}

// TestRuns checks that runs keeps the latest numbers, and that median, mean and last agree with a plain slice.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 6).Draw(t, "most")
		var r runs
		var all []float64
		for range rapid.IntRange(1, 20).Draw(t, "numbers") {
			x := float64(rapid.IntRange(0, 5).Draw(t, "x"))
			r.add(x, most)
			all = append(all, x)
			latest := slices.Clone(all[max(0, len(all)-most):])
			n := len(latest)
			two := latest[max(0, n-2):]
			if got, want := r.last(2), (two[0]+two[len(two)-1])/2; got != want {
				t.Fatalf("last two of %v: %v, want %v", latest, got, want)
			}
			slices.Sort(latest)
			sum := 0.0
			for _, x := range latest {
				sum += x
			}
			if r.count() != n || r.median() != (latest[(n-1)/2]+latest[n/2])/2 || r.mean() != sum/float64(n) {
				t.Fatalf("%d numbers of median %v and mean %v, want those of %v", r.count(), r.median(), r.mean(), latest)
			}
		}
	})
}

func TestColdStarts(t *testing.T) {
	job := func(user string, workers int32) *cluster.JobSpec {
		return &cluster.JobSpec{User: user, Workers: workers, Request: cluster.Amount{GPUMilli: 1000}}
	}
	for _, kind := range []string{kindGranted, kindMean, kindMedian, kindForest} {
		p := must.Get(New(kind))(t)
		check := func(when string, s *cluster.JobSpec, want float64, wantCold bool) {
			t.Helper()
			if got, cold := p.Predict(s); math.Abs(got-want) > 1e-9*want || cold != wantCold {
				t.Errorf("%s, %s: %v, cold %v, want %v, cold %v", kind, when, got, cold, want, wantCold)
			}
		}
		p.Reset(1)
		check("before any job", job("new", 1), 600, true)
		for i := range enoughJobs - 1 {
			p.Observe(job(fmt.Sprint(i), 2), 10)
		}
		p.Observe(job("ada", 1), 100)
		p.Observe(job("ada", 1), 200)
		check("too few jobs of its size", job("new", 2), 10, true)
		p.Observe(job("eve", 2), 50)
		p.Observe(job("eve", 2), 50)
		p.Observe(job("eve", 2), 50)
		check("enough jobs of its size", job("new", 2), 10, true)
		check("a job as small as few", job("new", 1), 50, true)
		granting := job("eve", 2)
		granting.Estimate = 7 * time.Second
		switch kind {
		case kindGranted:
			check("what is granted", granting, 7, false)
			check("nothing granted", job("eve", 2), 10, true)
		default:
			check("a run of a recurring job", granting, 50, false)
		}
	}
}

// TestColdStartsGoBySeconds checks that a cold start of another model gets the same seconds, and therefore other iterations.
func TestColdStartsGoBySeconds(t *testing.T) {
	p := newGroupMedian()
	job := func(model string, workers int32) *cluster.JobSpec {
		return &cluster.JobSpec{User: "u", Workers: workers, Request: cluster.Amount{GPUMilli: 1000}, Model: model}
	}
	p.Observe(job("gpt2-1.5b", 1), 1000)
	seconds := 1000 * physics.IterationSeconds(job("gpt2-1.5b", 1))
	for _, s := range []*cluster.JobSpec{job("", 1), job("gpt2-1.5b", 8)} {
		if got, _ := p.Predict(s); math.Abs(got*physics.IterationSeconds(s)-seconds) > 1e-9*seconds {
			t.Errorf("%s of %d: %v iterations, want those of %v s", s.Model, s.Workers, got, seconds)
		}
	}
}

// TestGroupsByPlainLoop checks that group mean and median are those over the runs that had ended, by a loop over all pairs of
// jobs.
func TestGroupsByPlainLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t)
		means, cold := answers(t, jobs, newGroupMean(), 1)
		medians, _ := answers(t, jobs, newGroupMedian(), 1)
		for i := range jobs {
			var runs []float64
			for k := range jobs {
				known := jobs[k].Group != "" || jobs[k].User != "" || jobs[k].Tenant != ""
				if known && KeyOf(&jobs[k].JobSpec) == KeyOf(&jobs[i].JobSpec) && jobs[k].Submit+jobs[k].Work <= jobs[i].Submit {
					runs = append(runs, trueIterations(&jobs[k]))
				}
			}
			if cold[i] != (len(runs) == 0) {
				t.Fatalf("job %d with %d runs: cold %v", i, len(runs), cold[i])
			}
			if n := len(runs); n > 0 {
				slices.Sort(runs)
				sum := 0.0
				for _, x := range runs {
					sum += x
				}
				if mean := sum / float64(n); math.Abs(means[i]-mean) > 1e-9*mean || medians[i] != (runs[(n-1)/2]+runs[n/2])/2 {
					t.Fatalf("job %d: mean %v and median %v, want those of %v", i, means[i], medians[i], runs)
				}
			}
		}
	})
}

// TestNothingLeaks checks that predictions do not use the future: changing one job's Work changes no prediction for a job that
// was submitted before both ends.
func TestNothingLeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t)
		k := rapid.IntRange(0, len(jobs)-1).Draw(t, "changed")
		var before [][]float64
		for _, p := range all() {
			told, _ := answers(t, jobs, p, 1)
			before = append(before, told)
		}
		ends := jobs[k].Submit + jobs[k].Work
		jobs[k].Work = time.Duration(rapid.Int64Range(1, int64(100*time.Second)).Draw(t, "work instead"))
		ends = min(ends, jobs[k].Submit+jobs[k].Work)
		for n, p := range all() {
			after, _ := answers(t, jobs, p, 1)
			for i := range jobs {
				if jobs[i].Submit < ends && after[i] != before[n][i] {
					t.Fatalf("%s says %v and not %v of job %d, submitted at %v, as job %d changed, which ends at %v or later",
						p.Name(), after[i], before[n][i], i, jobs[i].Submit, k, ends)
				}
			}
		}
	})
}

// TestResetStartsAgain checks that one seed gives the same predictions after Reset and for a new predictor.
func TestResetStartsAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, seed := drawJobs(t), rapid.Uint64().Draw(t, "seed")
		fresh := all()
		for n, p := range all() {
			first, _ := answers(t, jobs, p, seed)
			again, _ := answers(t, jobs, p, seed)
			other, _ := answers(t, jobs, fresh[n], seed)
			if !slices.Equal(first, again) || !slices.Equal(first, other) {
				t.Fatalf("%s: %v, after Reset %v, new %v", p.Name(), first, again, other)
			}
		}
	})
}

// TestNoisy checks that the noise follows from seed and name only, has the given deviation, and never gives less than one
// iteration.
func TestNoisy(t *testing.T) {
	p := newNoisy(newGranted(), .5)
	p.Reset(1)
	spec := func(i int) *cluster.JobSpec {
		return &cluster.JobSpec{Name: fmt.Sprint("job", i), Workers: 1, Estimate: 1000 * time.Second}
	}
	var sum, squares float64
	const n = 4000
	for i := range n {
		x, cold := p.Predict(spec(i))
		if again, _ := p.Predict(spec(i)); cold || again != x {
			t.Fatalf("job %d: %v, then %v; cold %v", i, x, again, cold)
		}
		z := math.Log(x / 1000)
		sum += z
		squares += z * z
	}
	if mean, sd := sum/n, math.Sqrt(squares/n); math.Abs(mean) > .03 || math.Abs(sd-.5) > .02 {
		t.Errorf("log noise of mean %.3f and deviation %.3f, want 0 and 0.5", mean, sd)
	}
	one, _ := p.Predict(spec(1))
	p.Observe(spec(2), 7)
	if later, _ := p.Predict(spec(1)); later != one {
		t.Errorf("noise of a job changes from %v to %v as others end", one, later)
	}
	p.Reset(2)
	if two, _ := p.Predict(spec(1)); two == one {
		t.Error("two seeds, one noise")
	}
	wild := newNoisy(newGranted(), maxSigma)
	for i := range 200 {
		if x, _ := wild.Predict(spec(i)); !(x >= 1 && x <= mostIterations) {
			t.Errorf("%v iterations", x)
		}
	}
	if _, cold := wild.Predict(&cluster.JobSpec{Name: "x", Workers: 1}); !cold {
		t.Error("noise warms a cold start")
	}
}

func TestNew(t *testing.T) {
	for _, c := range []struct{ kind, name, want string }{
		{"granted", "granted", ""},
		{"group-mean", "group-mean", ""},
		{"group-median", "group-median", ""},
		{"forest", "forest", ""},
		{"noisy(0.25)", "noisy(0.25)", ""},
		{"noisy(-1)", "", "want noisy(SIGMA) with a number from 0 to 10"},
		{"noisy(NaN)", "", "want noisy(SIGMA)"},
		{"noisy(x)", "", "want noisy(SIGMA)"},
		{"noisy", "", `predictor "noisy": want one of granted, group-mean`},
		{"", "", `predictor "": want one of`},
		{"Forest", "", `predictor "Forest": want one of`},
		{filepath.Join(t.TempDir(), "no.predictor"), "", "open predictor"},
	} {
		p, err := New(c.kind)
		switch {
		case c.want == "":
			if err != nil || p.Name() != c.name {
				t.Errorf("%q: %v, %v", c.kind, p, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%q: %v, want %q", c.kind, err, c.want)
		}
	}
}
