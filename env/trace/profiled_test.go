package trace

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
	"pgregory.net/rapid"
)

func profiled(jobs []Job) []time.Duration {
	jobs = slices.Clone(jobs)
	if err := (Estimates{Kind: Profiled}).Apply(jobs, nil); err != nil {
		panic(err)
	}
	told := make([]time.Duration, len(jobs))
	for i := range jobs {
		told[i] = jobs[i].Estimate
	}
	return told
}

// drawAlike draws jobs of few users, sizes and groups that overlap in time.
func drawAlike(t *rapid.T) []Job {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Job {
		return Job{
			JobSpec: cluster.JobSpec{
				User: rapid.SampledFrom([]string{"", "u", "v"}).Draw(t, "user"), Workers: rapid.Int32Range(1, 3).Draw(t, "workers"),
				Group:  rapid.SampledFrom([]string{"", "", "g", "h"}).Draw(t, "group"),
				Submit: time.Duration(rapid.Int64Range(0, 100).Draw(t, "submit")) * time.Second,
			},
			Work: time.Duration(rapid.Int64Range(1, 40).Draw(t, "work")) * time.Second,
		}
	}), 1, 25).Draw(t, "jobs")
}

// TestProfiledIsTheMeanOfThePast checks the estimates against a loop over all pairs of jobs: an estimate is the mean over the
// narrowest set of similar jobs that have ended.
func TestProfiledIsTheMeanOfThePast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawAlike(t)
		for i, got := range profiled(jobs) {
			j := &jobs[i]
			want := FirstGuess
			for _, alike := range []func(*Job) bool{
				func(p *Job) bool { return j.Group != "" && p.Group == j.Group },
				func(p *Job) bool { return p.User == j.User && p.Workers == j.Workers },
				func(p *Job) bool { return p.Workers == j.Workers },
				func(*Job) bool { return true },
			} {
				logs, n := 0.0, 0
				for k := range jobs {
					if p := &jobs[k]; p.Submit+p.Work <= j.Submit && alike(p) {
						logs += math.Log(p.Work.Seconds())
						n++
					}
				}
				if n > 0 {
					want = time.Duration(math.Exp(logs/float64(n)) * float64(time.Second))
					break
				}
			}
			if (got - want).Abs() > 2*time.Millisecond {
				t.Fatalf("job %d: %v, want %v of\n%+v", i, got, want, jobs)
			}
		}
	})
}

// TestProfiledDoesNotLeak checks that estimates do not reveal the future: changing one job's Work changes no estimate of a job
// submitted before the job's old and new end.
func TestProfiledDoesNotLeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawAlike(t)
		k := rapid.IntRange(0, len(jobs)-1).Draw(t, "changed")
		before := profiled(jobs)
		ends := jobs[k].Submit + jobs[k].Work
		jobs[k].Work = time.Duration(rapid.Int64Range(1, int64(100*time.Second)).Draw(t, "work instead"))
		ends = min(ends, jobs[k].Submit+jobs[k].Work)
		for i, after := range profiled(jobs) {
			if jobs[i].Submit < ends && after != before[i] {
				t.Fatalf("job %d submitted at %v is told %v and not %v, as job %d changed, which ends at %v or later", i,
					jobs[i].Submit, after, before[i], k, ends)
			}
		}
	})
}

// TestProfiledScales checks that scaling all times scales the estimates, except for first guesses.
func TestProfiledScales(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawAlike(t)
		factor := time.Duration(rapid.Int64Range(2, 1000).Draw(t, "factor"))
		before := profiled(jobs)
		for i := range jobs {
			jobs[i].Submit *= factor
			jobs[i].Work *= factor
		}
		for i, after := range profiled(jobs) {
			if before[i] == FirstGuess && after == FirstGuess {
				continue
			}
			if want := before[i] * factor; (after - want).Abs() > (factor+1)*2*time.Millisecond {
				t.Fatalf("job %d: %v, want %v", i, after, want)
			}
		}
	})
}

// TestProfiledOnVenus logs the errors of the estimates on real jobs, and checks that narrower sets of similar jobs make them
// smaller.
func TestProfiledOnVenus(t *testing.T) {
	path := filepath.Join(sharedtest.Dir(t), "traces", "helios-venus-2020-06/helios_data_training.csv.gz")
	w := must.Get(Read(path, Options{Format: Helios}))(t)
	sd := map[string]float64{}
	anonymous := slices.Clone(w.Jobs)
	for i := range anonymous {
		anonymous[i].User = ""
	}
	grouped := slices.Clone(w.Jobs)
	(&Mix{Recurring: 1, Classes: []Class{{UpTo: 1}, {UpTo: 10}, {UpTo: 100}, {UpTo: 1000}, {}}}).Apply(grouped, 1)
	for i := range grouped {
		grouped[i].Dealt = false // as if the trace had the groups
	}
	for _, c := range []struct {
		what string
		jobs []Job
	}{{"sizes alone", anonymous}, {"users and sizes", w.Jobs}, {"all jobs runs of recurring ones", grouped}} {
		var logs, ratios []float64
		within, first := 0, 0
		for i, told := range profiled(c.jobs) {
			e := math.Log(told.Seconds() / c.jobs[i].Work.Seconds())
			logs, ratios = append(logs, e), append(ratios, math.Abs(e))
			if math.Abs(e) <= math.Ln2 {
				within++
			}
			if told == FirstGuess {
				first++
			}
		}
		mean, s := meanSD(logs)
		sd[c.what] = s
		slices.Sort(ratios)
		t.Logf("%-32s log error: mean %+.2f, deviation %.2f; off by a factor of %.1f at the median, %.0f at the 90th percentile;"+
			" %.0f %% within a factor of 2; %d of %d first guesses", c.what, mean, s, math.Exp(nearestRank(ratios, .5)),
			math.Exp(nearestRank(ratios, .9)), 100*float64(within)/float64(len(logs)), first, len(logs))
	}
	if !(sd["all jobs runs of recurring ones"] < sd["users and sizes"] && sd["users and sizes"] < sd["sizes alone"]) {
		t.Errorf("deviations %v: want less where more is known", sd)
	}
}

// TestProfiledIgnoresDealtGroups checks that the groups that a mix deals, which depend on how long jobs run, tell an estimate
// nothing, while the groups of a trace do.
func TestProfiledIgnoresDealtGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bare := drawAlike(t)
		for i := range bare {
			bare[i].Name, bare[i].Group, bare[i].Request.GPUMilli = fmt.Sprint(i), "", cluster.WholeGPU
			bare[i].User += "user"
		}
		dealt := slices.Clone(bare)
		(&Mix{Recurring: 1, Classes: []Class{{UpTo: 0.002}, {}}}).Apply(dealt, 1)
		for i := range dealt {
			if dealt[i].Group == "" {
				t.Fatalf("job %d: the mix dealt no group", i)
			}
		}
		if got, want := profiled(dealt), profiled(bare); !slices.Equal(got, want) {
			t.Fatalf("estimates %v, want %v as without groups", got, want)
		}
	})
}
