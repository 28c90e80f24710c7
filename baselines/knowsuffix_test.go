package baselines

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// known returns an episode in which short jobs arrive after long ones.
func known() (sim.Config, []job) {
	cfg := sim.Config{Cluster: cluster.Uniform(2, 4), Restart: sim.Pause(time.Minute)}
	jobs := make([]job, 30)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.User = string(rune('a'+i)), []string{"ann", "bob"}[i%2]
		j.Submit, j.Work = time.Duration(i*i)*time.Second, time.Duration(1+(i*7)%30)*time.Minute
		j.Workers, j.Request.GPUMilli = int32(1+i%4), cluster.WholeGPU
	}
	return cfg, jobs
}

// tells returns all records of an episode, and checks that nothing is believed after a decision.
func tells(t *testing.T, cfg sim.Config, jobs []job, s cluster.Scheduler) (all string) {
	t.Helper()
	for _, line := range timeline(t, cfg, jobs, after{s, t}) {
		all += line + "\n"
	}
	return all
}

// after checks the View after each decision.
type after struct {
	cluster.Scheduler
	t *testing.T
}

func (a after) Schedule(tx *cluster.Txn) error {
	defer func() {
		if tx.View().Believes() {
			a.t.Error("the View still uses predictions after a decision")
		}
	}()
	return a.Scheduler.Schedule(tx)
}

// TestKnowBegins checks that seen=training needs jobs of the past, that each episode begins with what these taught, and that this
// changes decisions.
func TestKnowBegins(t *testing.T) {
	const name = "sjf+know:seen=training:time=history"
	if _, err := New(name); !errors.Is(err, ErrUnfitted) {
		t.Errorf("error %v, want %v", err, ErrUnfitted)
	}
	seen := parsed(t, name)
	if needs := seen.Needs(); needs != (Needs{Learned: true, Memory: true}) {
		t.Errorf("it needs %+v", needs)
	}
	if needs := parsed(t, "sjf+know:time=history").Needs(); needs != (Needs{Memory: true}) {
		t.Errorf("what has seen nothing needs %+v", needs)
	}
	// Jobs of ann take 10 minutes, those of bob a minute.
	g := Given{Learned: func(kind belief.Kind) []byte {
		l := belief.New(kind, belief.Mean)
		for range 50 {
			l.Ended(&cluster.JobSpec{User: "ann", Workers: 1}, 10*time.Minute)
			l.Ended(&cluster.JobSpec{User: "bob", Workers: 1}, time.Minute)
		}
		return l.Save()
	}}
	s := must.Get(seen.New(g))(t)
	cfg, jobs := sim.Config{Cluster: cluster.Uniform(1, 1)}, make([]job, 3)
	for i, user := range []string{"ann", "ann", "bob"} {
		jobs[i].Name, jobs[i].User, jobs[i].Workers, jobs[i].Request.GPUMilli = string(rune('a'+i)), user, 1, cluster.WholeGPU
		jobs[i].Work = time.Hour // against all that the past has taught
	}
	for range 2 { // the second episode must not know of the first
		first := timeline(t, cfg, jobs, s)[3] // after three submissions
		if !strings.HasPrefix(first, "0s start 2 ") || s.Name() != name {
			t.Errorf("%s begins with %q, want the job of bob to start", s.Name(), first)
		}
	}
}

// TestKnowRemembers checks that a policy begins with a memory that it is given, whatever it has seen, and does not change it.
func TestKnowRemembers(t *testing.T) {
	l := belief.New(belief.History, belief.Mean)
	for range 50 {
		l.Ended(&cluster.JobSpec{User: "ann", Workers: 1}, 10*time.Minute)
		l.Ended(&cluster.JobSpec{User: "bob", Workers: 1}, time.Minute)
	}
	memory := belief.NewMemory()
	saved := fmt.Sprintf(`{"format":%q,"version":1,"run_times":%s,"speeds":%s}`, belief.MemoryFormat, l.Save(), belief.NewSpeeds(true).Save())
	must.Do(t, memory.Restore([]byte(saved)))
	before := string(memory.Save())
	cfg, jobs := sim.Config{Cluster: cluster.Uniform(1, 1)}, make([]job, 3)
	for i, user := range []string{"ann", "ann", "bob"} {
		jobs[i].Name, jobs[i].User, jobs[i].Workers, jobs[i].Request.GPUMilli = string(rune('a'+i)), user, 1, cluster.WholeGPU
		jobs[i].Work = time.Hour
	}
	for name, want := range map[string]string{
		"sjf+know:time=history": "0s start 2 ", "sjf+know:time=history:seen=training": "0s start 2 ", "sjf+know:speed=fit": "0s start 0 ",
	} {
		s := must.Get(parsed(t, name).New(Given{Memory: memory}))(t)
		for range 2 {
			if first := timeline(t, cfg, jobs, s)[3]; !strings.HasPrefix(first, want) {
				t.Errorf("%s begins with %q, want %q", name, first, want)
			}
		}
	}
	if string(memory.Save()) != before {
		t.Error("the memory has changed")
	}
}

// TestUsualRank checks that without by= the Gittins rank stands for the time left, and the mean where nothing can be stopped.
func TestUsualRank(t *testing.T) {
	for _, forbidden := range []bool{false, true} {
		tell := func(name string) string {
			cfg, jobs := known()
			cfg.Cluster.NoPreemption = forbidden
			s := must.Get(New(name))(t)
			return tells(t, cfg, jobs, s)
		}
		gittins, mean, usual := tell("sjf+know:by=gittins"), tell("sjf+know:by=mean"), tell("sjf+know")
		want := gittins
		if forbidden {
			want = mean
		}
		if gittins == mean || usual != want {
			t.Errorf("preemption forbidden %v: it decides\n%s\nthe Gittins rank\n%s\nthe mean\n%s", forbidden, usual, gittins, mean)
		}
	}
}

// TestNeedsAdd checks the union of needs, field by field.
func TestNeedsAdd(t *testing.T) {
	var all Needs
	for _, n := range []Needs{
		{Fitted: true}, {Learned: true}, {Speeds: true}, {Memory: true}, {Estimates: true}, {Objective: true}, {Truth: Truth{Times: true}}, {Truth: Truth{Speeds: true}}, {},
	} {
		alone := n
		if alone.Add(Needs{}); alone != n {
			t.Errorf("%+v and nothing are %+v", n, alone)
		}
		all.Add(n)
	}
	if want := (Needs{true, true, true, true, true, true, Truth{true, true}}); all != want {
		t.Errorf("needs %+v, want %+v", all, want)
	}
}
