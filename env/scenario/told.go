package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
)

// Estimated reports whether schedulers are told estimates of how long jobs run.
func (s *Scenario) Estimated() bool { return s.Estimates.Kind != trace.None && s.Estimates.Kind != "" }

// Told is what schedulers are told besides run times, for which Scenario.Estimates stands. The zero value tells everything: full
// information.
type Told struct {
	Speeds Telling `yaml:"speeds,omitempty"` // Truth or Nothing; see sim.Hidden
	Models Telling `yaml:"models,omitempty"` // Truth, Domain or Nothing; see sim.Naming
	Groups Telling `yaml:"groups,omitempty"` // Truth, FromTrace or Nothing
}

// Telling is how much schedulers are told of something.
type Telling string

// The values of Telling.
const (
	Truth     Telling = "" // written as "truth", too
	Domain    Telling = "domain"
	FromTrace Telling = "trace" // the groups that the trace has, but not those that the mix makes up
	Nothing   Telling = "nothing"
)

// settle replaces "truth" by Truth, so that scenarios that tell the same have the same digest.
func (t *Told) settle() {
	for _, v := range []*Telling{&t.Speeds, &t.Models, &t.Groups} {
		if *v == "truth" {
			*v = Truth
		}
	}
}

func (t *Told) validate(p *problems) {
	for _, k := range []struct {
		key   string
		value Telling
		also  []Telling
	}{
		{"speeds", t.Speeds, nil}, {"models", t.Models, []Telling{Domain}}, {"groups", t.Groups, []Telling{FromTrace}},
	} {
		ok := append([]Telling{Truth, Nothing}, k.also...)
		names := []string{"truth", "nothing"}
		for _, a := range k.also {
			names = append(names, string(a))
		}
		p.want(slices.Contains(ok, k.value), "told.%s %q, want one of %s", k.key, k.value, strings.Join(names, ", "))
	}
	p.want(t.Models == Truth || t.Speeds != Truth,
		"told.models %q with true told.speeds, want both or only the speeds hidden", t.Models)
}

// What schedulers are told is set in this file alone: of each trace by tellGroups, of the workload by tellProfiled, of all
// episodes by hidden, and of one window by tellTimes and tellSpeeds.

// tellGroups removes the groups of which schedulers are not told. The simulation does not depend on them.
func (t *Told) tellGroups(jobs []trace.Job) {
	for i := range jobs {
		if j := &jobs[i]; t.Groups == Nothing || t.Groups == FromTrace && j.Dealt {
			j.Group, j.Dealt = "", false
		}
	}
}

// tellProfiled sets Profiled estimates, which need the whole workload.
func (s *Scenario) tellProfiled(jobs []trace.Job) error {
	if s.Estimates.Kind != trace.Profiled {
		return nil
	}
	return s.Estimates.Apply(jobs, nil)
}

// hidden returns what the simulator does not tell schedulers.
func (t *Told) hidden() sim.Hidden {
	return sim.Hidden{Speeds: t.Speeds == Nothing, Models: map[Telling]sim.Naming{Domain: sim.Domain, Nothing: sim.NoName}[t.Models]}
}

// tellTimes sets the estimates of jobs, except for those of tellProfiled. Noisy ones are drawn from a stream named after the part
// and the window.
func (s *Scenario) tellTimes(jobs []trace.Job, seed uint64, part, window string) error {
	if s.Estimates.Kind == trace.Profiled {
		return nil
	}
	if err := s.Estimates.Apply(jobs, rng.Stream(seed, "scenario", part, window)); err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return nil
}

// tellSpeeds sets how wrong the speeds are that schedulers are told, and what is measured of the true ones.
func (s *Scenario) tellSpeeds(c *sim.Config, seed uint64, window string) {
	if s.ProfileError > 0 {
		c.Misprofile = physics.Misprofile{Within: s.ProfileError, Seed: rng.Derive(seed, "scenario", "profiles", window)}
	}
	c.Readings = s.Readings.seeded(rng.Derive(seed, "scenario", "readings", window))
}

// DescribeTold returns lines that say what schedulers are told.
func (s *Scenario) DescribeTold() []string {
	if s.Told == (Told{}) && s.ProfileError == 0 && s.Estimates.Kind == trace.Oracle {
		return []string{"everything (full information): true run times, true speeds, models and groups"}
	}
	say := func(t Telling, truth string) string {
		switch t {
		case Truth:
			return truth
		case Domain:
			return "what they are for"
		case FromTrace:
			return "those of the trace"
		}
		return "nothing"
	}
	speeds := "true speeds"
	if s.ProfileError > 0 {
		speeds = fmt.Sprintf("wrong by a factor of up to %g", 1+s.ProfileError)
	}
	lines := []string{
		"run times: estimates of kind " + string(s.Estimates.Kind), "speeds: " + say(s.Told.Speeds, speeds),
		"models: " + say(s.Told.Models, "their names"), "groups: " + say(s.Told.Groups, "all"),
	}
	if r := s.Readings; r.Interval > 0 {
		lines = append(lines, fmt.Sprintf("measured throughput, after %v at the same speed, with noise %g", r.Interval, noise))
	}
	return lines
}

// untold is the end of the names of built-in scenarios that tell schedulers nothing, and nothingTold are their settings: those of
// the scenario without this end, whose throughputs are measured as a cluster's would be.
const untold = "-untold-v1"

var nothingTold = []string{
	"estimates.kind=none", "told.speeds=nothing", "told.models=nothing", "told.groups=trace",
	"readings.interval=5m",
}

// tellNothing returns the name of the built-in scenario from which the given one differs in that its schedulers are told nothing
// of run times, speeds and models, and which has no name of its own in Names and Families. ok is false if it is none of these.
func tellNothing(name string) (base string, ok bool) {
	base, ok = strings.CutSuffix(name, untold)
	return base + "-v1", ok
}
