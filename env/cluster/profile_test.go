package cluster

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// rates is a profile that gives each job a rate.
type rates []float64

func (r rates) Speed(_ *View, id JobID) float64 { return r[id] }

func (rates) Coupled(_ *View, _ Placement, dst []JobID) []JobID { return dst }

// TestExpectedRatesAddUp checks that progress under hidden speeds is the sum, over the times between calls of Expect, of the time
// and the rate that was expected, and that restart pauses count for nothing.
func TestExpectedRatesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := NewState(Uniform(1, 2), 2)
		if err != nil {
			t.Fatal(err)
		}
		for id := range JobID(2) {
			s.Submit(id, &JobSpec{Name: "a", Workers: 1, Request: Amount{GPUMilli: WholeGPU}})
		}
		told := rapid.IntRange(0, 3).Draw(t, "told") == 0
		if told {
			s.SetProfile(rates{5, 5})
		}
		tx := s.Begin(nil)
		for id := range JobID(2) {
			if err := tx.Place(id, Placement{{Workers: 1, Amount: Amount{GPUMilli: WholeGPU}}}); err != nil {
				t.Fatal(err)
			}
		}
		tx.End()
		pause := time.Duration(rapid.IntRange(0, 50).Draw(t, "pause"))
		s.SetProgress(0, 7, pause, 1)
		s.SetProgress(1, 7, pause, 1)
		want, rate := 7.0, 1.0
		for range rapid.IntRange(1, 8).Draw(t, "decisions") {
			before := s.Now()
			s.Advance(before + time.Duration(rapid.IntRange(0, 60).Draw(t, "passes")))
			want += rate * float64(max(s.Now()-max(before, pause), 0))
			tx := s.Begin(nil)
			p := rates{float64(rapid.IntRange(1, 9).Draw(t, "expected")), 1}
			tx.Expect(p)
			if !tx.View().Believes() || !SameProfile(tx.View().Profile(), p) {
				t.Fatal("the expected profile does not count")
			}
			tx.Expect(nil)
			tx.End()
			if !told {
				rate = p[0]
			}
			if s.Believes() || (s.Profile() != nil) != told {
				t.Fatalf("profile %v after the decision", s.Profile())
			}
			if got := s.Progress(0); got != time.Duration(want) || s.PlannedRate(0) != rate {
				t.Fatalf("at %v progress %d at rate %v, want %v at %v", s.Now(), got, s.PlannedRate(0), want, rate)
			}
		}
	})
}

// opinions is a Believed profile that calls each job by a prefix and its name.
type opinions struct {
	rates
	prefix string
}

func (o *opinions) Kind(spec *JobSpec) string { return o.prefix + spec.Name }

func (*opinions) Version(*JobSpec) int { return 1 }

// TestSpeedKind checks that kinds are those of the profile in use: after each call of Expect, in copies, after a job was revised,
// and where the driver's own profile changes.
func TestSpeedKind(t *testing.T) {
	s, err := NewState(Uniform(1, 2), 2)
	if err != nil {
		t.Fatal(err)
	}
	var twin State
	for id, name := range []string{"a", "b"} {
		s.Submit(JobID(id), &JobSpec{Name: name, Model: "m", Workers: 1, Request: wholeGPU})
	}
	check := func(when string, v *View, want ...string) {
		t.Helper()
		for id, kind := range want {
			for range 2 {
				if got := v.SpeedKind(JobID(id)); got != kind {
					t.Errorf("%s: job %d is %q, want %q", when, id, got, kind)
				}
			}
		}
	}
	check("without a profile", &s.View, "m", "m")
	p, q := &opinions{prefix: "p "}, &opinions{prefix: "q "}
	tx := s.Begin(nil)
	tx.Expect(p)
	check("expected", &s.View, "p a", "p b")
	s.CopyTo(&twin)
	check("copied", &twin.View, "p a", "p b")
	twin.Revise(1, &JobSpec{Name: "c", Workers: 1, Request: wholeGPU})
	check("copied and revised", &twin.View, "p a", "p c")
	twin.Txn().Expect(q)
	check("another one in the copy", &twin.View, "q a", "q c")
	check("as before", &s.View, "p a", "p b")
	for range 4 {
		check("still the other in the copy", &twin.View, "q a", "q c")
		tx.Expect(p)
		check("expected again", &s.View, "p a", "p b")
	}
	s.CopyTo(&twin)
	check("copied again", &twin.View, "p a", "p b")
	p.prefix = "r "
	tx.Expect(p)
	check("changed", &s.View, "r a", "r b")
	tx.Expect(nil)
	tx.End()
	check("no longer expected", &s.View, "m", "m")
	s.SetProfile(p)
	check("told", &s.View, "r a", "r b")
	p.prefix = ""
	check("told otherwise", &s.View, "a", "b")
}
