package belief

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

func job(user string, workers int32) *cluster.JobSpec {
	return &cluster.JobSpec{User: user, Workers: workers}
}

// apart returns the largest difference between the probabilities of a bin in two distributions.
func apart(a, b *Distribution) (most float64) {
	for i := range Bins {
		most = max(most, math.Abs(a.p[i]-b.p[i]))
	}
	return most
}

func TestPrior(t *testing.T) {
	for _, l := range []*Learner{New(Age, Mean), New(History, Mean)} {
		d := l.Of(job("ada", 4))
		for q, want := range map[float64]float64{0.5: 600, 0.1: 600. / 9, 0.9: 5400} {
			closeTo(t, fmt.Sprintf("quantile %v", q), d.Quantile(0, q).Seconds(), want, 0.07)
		}
		for range 100 {
			l.Ended(job("ada", 4), 30*time.Hour)
		}
		if got := l.Of(job("ada", 4)).Quantile(0, 0.5).Hours(); got < 24 || got > 36 {
			t.Errorf("a median of %v h after 100 jobs of 30 h", got)
		}
	}
}

// TestHistoryFallsBack checks that a job is predicted by the wider set where nothing is known of the narrower one.
func TestHistoryFallsBack(t *testing.T) {
	age, history := New(Age, Mean), New(History, Mean)
	for i := range 30 {
		for _, l := range []*Learner{age, history} {
			l.Ended(job("ada", 1), time.Duration(i)*time.Minute)
			l.Ended(job("bob", 8), time.Duration(i)*time.Hour)
		}
	}
	of := func(l *Learner, j *cluster.JobSpec) Distribution { return *l.Of(j) }
	if of(history, job("eve", 2)) != of(age, job("eve", 2)) {
		t.Error("a job of unknown user and size is not predicted like any job")
	}
	if of(history, job("eve", 8)) != of(history, job("", 8)) || of(history, job("eve", 8)) == of(history, job("eve", 2)) {
		t.Error("a job of an unknown user is not predicted like any job of its size")
	}
	a, b := of(history, job("ada", 2)), of(history, job("bob", 2))
	if a.Mean(0) >= b.Mean(0) {
		t.Errorf("of a size that is new to both, ada's jobs last %v and bob's %v", a.Mean(0), b.Mean(0))
	}
	tenant := &cluster.JobSpec{Tenant: "ada", Workers: 1}
	if of(history, tenant) != of(history, job("ada", 1)) || of(history, tenant) == of(history, job("", 1)) {
		t.Error("a job without a user is not predicted by its tenant")
	}
}

// TestOneUserOneSize checks that all levels agree if all jobs have the same user and size, up to the jobs that the wider sets and
// the prior count as.
func TestOneUserOneSize(t *testing.T) {
	const n = 100_000
	age, history := New(Age, Mean), New(History, Mean)
	for _, l := range []*Learner{age, history} {
		l.tuning.keep = [levels]float64{1, 1, 1, 1}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range n {
		ran := time.Duration(1800e9 * rng.ExpFloat64())
		age.Ended(job("ada", 4), ran)
		history.Ended(job("ada", 4), ran)
	}
	a, h := age.Of(job("ada", 4)), history.Of(job("ada", 4))
	if d := apart(a, h); d > 110./n {
		t.Errorf("probabilities %v apart", d)
	}
	closeTo(t, "mean", float64(h.Mean(0)), float64(a.Mean(0)), 0.01)
	closeTo(t, "median", float64(h.Quantile(0, 0.5)), float64(a.Quantile(0, 0.5)), 0.001)
}

func TestRecentJobsCountMore(t *testing.T) {
	l := New(History, Median)
	for range 100 {
		l.Ended(job("ada", 1), time.Minute)
	}
	before, _ := l.Left(job("ada", 1), 0)
	for range 20 {
		l.Ended(job("ada", 1), 10*time.Hour)
	}
	if after, _ := l.Left(job("ada", 1), 0); before > 2*time.Minute || after < 5*time.Hour {
		t.Errorf("a median of %v after 100 jobs of 1 min, and of %v after 20 more of 10 h", before, after)
	}
}

// TestPredictionsDependOnEndedJobsOnly checks that asking changes nothing: a learner that is asked after each job predicts like one
// that is asked at the end.
func TestPredictionsDependOnEndedJobsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked, silent := New(History, Mean), New(History, Mean)
		for range rapid.IntRange(0, 20).Draw(t, "jobs") {
			j, ran := drawJob(t), drawAge(t)
			asked.Ended(j, ran)
			silent.Ended(j, ran)
			asked.Of(drawJob(t))
		}
		for range 5 {
			j := drawJob(t)
			if *asked.Of(j) != *silent.Of(j) {
				t.Fatalf("job %+v: two distributions", j)
			}
		}
		if !bytes.Equal(asked.Save(), silent.Save()) {
			t.Fatal("two texts")
		}
	})
}

func drawJob(t *rapid.T) *cluster.JobSpec {
	return job(rapid.SampledFrom([]string{"", "ada", "bob", "<\u2028\"é"}).Draw(t, "user"), rapid.Int32Range(1, 3).Draw(t, "workers"))
}

// TestMemoryIsBounded checks that a learner forgets the users whose jobs ended longest ago, and that it still can be saved.
func TestMemoryIsBounded(t *testing.T) {
	l, again := New(History, Mean), New(History, Mean)
	for i := range 3 * most {
		j := job(fmt.Sprint("user ", i), int32(i%7)+1)
		l.Ended(j, time.Hour)
		again.Ended(j, time.Hour)
		l.Left(j, 0)
	}
	if len(l.sets) > most || len(l.sets) < most/2 || len(l.views) > most {
		t.Errorf("%d sets and %d views, want at most %d and not far fewer sets", len(l.sets), len(l.views), most)
	}
	if l.sets[key{Level: sameUser, User: "user 0"}] != nil || l.sets[key{Level: allJobs}] == nil {
		t.Error("a user who was here long ago is known, or the set of all jobs forgotten")
	}
	if u := fmt.Sprint("user ", 3*most-1); l.sets[key{Level: sameUser, User: u}] == nil {
		t.Error("the last user is unknown")
	}
	text := l.Save()
	if !bytes.Equal(text, again.Save()) {
		t.Error("two learners forget different users")
	}
	if err := New(History, Mean).Restore(text); err != nil {
		t.Errorf("%d bytes: %v", len(text), err)
	}
}

// TestNamesThatCannotBeSaved checks that a user whose name no file could contain counts as unknown.
func TestNamesThatCannotBeSaved(t *testing.T) {
	l := New(History, Mean)
	bad := job("\x1b[2J", 0)
	l.Ended(bad, time.Hour)
	if *l.Of(bad) != *l.Of(job("", 1)) {
		t.Error("the user is known")
	}
	if err := New(History, Mean).Restore(l.Save()); err != nil {
		t.Error(err)
	}
}

func TestLearnersDoNotAllocate(t *testing.T) {
	for _, by := range []Rank{Mean, Gittins, Median} {
		l, j, other := New(History, by), job("ada", 4), job("bob", 2)
		use := func() {
			l.Ended(j, time.Hour)
			l.Left(j, time.Hour)
			l.Left(other, time.Minute)
		}
		if n := testing.AllocsPerRun(100, use); n > 0 {
			t.Errorf("%v: %v allocations", by, n)
		}
	}
}
