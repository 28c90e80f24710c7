package speeds

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/rng"
)

// Example is what was known of a job, and how fast the job was in one of two configurations compared with the other.
type Example struct {
	Context, Points []float32 // inputs of the network: [belief.SpeedContext] and [points,belief.SpeedPoint]
	// Shift and Share say what an answer means for this difference: see belief.SpeedInputs.
	Shift [belief.SpeedShifts]float32
	Share [belief.SpeedEffects]float32
	// Miss is by how much the logarithm was more than its mean by the regression, in standard deviations SD.
	Miss, SD float64
	Reading  bool // a reading, with its noise, and not a true speed
}

// player is the policy that plays: it decides by what the regression believes of speeds.
const player = "srsf+menu+move+know"

// drawn returns a scenario on another cluster: one whose models run at other speeds than those of the catalogue.
func drawn(s *scenario.Scenario, cfg *Config, number int) *scenario.Scenario {
	v := *s
	v.Workload.Vary = scenario.Vary{Within: cfg.Within, Seed: rng.Derive(cfg.Seed, "speeds", "cluster", strconv.Itoa(number))}
	return &v
}

// play returns examples of windows of a split on one cluster. Each window is played with beliefs that begin without a reading
// and with beliefs that have seen the readings of the windows before; they decide in turn.
func play(ctx context.Context, s *scenario.Scenario, split scenario.Split, cfg *Config, number int) ([]Example, error) {
	src, err := drawn(s, cfg, number).Open()
	if err != nil {
		return nil, err
	}
	count := src.Count(split)
	if count == 0 {
		return nil, fmt.Errorf("scenario %s has no %s windows", s.Name, split)
	}
	draw := rng.Stream(cfg.Seed, "speeds", "examples", s.Name, strconv.Itoa(number))
	carried := belief.NewLearnedSpeeds(new(belief.SpeedNetwork))
	var all []Example
	windows := min(cfg.Windows, count)
	for i := range windows {
		e, err := src.Episode(split, draw.IntN(count), cfg.Seed)
		if err != nil {
			return nil, err
		}
		inner, err := baselines.New(player)
		if err != nil {
			return nil, err
		}
		sim, err := e.New()
		if err != nil {
			return nil, err
		}
		w := &watcher{
			Scheduler: inner, Speeds: belief.NewLearnedSpeeds(new(belief.SpeedNetwork)), other: carried, truth: e.Config.Physics,
			draw: draw, last: map[cluster.JobID]time.Duration{},
		}
		for _, r := range []*sample{&w.asked, &w.also, &w.read} {
			r.most = max(cfg.Examples/windows/3, 1)
		}
		if i%2 == 1 {
			w.Speeds, w.other = carried, w.Speeds
		}
		if err := sim.Run(ctx, w, cfg.Seed); err != nil {
			return nil, fmt.Errorf("play %s of %s: %w", e.Name, s.Name, err)
		}
		carried.Forget()
		all = slices.Concat(all, w.asked.all, w.also.all, w.read.all)
	}
	return all, nil
}

// sample is a uniform sample of a stream (Vitter, Random sampling with a reservoir, 1985).
type sample struct {
	most, seen int
	all        []Example
}

// at returns where the next example goes; -1 for nowhere.
func (s *sample) at(draw *rand.Rand) int {
	if s.seen++; s.seen <= s.most {
		s.all = append(s.all, Example{})
		return s.seen - 1
	}
	if k := draw.IntN(s.seen); k < s.most {
		return k
	}
	return -1
}

// watcher is a scheduler that decides by what is believed of speeds. Whenever it asks for a speed, and before it learns from a
// reading, an example may be taken.
type watcher struct {
	cluster.Scheduler
	*belief.Speeds                // decide
	other          *belief.Speeds // learn, too
	truth          cluster.Profile
	draw           *rand.Rand
	last           map[cluster.JobID]time.Duration // of the last reading that was seen
	asked          sample                          // what the deciding beliefs were asked
	also           sample                          // the same by the others
	read           sample
	in             belief.SpeedInputs
}

func (w *watcher) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	for _, id := range s.Running() {
		w.readings(s, id)
	}
	for _, e := range tx.Events() {
		if e.Kind == cluster.Finished || e.Kind == cluster.Interrupted {
			w.readings(s, e.Job)
		}
	}
	w.Observe(tx)
	w.other.Observe(tx)
	tx.Expect(w)
	tx.SetRates()
	defer tx.Expect(nil)
	return w.Scheduler.Schedule(tx)
}

// Speed implements cluster.Profile.
func (w *watcher) Speed(s *cluster.View, id cluster.JobID) float64 {
	spec, c := s.Spec(id), s.Configuration(id)
	for i, l := range [...]*belief.Speeds{w.Speeds, w.other} {
		r := [...]*sample{&w.asked, &w.also}[i]
		if w.draw.IntN(16) != 0 || !l.Inputs(s, spec, &c, &w.in) {
			continue
		}
		if k := r.at(w.draw); k >= 0 {
			r.all[k] = w.example(math.Log(w.truth.Speed(s, id)), false)
		}
	}
	return w.Speeds.Speed(s, id)
}

// readings takes examples of the new readings of a job.
func (w *watcher) readings(s *cluster.View, id cluster.JobID) {
	spec := s.Spec(id)
	for _, r := range s.Readings(id) {
		if at, seen := w.last[id]; seen && r.At <= at || r.MemMiB < spec.Request.MemMiB {
			continue
		}
		w.last[id] = r.At
		for _, l := range [...]*belief.Speeds{w.Speeds, w.other} {
			if base, ok := l.NextInputs(s, spec, &r.Configuration, &w.in); ok {
				if k := w.read.at(w.draw); k >= 0 {
					w.read.all[k] = w.example(math.Log(r.Speed)-base, true)
				}
			}
		}
	}
}

// example returns the example of the inputs and the logarithm of a speed.
func (w *watcher) example(y float64, reading bool) Example {
	in := &w.in
	return Example{
		Context: slices.Clone(in.Context[:]), Points: slices.Clone(in.Points[:in.Count*belief.SpeedPoint]),
		Shift: in.Shift, Share: in.Share, Miss: (y - in.Mean) / in.SD, SD: in.SD, Reading: reading,
	}
}
