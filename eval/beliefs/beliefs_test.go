package beliefs

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
)

// episode returns the log of four jobs that run one after the other, for 100 s, 200 s, 300 s and 400 s: three of ann, one of bob.
// Their throughput is measured every minute.
func episode(t *testing.T) *sim.Log {
	t.Helper()
	jobs := make([]trace.Job, 4)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.User, j.Workers = string(rune('a'+i)), []string{"ann", "ann", "bob", "ann"}[i], 2
		j.Request = cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: int32(1000 * (i + 1)), MemMiB: 1000}
		j.Submit, j.Work = time.Duration(i)*time.Second, time.Duration(i+1)*100*time.Second
	}
	cfg := sim.Config{Cluster: cluster.Uniform(1, 2), Readings: sim.Readings{Interval: time.Minute}}
	for i := range cfg.Cluster.Servers {
		cfg.Cluster.Servers[i].CPUMilli, cfg.Cluster.Servers[i].MemMiB = 16000, 16000
	}
	policy, err := baselines.New("fifo")
	if err != nil {
		t.Fatal(err)
	}
	return simtest.Play(t, &sim.Episode{Config: cfg, Jobs: jobs}, policy, 1)
}

func learn(t *testing.T, at time.Duration) *Beliefs {
	t.Helper()
	b, err := Learn(episode(t), at, belief.History)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLearnByAnInstant checks what is known at instants of an episode: at decisions and between them.
func TestLearnByAnInstant(t *testing.T) {
	for _, c := range []struct {
		at       time.Duration
		ended    int
		readings int64
		states   []string // of the jobs that have been submitted
	}{
		{0, 0, 0, []string{"runs"}},
		{99 * time.Second, 0, 0, []string{"runs", "waits", "waits", "waits"}},
		{100 * time.Second, 1, 1, []string{"ended", "runs", "waits", "waits"}},
		{299 * time.Second, 1, 1, []string{"ended", "runs", "waits", "waits"}}, // a reading that no decision has seen
		{600 * time.Second, 3, 3, []string{"ended", "ended", "ended", "runs"}},
		{End, 4, 4, []string{"ended", "ended", "ended", "ended"}},
	} {
		b := learn(t, c.at)
		var states []string
		for _, name := range b.Names() {
			j, _ := b.Job(name)
			states = append(states, j.State)
		}
		if got := b.Everyone().Ended; got != c.ended || b.Readings() != c.readings || !slices.Equal(states, c.states) {
			t.Errorf("at %v: %d ended, %d readings, %v; want %+v", c.at, got, b.Readings(), states, c)
		}
	}
	j, ok := learn(t, 150*time.Second).Job("b")
	if l := j.Left; !ok || l == nil || l.Age != 50 || j.Ran != 50 || !(0 < l.Low && l.Low < l.Median && l.Median < l.High) {
		t.Errorf("the job that runs for 50 s: %+v, %+v", j, j.Left)
	}
	if _, ok := learn(t, 0).Job("b"); ok {
		t.Error("a job is known before its submission")
	}
	for _, at := range []time.Duration{-1, 2000 * time.Second} {
		if _, err := Learn(episode(t), at, belief.Age); err == nil {
			t.Errorf("at %v: no error", at)
		}
	}
}

// TestUsers checks the order of users, and that their predictions differ with history and do not with age.
func TestUsers(t *testing.T) {
	log := episode(t)
	for _, kind := range []belief.Kind{belief.Age, belief.History} {
		b, err := Learn(log, End, kind)
		if err != nil {
			t.Fatal(err)
		}
		u := b.Users(5)
		if len(u) != 2 || u[0].User != "ann" || u[0].Ended != 3 || u[1].User != "bob" || u[1].Workers != 2 || len(b.Users(1)) != 1 {
			t.Fatalf("users %+v", u)
		}
		if (u[0].Median == u[1].Median) != (kind == belief.Age) {
			t.Errorf("%s: medians of %v s and %v s", kind, u[0].Median, u[1].Median)
		}
		all, each := b.Everyone(), b.Each("ann")
		if all.Counts < 3.9 || all.Counts > 4 || len(each) != 1 || each[0].Median != u[0].Median {
			t.Errorf("%s: all %+v, of ann %+v", kind, all, each)
		}
		x, y := all.Curve(50)
		if !slices.IsSorted(x) || !slices.IsSorted(y) || len(x) != 50 || y[49] < .95 {
			t.Errorf("curve %v %v", x, y)
		}
	}
	if got := learn(t, End).UserNames(); !slices.Equal(got, []string{"ann", "bob"}) {
		t.Errorf("users %q", got)
	}
}

// TestSpeeds checks that a job as requested has speed 1, that less CPU and more servers are no better, and what a job may have.
func TestSpeeds(t *testing.T) {
	b := learn(t, End)
	spec := b.Typical("")
	if spec.Request.CPUMilli != 2000 || spec.Workers != 2 {
		t.Errorf("the typical job is %+v", spec)
	}
	list := b.Speeds(&spec)
	if s := list[0]; s.Speed != 1 || s.Low != 1 || s.High != 1 {
		t.Errorf("as requested %+v", s)
	}
	var what []string
	for _, s := range list {
		what = append(what, s.What)
		if !(0 < s.Low && s.Low <= s.Speed && s.Speed <= s.High) {
			t.Errorf("%+v", s)
		}
	}
	want := []string{"as requested", "half the CPU (1 core)", "twice the CPU (4 cores)", "half the workers (1)",
		"twice the workers (4)", "on a shared GPU", "over 2 servers, not 1"}
	if !slices.Equal(what, want) {
		t.Errorf("configurations %q", what)
	}
	if list[1].Speed >= 1 || list[2].Speed < 1 || list[6].Speed > 1 {
		t.Errorf("speeds %+v", list)
	}
	j, _ := b.Job("c")
	if len(j.Readings) != 1 || j.Readings[0].Speed.Speed != 1 || len(j.Speeds) != 5 { // its gang is fixed
		t.Errorf("job c: %+v", j)
	}
	band := b.JobBand(&j, 20)
	if !slices.IsSorted(band.X) || !slices.IsSorted(band.Mean) || !slices.Equal(band.PointX, []float64{3}) || band.Request != 3 {
		t.Errorf("band %+v", band)
	}
	if p := band.PointY[0]; p < .999 || p > 1.001 {
		t.Errorf("the reading of the request is drawn at %v", p)
	}
	if other := b.TypicalBand("", 20); len(other.PointX) != 0 {
		t.Errorf("points of jobs with one reading: %v", other.PointX)
	}
}
