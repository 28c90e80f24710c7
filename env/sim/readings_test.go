package sim_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestReadingsChangeNoSchedule checks that schedulers that ignore readings decide as without them, and at the same instants.
func TestReadingsChangeNoSchedule(t *testing.T) {
	many(t, 3000, func(t *rapid.T) {
		e, scheduler, seed := drawEpisode(t), drawScheduler(t), rapid.Uint64().Draw(t, "seed")
		var texts [2]string
		var at [2][]time.Duration
		for i := range texts {
			e.Config.Readings = []sim.Readings{{}, {Interval: 1 + drawTime(t, "interval", 300), Noise: 0.05}}[i]
			s, err := e.New()
			if err != nil {
				t.Fatal(err)
			}
			w := instants{Scheduler: scheduler()}
			err = s.Run(t.Context(), &w, seed) // a scheduler may fail on a drawn episode
			texts[i], at[i] = unmeasured(written(t, s.Log()))+fmt.Sprint(err), w.at
		}
		if texts[0] != texts[1] || !slices.Equal(at[0], at[1]) {
			t.Fatalf("at %v\n%s\nwith readings at %v\n%s", at[0], texts[0], at[1], texts[1])
		}
	})
}

// TestJobsFoundRunningHaveReadings checks that of the jobs that run from the beginning those have a reading at 0 which have run for
// long enough, that replays and written logs have it, and that a log without it, as older programs wrote it, keeps its meaning.
func TestJobsFoundRunningHaveReadings(t *testing.T) {
	measured := 0
	many(t, 3000, func(t *rapid.T) {
		e, sched := drawEpisode(t), drawScheduler(t)()
		e.Config.Readings = sim.Readings{Interval: rapid.SampledFrom([]time.Duration{1, time.Minute, time.Minute + 1}).Draw(t, "interval")}
		s := must.Get(e.New())(t)
		want := map[cluster.JobID]bool{}
		for _, r := range e.Running {
			if e.Jobs[r.Job].Ran >= e.Config.Readings.Interval {
				want[r.Job] = true
			}
		}
		got := map[cluster.JobID]bool{}
		for i := range s.Log().Records {
			if r := &s.Log().Records[i]; r.Kind == sim.Measure {
				got[r.Job] = true
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("readings of jobs %v, want %v", got, want)
		}
		for id := range cluster.JobID(len(e.Jobs)) {
			if !got[id] {
				continue
			}
			if all := s.State().Readings(id); len(all) != 1 || all[0].At != 0 || all[0].Configuration != s.State().Configuration(id) {
				t.Fatalf("job %d has the readings %+v", id, all)
			}
		}
		measured += len(got)
		_ = s.Run(t.Context(), sched, 1) // a scheduler may fail on a drawn episode
		text := written(t, s.Log())
		older := ""
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, `{"at":0,"kind":"measure"`) {
				older += line
			}
		}
		for _, text := range []string{text, older} {
			again, err := sim.Replay(read(t, text))
			if err != nil {
				t.Fatalf("replay: %v\n%s", err, text)
			}
			if now := written(t, again); now != text {
				t.Fatalf("replayed, the log differs:\n%s", differ(text, now))
			}
		}
	})
	least := 100
	if testing.Short() {
		least /= 4 // many draws so many fewer episodes then
	}
	if measured < least {
		t.Errorf("%d readings, want more", measured)
	}
}

// instants wraps a scheduler and records when it is called.
type instants struct {
	cluster.Scheduler
	at []time.Duration
}

func (s *instants) Schedule(tx *cluster.Txn) error {
	s.at = append(s.at, tx.Now())
	return s.Scheduler.Schedule(tx)
}

// unmeasured removes readings from a log.
func unmeasured(text string) string {
	head, rest, _ := strings.Cut(text, "\n")
	if from := strings.Index(head, `"readings":{`); from >= 0 {
		head = head[:from] + head[from+strings.Index(head[from:], "},")+2:]
	}
	var b strings.Builder
	for line := range strings.Lines(rest) {
		if !strings.Contains(line, `"kind":"measure"`) {
			b.WriteString(line)
		}
	}
	return head + "\n" + b.String()
}

