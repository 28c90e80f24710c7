package sim_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestHiddenTruthDoesNotShow checks that a scheduler that is told nothing cannot see how fast jobs run or which models they train.
// Two episodes that differ in the physics, in the models and in the work of all jobs look the same to it, byte for byte, until the
// first job ends in one of them.
func TestHiddenTruthDoesNotShow(t *testing.T) {
	compared, moved := 0, 0
	many(t, 100, func(t *rapid.T) {
		e, scheduler, seed := drawEpisode(t), drawScheduler(t), rapid.Uint64().Draw(t, "seed")
		e.Config.Hidden, e.Config.Readings = sim.Hidden{Speeds: true, Models: sim.NoName}, sim.Readings{}
		e.Config.Restart.Interval, e.Config.Restart.Save = 0, 0 // which work a failure costs depends on the work done
		e.Jobs = slices.Clone(e.Jobs)
		for i := range e.Jobs { // no job may end at 0, before the scheduler is asked
			e.Jobs[i].Work++
		}
		other := e
		other.Config.Physics = drawPhysics(t)
		other.Jobs = slices.Clone(e.Jobs)
		for i := range other.Jobs {
			other.Jobs[i].Work += drawTime(t, "longer by", 4000)
			other.Jobs[i].Model = rapid.SampledFrom([]string{"", "resnet50-64", "lm-20", "a3c", "unknown"}).Draw(t, "other model")
		}
		until := cluster.Never
		for _, one := range []sim.Episode{e, other} {
			until = min(until, firstEnd(t, one, scheduler(), seed))
		}
		one, _ := watch(t, e, scheduler(), seed, len(e.Jobs), until-1)
		two, _ := watch(t, other, scheduler(), seed, len(e.Jobs), until-1)
		if len(one) != len(two) {
			t.Fatalf("%d decisions until %v, with another truth %d", len(one), until, len(two))
		}
		for i := range one {
			if compared++; one[i] != two[i] {
				t.Fatalf("decision %d at %v, with another truth:\n%s", i, time.Duration(one[i].now), differ(one[i].text, two[i].text))
			}
			if i > 0 && strings.Contains(one[i].text, "Rate 0 =  1") {
				moved++
			}
		}
	})
	leastCompared, leastMoved := 150, 20
	if testing.Short() { // many draws a quarter of the episodes then
		leastCompared, leastMoved = leastCompared/4, leastMoved/4
	}
	if compared < leastCompared || moved < leastMoved {
		t.Errorf("compared %d views, %d of them with a running job, want more", compared, moved)
	}
}

// firstEnd returns the instant at which the first job ends, or the end of the episode.
func firstEnd(t *rapid.T, e sim.Episode, sched cluster.Scheduler, seed uint64) time.Duration {
	s := must.Get(e.New())(t)
	must.Do(t, sched.Reset(seed))
	for {
		tx, ok := s.Next()
		if !ok || slices.ContainsFunc(tx.Events(), func(v cluster.Event) bool { return v.Kind == cluster.Finished }) {
			return s.State().Now()
		}
		if s.State().Profile() != nil {
			t.Fatal("a profile of hidden speeds")
		}
		must.Do(t, sched.Schedule(tx))
		s.Commit()
	}
}

// TestHidingChangesNoTruth checks that jobs run as fast and end at the same instants whether schedulers know of it or not.
func TestHidingChangesNoTruth(t *testing.T) {
	many(t, 2000, func(t *rapid.T) {
		e, seed := drawEpisode(t), rapid.Uint64().Draw(t, "seed")
		told := begin(t, e)
		e.Config.Hidden = sim.Hidden{
			Speeds: true, Models: rapid.SampledFrom([]sim.Naming{sim.FullName, sim.Domain, sim.NoName}).Draw(t, "models"),
		}
		hidden := begin(t, e)
		var logs [2]string
		for i, s := range []*sim.Sim{told, hidden} {
			var c simtest.Chaos // draws its operations and reads neither progress nor speeds
			must.Do(t, c.Reset(seed))
			for tx, ok := s.Next(); ok; tx, ok = s.Next() {
				must.Do(t, c.Schedule(tx))
				s.Commit()
				for _, id := range s.State().Running() {
					if known := s.State().Progress(id); i == 1 && known < 0 {
						t.Fatalf("job %d has seemingly done %v", id, known)
					}
				}
			}
			_, logs[i], _ = strings.Cut(written(t, s.Log()), "\n")
		}
		if logs[0] != logs[1] {
			t.Fatalf("the schedule changed:\n%s", differ(logs[0], logs[1]))
		}
	})
}

