package whatif_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// pastOf plays a window of 120 jobs on three servers with a baseline.
func pastOf(t *testing.T, name string) (*sim.Log, *policy.Policy) {
	t.Helper()
	p := &policy.Policy{Name: name, New: func() (cluster.Scheduler, error) { return baselines.New(name) }}
	return playedBy(t, p), p
}

// playedBy plays the same window with any policy.
func playedBy(t *testing.T, p *policy.Policy) *sim.Log {
	t.Helper()
	e := scenariotest.Episode(t, "embedded-small-v1", "window.arrivals=120", "cluster.servers=3")
	sched := must.Get(p.New())(t)
	return simtest.Play(t, &e.Episode, sched, 1)
}

// startOf returns when a job first starts.
func startOf(t *testing.T, log *sim.Log, job string) float64 {
	t.Helper()
	for i := range log.Records {
		if r := &log.Records[i]; r.Kind == sim.Start && log.Jobs[r.Job].Name == job {
			return r.At.Seconds()
		}
	}
	t.Fatalf("job %s never starts", job)
	return 0
}

// alter plays a log on from a decision.
func alter(t *testing.T, log *sim.Log, p *policy.Policy, decision int, c whatif.Change) (*whatif.Outcome, error) {
	t.Helper()
	return whatif.PlayLog(t.Context(), log, decision, *p, c, whatif.Options{Seed: 1})
}

// checkFates checks what an outcome says of each job, and the mean completion time, against the metrics of its log.
func checkFates(t *testing.T, o *whatif.Outcome) {
	t.Helper()
	rows, left, sum := eval.Rows(o.Log), map[string]bool{}, 0.0
	for i := range o.Jobs {
		j := &o.Jobs[i]
		left[j.Name] = true
		row := &rows[j.ID]
		if got := o.Now + j.Finish; j.Finished != row.Finished || (got-row.End).Abs() > time.Microsecond || j.Age != o.Now-row.Submit {
			t.Fatalf("job %s ends at %v, want %v; it is %v old", j.Name, got, row.End, j.Age)
		}
		if first := o.Now + j.Start; !j.Ran && row.Start >= o.Now && (first-row.Start).Abs() > time.Microsecond {
			t.Fatalf("job %s starts at %v, want %v", j.Name, first, row.Start)
		}
		sum += (row.End - row.Submit).Seconds()
	}
	for i := range rows {
		if rows[i].End > o.Now && !left[rows[i].Name] {
			t.Fatalf("job %s ends at %v and is left out", rows[i].Name, rows[i].End)
		}
	}
	r := whatif.Compare(o, nil)
	if mean := sum / float64(len(o.Jobs)); math.Abs(r.Base.MeanJCT-mean) > 1e-6*mean || r.Jobs != len(o.Jobs) {
		t.Fatalf("mean JCT %v of %d jobs, want %v of %d", r.Base.MeanJCT, r.Jobs, mean, len(o.Jobs))
	}
}

// TestPastWithoutAChange checks that the decision as it was, followed by the same policy, gives the same log, and that the altered
// log is the same before the decision and can be replayed. The job that is left starts later.
func TestPastWithoutAChange(t *testing.T) {
	for _, name := range []string{"fifo", "sjfskip", "srtf"} {
		log, p := pastOf(t, name)
		all, err := whatif.Decisions(log)
		if err != nil || len(all) < 40 {
			t.Fatalf("%s: %d decisions, error %v", name, len(all), err)
		}
		for _, k := range []int{0, len(all) / 3, len(all) - 1} {
			d := all[k]
			if len(d.Starts) == 0 {
				continue
			}
			job := d.Starts[0]
			same := must.Get(alter(t, log, p, d.Number, whatif.Change{}))(t)
			if i, differs := sim.FirstDifference(log, same.Log); differs {
				t.Errorf("%s, decision %d as it was: record %d differs", name, d.Number, i)
			}
			checkFates(t, same)
			past := must.Get(alter(t, log, p, d.Number, whatif.Change{Leave: job}))(t)
			i, differs := sim.FirstDifference(log, past.Log)
			if !differs || log.Records[i].At != past.Now || past.Now.Seconds() != d.At || same.First.Does != d.Does {
				t.Errorf("%s, decision %d at %v: the first other record is %+v", name, d.Number, past.Now, log.Records[i])
			}
			if is := startOf(t, past.Log, job); startOf(t, log, job) == d.At && is <= d.At {
				t.Errorf("%s: job %s starts at %v, want after %v", name, job, is, d.At)
			}
			if !past.Log.Outcome.Terminated {
				t.Errorf("%s: outcome %+v", name, past.Log.Outcome)
			}
			if _, err := sim.Replay(past.Log); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			checkFates(t, past)
		}
	}
}

