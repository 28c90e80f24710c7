package cluster

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestOutlived checks what is left of a job at several ages: after it has outlived its estimate, after it has lost work, and if
// it had run before the episode.
func TestOutlived(t *testing.T) {
	for _, c := range []struct {
		name                                 string
		estimate, ran, done, lost            time.Duration
		wantAge, wantLeft, wantFinish, attns time.Duration
	}{
		{"new", 60, 0, 0, 0, 0, 60, 160, 0},
		{"young", 60, 0, 20, 0, 20, 40, 140, 0},
		{"at its estimate", 60, 0, 60, 0, 60, 0, 100, 0},
		{"beyond it", 60, 0, 61, 0, 61, 59, 159, 0},
		{"far beyond it", 60, 0, 250, 0, 250, 230, 330, 0},
		{"lost what it had done in time", 60, 0, 50, 50, 50, 60, 160, 0},
		{"lost what it had done beyond it", 60, 0, 61, 41, 61, 100, 200, 0},
		{"ran before", 40, 20, 10, 0, 30, 30, 130, 40},
		{"outlived it before", 1, 60, 20, 0, 80, 42, 142, 120},
		{"not known", 0, 20, 10, 0, 30, 0, 90, 40},
	} {
		s := must.Get(NewState(Uniform(1, 2), 1))(t)
		s.Submit(0, &JobSpec{Name: "j", Workers: 2, Request: wholeGPU, Estimate: c.estimate * time.Second, Ran: c.ran * time.Second})
		if got := s.Attained(0); got != c.attns*time.Second {
			t.Errorf("%s: attained %v, want %v s", c.name, got, c.attns)
		}
		s.Advance(100 * time.Second)
		tx := s.Begin(nil)
		must.Do(t, tx.Place(0, Placement{{0, 2, wholeGPU}}))
		tx.End()
		s.SetProgress(0, c.done*time.Second, s.Now(), 1)
		s.SetProgress(0, (c.done-c.lost)*time.Second, s.Now(), 1)
		left, ok := s.Remaining(0)
		if ok != (c.estimate > 0) || ok && left != c.wantLeft*time.Second {
			t.Errorf("%s: %v left, known %v, want %v s", c.name, left, ok, c.wantLeft)
		}
		if got := s.Age(0); got != c.wantAge*time.Second {
			t.Errorf("%s: age %v, want %v s", c.name, got, c.wantAge)
		}
		if got := s.ExpectedFinish(0); got != c.wantFinish*time.Second {
			t.Errorf("%s: finish at %v, want %v s", c.name, got, c.wantFinish)
		}
		if at := s.AsksAgain(0); at != Never {
			t.Errorf("%s: estimates change at %v, want never", c.name, at)
		}
	}
}

// steps predicts that a job ends at the next multiple of its size, and changes its mind when the job does not.
type steps time.Duration

func (n steps) Left(_ *JobSpec, age time.Duration) (left, again time.Duration) {
	end := (age/time.Duration(n) + 1) * time.Duration(n)
	return end - age, end
}

// TestAs checks that predictions replace estimates in one view of the transaction and not in another, that copies use them, too, and
// that operations are those of both.
func TestAs(t *testing.T) {
	s := must.Get(NewState(Uniform(1, 1), 1))(t)
	s.Submit(0, &JobSpec{Name: "j", Workers: 1, Request: wholeGPU, Ran: 10 * time.Second})
	tx := s.Begin(nil)
	must.Do(t, tx.Place(0, Placement{{0, 1, wholeGPU}}))
	s.SetProgress(0, 0, 0, 0.5)
	s.Advance(20 * time.Second)
	if _, ok := s.Remaining(0); ok || s.Knows(0) || s.Believes() {
		t.Error("something is known of a job without an estimate")
	}
	var twin State
	for i := range 2 {
		believing := tx.As(Beliefs{Times: steps(15 * time.Second)})
		v := believing.View()
		if i == 1 {
			v.CopyTo(&twin)
			v = &twin.View
		}
		left, ok := v.Remaining(0) // it has done 10 s before and 10 s here, and ends at 30 s
		if !ok || !v.Knows(0) || !v.Believes() || left != 10*time.Second {
			t.Errorf("copy %d: %v left, known %v; want 10s", i, left, ok)
		}
		if at, again := v.ExpectedFinish(0), v.AsksAgain(0); at != 40*time.Second || again != at {
			t.Errorf("copy %d: finish at %v, changes at %v; want 40s", i, at, again)
		}
		mark := believing.Mark()
		if err := believing.Preempt(0); err != nil || tx.View().Phase(0) != Pending || len(tx.Ops()) != mark+1 {
			t.Errorf("%v: the job is %v after %d operations", err, tx.View().Phase(0), len(tx.Ops()))
		}
		tx.Rollback(mark)
	}
	if s.Knows(0) || tx.View().Knows(0) || !twin.Knows(0) || !twin.Txn().View().Knows(0) {
		t.Error("a belief shows in the state, or not in the copy")
	}
}

// TestWorkLeftGrows checks that the work left of a job that goes on and on never falls below 0, and that all its work together only
// ever grows, to at most twice its age.
func TestWorkLeftGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := must.Get(NewState(Uniform(1, 1), 1))(t)
		spec := &JobSpec{Workers: 1, Request: wholeGPU, Estimate: time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "estimate")),
			Ran: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "ran"))}
		s.Submit(0, spec)
		tx := s.Begin(nil)
		must.Do(t, tx.Place(0, Placement{{0, 1, wholeGPU}}))
		total := spec.Estimate
		for range 30 {
			done := s.Progress(0)
			if rapid.Bool().Draw(t, "lose") {
				done /= 2
			}
			s.SetProgress(0, done, s.Now(), rapid.Float64Range(0.1, 4).Draw(t, "rate"))
			s.Advance(s.Now() + time.Duration(rapid.Int64Range(0, 1e13).Draw(t, "step")))
			left, ok := s.Remaining(0)
			now := left + s.Progress(0)
			if !ok || left < 0 || now < total {
				t.Fatalf("%v left, known %v, %v in all after %v", left, ok, now, total)
			}
			total = now
		}
		if all := spec.Ran + total; all > spec.Ran+spec.Estimate && all > 2*s.Age(0) {
			t.Fatalf("%v in all at an age of %v, want at most twice the age", all, s.Age(0))
		}
	})
}
