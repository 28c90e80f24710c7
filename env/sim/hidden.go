package sim

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/trace"
)

// Hidden is what the simulator knows and does not tell schedulers. The zero value hides nothing. Run times are not part of it:
// what schedulers are told of them are the estimates of the jobs.
type Hidden struct {
	// Speeds hides how fast jobs run: the state has no profile, jobs seem to run at rate 1, and their progress is the time for which
	// they have run. A job that loses work loses the same fraction of that time. No event tells that a job's speed has changed.
	// Readings still tell throughputs.
	Speeds bool `log:"speeds,need"`
	// Models selects what schedulers know of the models that jobs train. Names are hidden only if speeds are: jobs of which
	// schedulers know the same must have the same profile.
	Models Naming `log:"models,need,naming"`
}

// Naming is how much schedulers know of a model.
type Naming string

// The values of Naming.
const (
	// FullName is the name of the model. If speeds are hidden, it is another name in its place, the same for the same model: by its
	// own name schedulers could look up in env/physics/profile how fast the simulator lets it run.
	FullName Naming = ""
	Domain   Naming = "domain"  // what the model is for, such as "vision"; "" for a model that env/physics/profile does not know
	NoName   Naming = "nothing" // none
)

// validate returns an error if the values are not those documented.
func (h *Hidden) validate() error {
	if !slices.Contains([]Naming{FullName, Domain, NoName}, h.Models) {
		return fmt.Errorf("hidden: models %q, want %q, %q or nothing", h.Models, Domain, NoName)
	}
	if h.Models != FullName && !h.Speeds {
		return fmt.Errorf("hidden: models %q but not speeds, want both or names alone", h.Models)
	}
	return nil
}

// Hide removes what is hidden from the specification of a job. The simulator does this for the jobs of an episode; a caller does
// it for jobs from which a scheduler learns before one.
func (h *Hidden) Hide(spec *cluster.JobSpec) {
	model := spec.Trains()
	switch {
	case h.Models == NoName || model == "":
		model = ""
	case h.Models == Domain:
		if f := profile.Lookup(model); f != nil {
			model = f.Domain()
		} else {
			model = ""
		}
	case h.Speeds:
		model = pseudonym(model)
	}
	spec.Disguise(model)
}

// pseudonym returns another name for a model.
func pseudonym(model string) string {
	h := fnv.New32a()
	h.Write([]byte(strings.ToLower(model)))
	return fmt.Sprintf("model-%08x", h.Sum32())
}

// hide returns the specifications that schedulers see, nil if they are those of the jobs themselves.
func (h *Hidden) hide(jobs []trace.Job) []cluster.JobSpec {
	if *h == (Hidden{}) {
		return nil
	}
	specs := make([]cluster.JobSpec, len(jobs))
	for i := range jobs {
		specs[i] = jobs[i].JobSpec
		h.Hide(&specs[i])
	}
	return specs
}

// course is how a job truly runs: the work done at the time since, which may be in the future, and its rate from then on. For a
// job that waits, since is cluster.Never.
type course struct {
	done, since time.Duration
	rate        float64
}

// Progress returns the work that a job has truly done so far.
func (s *Sim) Progress(id cluster.JobID) time.Duration {
	if s.courses == nil {
		return s.state.Progress(id)
	}
	c, now := &s.courses[id], s.state.Now()
	if now <= c.since {
		return c.done
	}
	return min(c.done+cluster.Scale(now-c.since, c.rate), s.work(id))
}

// since returns the time from which a running job works at its present true rate, which may be in the future.
func (s *Sim) since(id cluster.JobID) time.Duration {
	if s.courses == nil {
		return s.state.Since(id)
	}
	return s.courses[id].since
}

// rate returns a running job's true rate when it is not in a restart pause.
func (s *Sim) rate(id cluster.JobID) float64 {
	if s.courses == nil {
		return s.state.PlannedRate(id)
	}
	return s.courses[id].rate
}

// set sets how a job runs that has just been placed.
func (s *Sim) set(id cluster.JobID, done, from time.Duration, rate float64) {
	if s.courses == nil {
		s.state.SetProgress(id, done, from, rate)
		return
	}
	s.state.SetProgress(id, s.state.Progress(id), from, 1)
	s.courses[id] = course{done, from, rate}
}

// respeeded sets the rate of a running job that keeps its placement, and reports whether schedulers notice.
func (s *Sim) respeeded(id cluster.JobID, rate float64) bool {
	done, from := s.Progress(id), max(s.state.Since(id), s.state.Now())
	s.queue(id, done, from, rate)
	if s.courses != nil {
		s.courses[id] = course{done, from, rate}
		return false
	}
	s.state.SetProgress(id, done, from, rate)
	return true
}
