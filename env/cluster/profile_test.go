package cluster

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
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
		s := must.Get(NewState(Uniform(1, 2), 2))(t)
		for id := range JobID(2) {
			s.Submit(id, &JobSpec{Name: "a", Workers: 1, Request: Amount{GPUMilli: WholeGPU}})
		}
		told := rapid.IntRange(0, 3).Draw(t, "told") == 0
		if told {
			s.SetProfile(rates{5, 5})
		}
		tx := s.Begin(nil)
		for id := range JobID(2) {
			must.Do(t, tx.Place(id, Placement{{Workers: 1, Amount: Amount{GPUMilli: WholeGPU}}}))
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
			believing := tx.As(Beliefs{Speeds: p})
			if !believing.View().Believes() || !SameProfile(believing.View().Profile(), p) {
				t.Fatal("the expected profile does not count")
			}
			believing.SetRates()
			tx.SetRates() // has no effect without a profile of the scheduler
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