// TestViewsHaveTheReadingsOfTheLog checks that at every decision a job's readings are those that the log has of it until then: of
// each configuration the newest.
func TestViewsHaveTheReadingsOfTheLog(t *testing.T) {
	seen := 0
	many(t, 1500, func(t *rapid.T) {
		e, sched := drawEpisode(t), drawScheduler(t)()
		s := begin(t, e)
		must.Do(t, sched.Reset(1))
		for ok := s.Outcome() == (sim.Outcome{}); ok; _, ok = s.Next() {
			measured := map[cluster.JobID]map[time.Duration]float64{}
			for i := range s.Log().Records {
				if r := &s.Log().Records[i]; r.Kind == sim.Measure {
					if measured[r.Job] == nil {
						measured[r.Job] = map[time.Duration]float64{}
					}
					measured[r.Job][r.At] = s.Log().Speed(r)
				}
			}
			for id := range cluster.JobID(s.State().Jobs()) {
				all := s.State().Readings(id)
				if (len(all) == 0) != (len(measured[id]) == 0) || len(all) > len(measured[id]) {
					t.Fatalf("job %d has %d readings of %d in the log", id, len(all), len(measured[id]))
				}
				for i, r := range all {
					seen++
					if speed, ok := measured[id][r.At]; !ok || speed != r.Speed || i > 0 && r.At <= all[i-1].At {
						t.Fatalf("job %d has the readings %+v, want those of %v", id, all, measured[id])
					}
				}
			}
			if sched.Schedule(s.State().Txn()) != nil {
				return
			}
			s.Commit()
		}
	})
	if seen < 1000 {
		t.Errorf("compared %d readings, want more", seen)
	}
}

// TestNoiseOfReadings checks that the logarithms of readings have the given standard deviation and no bias, and that the noise of a
// job's reading does not depend on the other jobs.
func TestNoiseOfReadings(t *testing.T) {
	const n, noise = 4000, 0.2
	cfg := sim.Config{Cluster: cluster.Uniform(n, 1), Readings: sim.Readings{Interval: time.Minute, Noise: noise, Seed: 3}}
	jobs := make([]trace.Job, n)
	for i := range jobs {
		jobs[i] = trace.Job{Work: time.Hour, JobSpec: cluster.JobSpec{
			Name: fmt.Sprint(i), Model: "bert-large", Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: time.Hour,
		}}
	}
	speeds := func(jobs []trace.Job) map[string]float64 {
		log := play(t, cfg, jobs, drawFIFO(t), 0)
		all := map[string]float64{}
		for i := range log.Records {
			if r := &log.Records[i]; r.Kind == sim.Measure {
				all[jobs[r.Job].Name] = log.Speed(r)
			}
		}
		return all
	}
	all, sum, squares := speeds(jobs), 0.0, 0.0
	for i := range jobs {
		x := math.Log(all[jobs[i].Name] * 6 * 340e6 * 32 * 512 / 39e12)
		sum, squares = sum+x, squares+x*x
	}
	mean := sum / n
	if deviation := math.Sqrt(squares/n - mean*mean); math.Abs(mean) > 3*noise/math.Sqrt(n) || math.Abs(deviation/noise-1) > 0.04 {
		t.Errorf("%d readings have the mean %v and the standard deviation %v, want 0 and %v", len(all), mean, deviation, noise)
	}
	some := slices.Clone(jobs[n-3:])
	slices.Reverse(some)
	for name, speed := range speeds(some) {
		if all[name] != speed {
			t.Errorf("job %s has the reading %v among few jobs, and %v among many", name, speed, all[name])
		}
	}
	cfg.Readings.Seed++
	if name := jobs[0].Name; speeds(jobs)[name] == all[name] {
		t.Error("another seed gives the same noise")
	}
}

// measured is a log with a reading.
const measured = `{"format":"clustergym-log","version":2,"scheduler":"fifo","physics":"ideal",` +
	`"restart":{"preempt":0,"migrate":0,"resize":0,"from_scratch":false,"interval":0,"save":0},"horizon":0,"jobs":1,` +
	`"readings":{"interval":60000000000,"noise":0,"seed":18446744073709551615},` +
	`"servers":[{"name":"a","gpus":1,"cpu_milli":null,"mem_mib":null,"pool":"training"}]}
{"at":0,"kind":"submit","job":0,"name":"x","model":"bert-large","workers":1,"gpu_milli":1000,"work":90000000000,"status":"passed"}
{"at":0,"kind":"start","job":0,"pieces":[{"server":0,"workers":1,"gpu_milli":1000,"gpus":[0]}]}
{"at":60000000000,"kind":"measure","job":0,"speed":1.1668485753676472}
{"at":90000000000,"kind":"finish","job":0}
{"at":90000000000,"kind":"end","terminated":true}
`

