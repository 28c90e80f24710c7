package runtimes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/train/ensemble"
)

func finish(t *testing.T, f *fit) {
	t.Helper()
	if err := f.run(t.Context(), ensemble.Options{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
}

// TestCensoredJobsCount checks that the fit finds the chance of 0.3 to end in each bin, although half of the jobs are watched
// for three bins only. Without the jobs that were not seen to end the chance would look like 0.4 in the first bins.
func TestCensoredJobsCount(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var all []Example
	for i := range 4000 {
		most := []int{3, 12}[i%2]
		e := Example{}
		for !e.Ended && len(e.Base) < most {
			e.Base = append(e.Base, 0)
			e.Ended = r.Float64() < 0.3
		}
		e.X = make([]float32, len(e.Base)*belief.Inputs)
		all = append(all, e)
	}
	cfg := DefaultConfig()
	cfg.Members, cfg.Epochs, cfg.Rate, cfg.Decay, cfg.Hidden = 1, 40, 0.01, 0, 2
	f, err := newFit(&cfg, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.machine.close()
	finish(t, f)
	var s belief.Scratch
	z := make([]float32, 1)
	f.net.Members[0].Forward(&s, z, make([]float32, belief.Inputs))
	if chance := 1 / (1 + math.Exp(-float64(z[0]))); math.Abs(chance-0.3) > 0.02 {
		t.Errorf("chance %v, want 0.3", chance)
	}
}

// TestTwoUsers fits the jobs of two users that always run for a minute and for an hour. The best prediction is certain: its loss
// is 0. A history always allows for other run times.
func TestTwoUsers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	jobs := make([]trace.Job, 800)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Submit, j.Workers = fmt.Sprint(i), time.Duration(i)*5*time.Minute, 1
		j.User, j.Work = "ann", time.Minute
		if r.IntN(2) == 0 {
			j.User, j.Work = "bob", time.Hour
		}
	}
	past, later := jobs[:600], jobs[600:]
	cfg := DefaultConfig()
	cfg.Members, cfg.Epochs, cfg.Decay = 1, 15, 0
	f, err := newFit(&cfg, training(past, r), validation(past, later, r))
	if err != nil {
		t.Fatal(err)
	}
	defer f.machine.close()
	finish(t, f)
	s := Judge(&f.net, past, later)
	if s.History.Jobs != 200 || s.Learned.Jobs != 200 || s.Learned.Likelihood < -0.1 || s.History.Likelihood > -0.5 {
		t.Errorf("likelihoods of %+v, want about 0 for the network and less than -0.5 for the history", s)
	}
}