// TestKnownProgressIsRunningTime checks what schedulers see of a job of hidden speed: the time for which it has run, of which it
// loses the same fraction as of its work.
func TestKnownProgressIsRunningTime(t *testing.T) {
	model := must.Get(physics.Parse("gpu-type"))(t)
	spec := cluster.Uniform(1, 1)
	spec.Servers[0].GPUType = "T4" // slow
	job := trace.Job{Work: time.Hour, JobSpec: cluster.JobSpec{
		Name: "a", Model: "resnet50-64", Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}}
	e := sim.Episode{
		Config: sim.Config{
			Cluster: spec, Physics: model, Hidden: sim.Hidden{Speeds: true},
			Restart: sim.Restart{Interval: 10 * time.Minute}, Outages: []sim.Outage{{From: 65 * time.Minute, To: 70 * time.Minute, GPU: -1}},
		},
		Jobs: []trace.Job{job},
	}
	s := must.Get(e.New())(t)
	tx, _ := s.Next()
	if got := tx.View().Spec(0).Model; got == job.Model || profile.Lookup(got) != nil || !strings.HasPrefix(got, "model-") {
		t.Errorf("the model is called %q, want another name", got)
	}
	must.Do(t, tx.Place(0, cluster.Placement{{Workers: 1, Amount: job.Request}}))
	s.Commit()
	s.Next() // the failure
	rate := 1.0 / 3
	if f := profile.Lookup("resnet50-64"); f != nil {
		rate, _ = f.GPUSpeed("T4")
	}
	done := time.Duration(65 * float64(time.Minute) * rate)
	kept := done / (10 * time.Minute) * (10 * time.Minute)
	want := time.Duration(65 * float64(time.Minute) * float64(kept) / float64(done))
	if got := s.State().Progress(0); got < want-time.Second || got > want+time.Second || kept == 0 {
		t.Errorf("progress %v, want %v of 65 min", got, want)
	}
	if got := s.Progress(0); got != kept {
		t.Errorf("true progress %v, want %v", got, kept)
	}
}

// TestJobsFromScratchHideTheirWork checks that a job that must start from scratch seems to have done nothing, however little it
// has truly done: after 1 ns the true work of a slow job is rounded to 0, and that of a fast one to 1 ns.
func TestJobsFromScratchHideTheirWork(t *testing.T) {
	for _, gpu := range []string{"T4", "V100"} {
		for _, ran := range []time.Duration{1, 2, time.Minute} {
			model := must.Get(physics.Parse("gpu-type"))(t)
			spec := cluster.Uniform(1, 1)
			spec.Servers[0].GPUType = gpu
			s := begin(t, sim.Episode{
				Config: sim.Config{
					Cluster: spec, Physics: model, Hidden: sim.Hidden{Speeds: true}, Restart: sim.Restart{FromScratch: true},
					Outages: []sim.Outage{{From: ran, To: ran + 1, GPU: -1}},
				},
				Jobs: []trace.Job{{Work: time.Hour, JobSpec: cluster.JobSpec{
					Name: "a", Model: "resnet50-64", Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
				}}},
			})
			must.Do(t, s.State().Txn().Place(0, cluster.Placement{{Workers: 1, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}))
			s.Commit()
			s.Next() // the failure
			if known, done := s.State().Progress(0), s.Progress(0); known != 0 || done != 0 {
				t.Errorf("a job that ran for %v on a %s: progress %v, true progress %v, want 0", ran, gpu, known, done)
			}
		}
	}
}

// TestOnlyPhysicsAsksForHiddenModels checks in the source that no package but the speed model, the simulator and what deals its
// episodes calls Trains.
func TestOnlyPhysicsAsksForHiddenModels(t *testing.T) {
	root := "../.."
	asks := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := parser.ParseFile(token.NewFileSet(), path, text, parser.PackageClauseOnly); err != nil {
			return nil // not part of the program
		}
		if strings.Contains(string(text), ".Trains()") {
			folder, err := filepath.Rel(root, filepath.Dir(path))
			asks[filepath.ToSlash(folder)] = true
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder := range asks {
		if !slices.Contains([]string{"env/cluster", "env/physics", "env/sim"}, folder) {
			t.Errorf("%s asks which model a job truly trains", folder)
		}
	}
	if !asks["env/physics"] {
		t.Error("the speed model does not ask which model a job trains")
	}
}