func TestReadLogWithReadings(t *testing.T) {
	l := read(t, measured)
	if want := (sim.Readings{Interval: time.Minute, Seed: math.MaxUint64}); l.Config.Readings != want {
		t.Errorf("readings %+v, want %+v", l.Config.Readings, want)
	}
	replayed := must.Get(sim.Replay(l))(t)
	for name, l := range map[string]*sim.Log{"read": l, "replayed": replayed} {
		if again := written(t, l); again != measured {
			t.Errorf("%s, it is\n%s\nwant\n%s", name, again, measured)
		}
	}
	for _, c := range []struct{ from, to, want string }{
		{`"interval":60000000000,`, ``, `line 1: readings.interval: missing`},
		{`"interval":60000000000,`, `"interval":0,`, `line 1: readings.interval: 0, want a whole number from 1`},
		{`"noise":0`, `"noise":2.1`, `line 1: readings.noise: 2.1, want a number from 0 to 2`},
		{`"noise":0`, `"noise":-1`, `line 1: readings.noise: -1, want a number from 0 to 2`},
		{`551615}`, `551616}`, `line 1: readings.seed: 18446744073709551616, want a whole number from 0 to 18446744073709551615`},
		{`"seed":`, `"of":1,"seed":`, `line 1: readings.of: unknown field`},
		{`,"speed":1.1668485753676472`, ``, `line 4: speed: missing`},
		{`"speed":1.1668485753676472`, `"speed":0`, `line 4: speed: 0, want a number above 0`},
		{`"speed":1.1668485753676472`, `"speed":1e999`, `line 4: speed: 1e999, want a number above 0`},
		{`"speed":1.1668485753676472`, `"speed":1,"server":0`, `line 4: server: unknown field, want those of a line of kind measure`},
		{`"finish","job":0`, `"finish","job":0,"speed":1`, `line 5: speed: unknown field, want those of a line of kind finish`},
	} {
		if _, err := sim.ReadLog(strings.NewReader(exchange(t, c.from, c.to))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s -> %s: error %v, want %q", c.from, c.to, err, c.want)
		}
	}
	for _, c := range []struct{ from, to, want string }{
		{`1.1668485753676472}`, `1.25}`, `record 2 (line 4): measure job 0 at speed 1.25 at 1m0s: the simulation has measure job 0 at speed`},
		{`"at":60000000000`, `"at":60000000001`, `record 2 (line 4): measure job 0 at speed 1.1668485753676472 at 1m0.000000001s: the simulation`},
		{`"interval":60000000000`, `"interval":90000000001`, `record 2 (line 4): measure job 0 at speed 1.1668485753676472 at 1m0s`},
		{`{"at":60000000000,"kind":"measure","job":0,"speed":1.1668485753676472}` + "\n", ``, `the simulation has measure job 0 at speed`},
	} {
		if _, err := sim.Replay(read(t, exchange(t, c.from, c.to))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s -> %s: error %v, want %q", c.from, c.to, err, c.want)
		}
	}
	cut := measured[:strings.Index(measured, `{"at":90000000000,"kind":"finish"`)] // the scheduler failed after the reading
	if l, err := sim.Replay(read(t, cut)); err != nil || written(t, l) != written(t, read(t, cut)) {
		t.Errorf("cut off after the reading, it does not replay: %v", err)
	}
}

func exchange(t *testing.T, from, to string) string {
	t.Helper()
	text := strings.Replace(measured, from, to, 1)
	if text == measured {
		t.Fatalf("%q is not in the example", from)
	}
	return text
}

func TestReadingsErrors(t *testing.T) {
	for _, r := range []sim.Readings{
		{Interval: -1}, {Noise: 0.1}, {Seed: 1}, {Interval: 1, Noise: -0.1}, {Interval: 1, Noise: 2.1}, {Interval: 1, Noise: math.NaN()},
	} {
		_, err := sim.New(sim.Config{Cluster: cluster.Uniform(1, 1), Readings: r}, nil)
		if err == nil || !strings.Contains(err.Error(), "readings every") {
			t.Errorf("%+v: error %v, want one", r, err)
		}
	}
	s := must.Get(sim.New(sim.Config{Cluster: cluster.Uniform(1, 1), Readings: sim.Readings{Interval: 1, Noise: 2}}, nil))(t)
	if err := s.Run(context.Background(), drawFIFO(t), 0); err != nil {
		t.Error(err)
	}
}
