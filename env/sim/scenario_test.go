package sim_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

var update = flag.Bool("update", false, "rewrite the timelines in testdata")

// TestScenarios plays what the section "scenario" of each testdata/*.txt describes under every scheduler that another
// section names, and compares the timeline with that section. The scheduler "script" does what the section "script" says.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sections := split(string(text))
			cfg, jobs := parseScenario(t, section(sections, "scenario"))
			for i, s := range sections {
				var sched cluster.Scheduler
				switch s.name {
				case "", "scenario", "script":
					continue
				case "timeline":
					sched = parseScript(t, jobs, section(sections, "script"))
				default:
					if sched, err = baselines.New(s.name); err != nil {
						t.Fatal(err)
					}
				}
				got := timeline(play(t, cfg, jobs, sched, 1))
				if got != strings.TrimSpace(s.text)+"\n" && !*update {
					t.Errorf("%s:\n%swant:\n%s", s.name, got, s.text)
				}
				sections[i].text = got
			}
			if *update {
				if err := os.WriteFile(file, []byte(join(sections)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

type named struct{ name, text string }

// split cuts a text at its lines "-- name --"; what stands before the first is a comment.
func split(text string) []named {
	all := []named{{}}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(name, " --") {
			all = append(all, named{name: strings.TrimSuffix(name, " --")})
			continue
		}
		all[len(all)-1].text += line
	}
	return all
}

func join(sections []named) string {
	text := sections[0].text
	for _, s := range sections[1:] {
		text += "-- " + s.name + " --\n" + s.text
	}
	return text
}

func section(all []named, name string) string {
	i := slices.IndexFunc(all, func(s named) bool { return s.name == name })
	return all[i].text
}

// parseScenario reads lines such as "servers 2x8", "physics inter-server(0.5)", "overhead 10s", "from-scratch", "horizon
// 90s" and "job a submit=0s workers=8 work=60s".
func parseScenario(t *testing.T, text string) (cfg sim.Config, jobs []trace.Job) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		var err error
		switch f[0] {
		case "servers", "inference":
			var n, gpus int
			_, err = fmt.Sscanf(f[1], "%dx%d", &n, &gpus)
			for _, v := range cluster.Uniform(n, gpus).Servers {
				if f[0] == "inference" {
					v.Pool = cluster.Inference
				}
				cfg.Cluster.Servers = append(cfg.Cluster.Servers, v)
			}
		case "physics":
			cfg.Physics, err = physics.Parse(f[1])
		case "overhead":
			cfg.Overhead, err = time.ParseDuration(f[1])
		case "horizon":
			cfg.Horizon, err = time.ParseDuration(f[1])
		case "from-scratch":
			cfg.FromScratch = true
		case "job":
			jobs = append(jobs, parseJob(t, f[1:]))
		default:
			t.Fatalf("scenario line %q", line)
		}
		if err != nil {
			t.Fatalf("scenario line %q: %v", line, err)
		}
	}
	return cfg, jobs
}

func parseJob(t *testing.T, f []string) trace.Job {
	j := trace.Job{JobSpec: cluster.JobSpec{Name: f[0], Request: cluster.Amount{GPUMilli: cluster.WholeGPU}}}
	for _, pair := range f[1:] {
		key, value, _ := strings.Cut(pair, "=")
		d, err := time.ParseDuration(value)
		n, err2 := strconv.Atoi(value)
		if err != nil && err2 != nil {
			t.Fatalf("job %s: %q", f[0], pair)
		}
		switch key {
		case "submit":
			j.Submit = d
		case "work":
			j.Work = d
			j.Estimate = d
		case "workers":
			j.Workers = int32(n)
		case "min":
			j.MinWorkers = int32(n)
		case "max":
			j.MaxWorkers = int32(n)
		default:
			t.Fatalf("job %s: %q", f[0], pair)
		}
	}
	return j
}

// script proposes what its lines say, such as "20s migrate a 0:2 1:4", when they say it.
type script struct {
	steps []step
	next  int
}

type step struct {
	at    time.Duration
	verb  string
	job   cluster.JobID
	place cluster.Placement
}

func parseScript(t *testing.T, jobs []trace.Job, text string) *script {
	s := new(script)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		at, err := time.ParseDuration(f[0])
		id := slices.IndexFunc(jobs, func(j trace.Job) bool { return j.Name == f[2] })
		if err != nil || id < 0 {
			t.Fatalf("script line %q: %v", line, err)
		}
		st := step{at: at, verb: f[1], job: cluster.JobID(id)}
		for _, piece := range f[3:] {
			p := cluster.Piece{Amount: jobs[id].Request}
			if _, err := fmt.Sscanf(piece, "%d:%d", &p.Server, &p.Workers); err != nil {
				t.Fatalf("script line %q: %v", line, err)
			}
			st.place = append(st.place, p)
		}
		s.steps = append(s.steps, st)
	}
	return s
}

func (*script) Name() string         { return "script" }
func (s *script) Reset(uint64) error { s.next = 0; return nil }

func (s *script) Schedule(tx *cluster.Txn) error {
	for ; s.next < len(s.steps); s.next++ {
		st := &s.steps[s.next]
		if st.at > tx.Now() {
			tx.WakeAt(st.at)
			return nil
		}
		var err error
		switch st.verb {
		case "start":
			err = tx.Place(st.job, st.place)
		case "preempt":
			err = tx.Preempt(st.job)
		case "migrate":
			err = tx.Migrate(st.job, st.place)
		case "resize":
			err = tx.Resize(st.job, st.place)
		default:
			err = fmt.Errorf("no verb %q", st.verb)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// timeline writes a log for people, without the submissions.
func timeline(l *sim.Log) string {
	var b strings.Builder
	for i := range l.Records {
		r := &l.Records[i]
		switch at := r.At.String(); r.Kind {
		case sim.Submit:
		case sim.End:
			reason := l.Outcome.Truncated
			if l.Outcome.Terminated {
				reason = "terminated"
			}
			fmt.Fprintf(&b, "%s end %s\n", at, reason)
		default:
			fmt.Fprintf(&b, "%s %v %s", at, r.Kind, l.Jobs[r.Job].Name)
			for _, p := range l.Placement(r) {
				fmt.Fprintf(&b, " %d:%d", p.Server, p.Workers)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// A request for a decision point stands until it is served, and a later one does not put it off.
func TestWakeAt(t *testing.T) {
	w := &waker{}
	jobs := []trace.Job{
		{JobSpec: cluster.JobSpec{Name: "a", Workers: 1, Request: cluster.Amount{GPUMilli: 1000}}, Work: 1},
		{JobSpec: cluster.JobSpec{Name: "b", Workers: 1, Request: cluster.Amount{GPUMilli: 1000}, Submit: 50}, Work: 1},
	}
	play(t, sim.Config{Cluster: cluster.Uniform(1, 1)}, jobs, w, 0)
	if want := []time.Duration{0, 50, 100}; !slices.Equal(w.at, want) {
		t.Errorf("decisions at %v, want %v", w.at, want)
	}
}

// waker asks for 100, then for 200, and never places anything.
type waker struct{ at []time.Duration }

func (*waker) Name() string       { return "waker" }
func (*waker) Reset(uint64) error { return nil }

func (w *waker) Schedule(tx *cluster.Txn) error {
	w.at = append(w.at, tx.Now())
	if n := time.Duration(len(w.at)); n <= 2 {
		tx.WakeAt(300 * n)
		tx.WakeAt(100 * n)
		tx.WakeAt(tx.Now())
	}
	return nil
}