// TestPastStartsAnotherJob checks that a waiting job can take the place of one that the log starts.
func TestPastStartsAnotherJob(t *testing.T) {
	log, p := pastOf(t, "sjfskip")
	all := must.Get(whatif.Decisions(log))(t)
	tried := 0
	for _, d := range all {
		for _, later := range all {
			if later.Number <= d.Number || len(later.Starts) == 0 || tried == 3 {
				continue
			}
			job := later.Starts[0]
			past, err := alter(t, log, p, d.Number, whatif.Change{Start: job})
			if err != nil {
				if !strings.Contains(err.Error(), "does not wait then") && !strings.Contains(err.Error(), "does not fit then") {
					t.Fatal(err)
				}
				continue
			}
			tried++
			if at := startOf(t, past.Log, job); at != d.At || !strings.HasPrefix(past.First.Does, "start "+job+":") {
				t.Errorf("job %s starts at %v, want %v: %s", job, at, d.At, past.First.Does)
			}
		}
	}
	if tried != 3 {
		t.Errorf("%d jobs could start earlier, want 3", tried)
	}
}

// TestPastTakesAnotherCandidate checks that the candidate of the given number is carried out.
func TestPastTakesAnotherCandidate(t *testing.T) {
	log, _ := pastOf(t, "sjfskip")
	team := must.Get(agents.NewPolicy("team", agents.DefaultSize(), 8, "sjfskip", rng.Stream(1, "past")))(t)
	p := &policy.Policy{Name: "team", Learned: team, New: func() (cluster.Scheduler, error) { return agents.NewTeam(team), nil }}
	all := must.Get(whatif.Decisions(log))(t)
	taken := 0
	for _, d := range all {
		choices := must.Get(whatif.Choices(log, *p, d.Number, 1))(t)
		if len(choices) == 0 || taken == 3 {
			continue
		}
		taken++
		most := len(choices[0].Candidates)
		past, err := alter(t, log, p, d.Number, whatif.Change{Candidate: most})
		must.Do(t, err)
		c := choices[0].Candidates[most-1]
		starts := strings.HasPrefix(c.Does, "start ") && !strings.HasPrefix(c.Does, "start nobody")
		if starts && !strings.Contains(past.First.Does, c.Does) || !starts && past.First.Does == d.Does {
			t.Errorf("decision %d: %q, want %q", d.Number, past.First.Does, c.Does)
		}
		_, err = alter(t, log, p, d.Number, whatif.Change{Candidate: most + 1})
		if err == nil || !strings.Contains(err.Error(), "cannot be taken") {
			t.Errorf("candidate %d of %d: error %v", most+1, most, err)
		}
	}
	if taken != 3 {
		t.Errorf("%d decisions with candidates, want 3", taken)
	}
}

// TestFirstDeparture checks that a team with random weights and without a margin departs somewhere in its own log, and that it
// departs nowhere if nothing can beat its margin.
func TestFirstDeparture(t *testing.T) {
	at := func(margin float64) *whatif.Departure {
		team := decidetest.Random(t, agents.Design{
			Name: "team", Window: 8, Prior: "sjfskip", Wide: agents.Wide{Items: 8}, Margin: margin, Size: agents.DefaultSize(),
		}, "departure")
		p := &policy.Policy{Name: "team", Learned: team, New: func() (cluster.Scheduler, error) { return agents.NewTeam(team), nil }}
		d := must.Get(whatif.FirstDeparture(playedBy(t, p), *p, 1))(t)
		return d
	}
	d := at(0)
	if d == nil {
		t.Fatal("the team departs nowhere")
	}
	for _, c := range d.Choice.Candidates {
		if c.Taken && c.Prior {
			t.Errorf("at %v it takes the prior's candidate %d", d.At, c.Number)
		}
	}
	if d := at(1e6); d != nil {
		t.Errorf("with a margin that nothing beats it departs at %v", d.At)
	}
}

// TestPastRefuses checks the errors about alterations that are not possible.
func TestPastRefuses(t *testing.T) {
	log, p := pastOf(t, "fifo")
	for _, c := range []struct {
		decision int
		change   whatif.Change
		want     string
	}{
		{1, whatif.Change{Leave: "x", Start: "y"}, "2 ways to decide otherwise (leaving x, starting y), want one"},
		{0, whatif.Change{Leave: "x"}, "decision 0, want 1 or more"},
		{1, whatif.Change{Remove: []string{"x"}}, "servers and quotas of a log stay as they are"},
		{1, whatif.Change{Leave: "x"}, "decision 1: nothing is done with job x, but this: start "},
		{1, whatif.Change{Start: "x"}, "decision 1: job x does not wait then"},
		{1, whatif.Change{Candidate: 1}, "decision 1: fifo chooses among no candidates"},
		{1 << 20, whatif.Change{Leave: "x"}, "branch log: decision 1048576, and it has "},
	} {
		_, err := alter(t, log, p, c.decision, c.change)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("decision %d, %+v: error %v, want %q", c.decision, c.change, err, c.want)
		}
	}
}
