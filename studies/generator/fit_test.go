package generator

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

var update = flag.Bool("update", false, "rewrite the parameters of env/trace from the traces")

// embedded is the folder of the parameter files.
const embedded = "../../env/trace"

// fitted lists the parameter files embedded in package trace and the jobs to which they were fitted.
var fitted = []struct {
	file, name, source string
	embedded           func() trace.Params
	path               string
	opt                trace.Options
	window             trace.WindowSpec
}{
	{
		"default.yaml", "helios-venus",
		"Fitted to helios-venus-2020-06: SenseTime Helios, cluster Venus, 10,796 GPU jobs of 2020-05-27 to 2020-06-17. " +
			"Hu et al., SC 2021; S-Lab-System-Group/HeliosData, CC BY 4.0, as re-packed by DIR-LAB/Gen-Parallel-Workloads.",
		trace.Default, "helios-venus-2020-06/helios_data_training.csv.gz", trace.Options{Format: trace.Helios}, trace.WindowSpec{},
	},
	{
		"philly.yaml", "philly",
		"Fitted to philly-2017-allstatus from day 48 on: Microsoft Philly, 14,237 GPU jobs of 2017-09-24 to 2017-10-04. " +
			"Jeon et al., ATC 2019; msr-fiddle/philly-traces, CC BY 4.0, as re-packed by DIR-LAB/Gen-Parallel-Workloads.",
		trace.Philly, "philly-2017-allstatus/philly_data_training.csv.gz", trace.Options{Format: trace.PhillyAll},
		trace.WindowSpec{From: 48 * 24 * time.Hour}, // days 45 to 47 have only 114 jobs
	},
}

// readFitted reads the jobs of one parameter file.
func readFitted(t *testing.T, i int) trace.Workload {
	t.Helper()
	w, err := trace.Read(filepath.Join(sharedtest.Dir(t), "traces", fitted[i].path), fitted[i].opt)
	if err != nil {
		t.Fatal(err)
	}
	if w, err = trace.Window(w, fitted[i].window); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestCommittedParametersAreTheFit checks that the committed parameters are the result of Fit on the traces. -update rewrites
// them.
func TestCommittedParametersAreTheFit(t *testing.T) {
	for i, c := range fitted {
		w := readFitted(t, i)
		p, rep, err := Fit(w)
		if err != nil {
			t.Fatal(err)
		}
		p.Name, p.Source = c.name, c.source
		t.Logf("%s: %d jobs, %d users, %.1f days", c.file, rep.Jobs, rep.Users, rep.Days)
		for _, f := range rep.Classes {
			t.Logf("to %d workers: %d jobs, KS %.3f\nseen   %v\nfitted %v", f.MaxWorkers, f.Jobs, f.KS, f.Seen, f.Fitted)
			if f.KS > .12 {
				t.Errorf("%s: gangs up to %d are %.3f away from their fit, want at most 0.12", c.file, f.MaxWorkers, f.KS)
			}
		}
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(filepath.Join(embedded, c.file), out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(filepath.Join(embedded, c.file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s is not the fit of its trace: run go test with -update", c.file)
		}
	}
}

// TestDrawsResembleTheTrace checks that a draw from fitted parameters resembles the trace: the median duration within a factor of
// 1.5 and the 90th percentile within 2, the fraction of every gang size within 3 percentage points, and the GPU-hours within a
// factor of 2.5 (a few very large jobs dominate them).
func TestDrawsResembleTheTrace(t *testing.T) {
	for i, c := range fitted {
		w := readFitted(t, i)
		seen := trace.Describe(w.Jobs)
		for seed := range uint64(3) {
			g, err := trace.Generate(c.embedded(), len(w.Jobs), seed)
			if err != nil {
				t.Fatal(err)
			}
			drawn := trace.Describe(g.Jobs)
			near := func(what string, got, want, factor float64) {
				if got < want/factor || got > want*factor {
					t.Errorf("%s, seed %d: %s %v, the trace has %v", c.name, seed, what, got, want)
				}
			}
			near("median seconds", drawn.Durations[2].Seconds, seen.Durations[2].Seconds, 1.5)
			near("p90 seconds", drawn.Durations[4].Seconds, seen.Durations[4].Seconds, 2)
			near("GPU-hours", drawn.GPUHours, seen.GPUHours, 2.5)
			near("days", drawn.Days(), seen.Days(), 2.5)
			near("variation of the gaps", drawn.ArrivalCV, seen.ArrivalCV, 2)
			near("users", float64(drawn.Users), float64(seen.Users), 1.1)
			shares := map[int32]float64{}
			for _, s := range drawn.Gangs {
				shares[s.Workers] = float64(s.Jobs) / float64(drawn.Jobs)
			}
			for _, s := range seen.Gangs {
				want := float64(s.Jobs) / float64(seen.Jobs)
				if got := shares[s.Workers]; got < want-.03 || got > want+.03 {
					t.Errorf("%s, seed %d: %.3f of the jobs have %d workers, in the trace %.3f", c.name, seed, got, s.Workers, want)
				}
			}
		}
	}
}

// TestFitFindsWhatWasDrawn checks that fitting a draw of ten thousand jobs returns the parameters of the draw, within tolerances.
func TestFitFindsWhatWasDrawn(t *testing.T) {
	p := trace.Default()
	w, err := trace.Generate(p, 10_000, 3)
	if err != nil {
		t.Fatal(err)
	}
	q, rep, err := Fit(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what            string
		got, want, most float64
	}{
		{"zipf", q.Users.Zipf, p.Users.Zipf, .1},
		{"sticky", q.Users.Sticky, p.Users.Sticky, .05},
		{"repeat", q.Users.Repeat, p.Users.Repeat, .1},
		{"cv", q.Arrivals.CV, p.Arrivals.CV, .3},
		{"users", float64(rep.Users), float64(p.Users.Count), 2},
		{"load of 1000 GPUs", loadOf(t, q), loadOf(t, p), .4},
	} {
		if d := c.got - c.want; d < -c.most || d > c.most {
			t.Errorf("%s: fitted %v, drawn from %v", c.what, c.got, c.want)
		}
	}
}

// loadOf returns the expected load of 1000 GPUs.
func loadOf(t *testing.T, p trace.Params) float64 {
	t.Helper()
	one, err := p.WithLoad(1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return p.Arrivals.PerDay / one.Arrivals.PerDay
}

// TestFitTurnsClocks checks that Fit gets the same daily cycle from two copies of a trace whose clocks differ by hours as from
// one copy.
func TestFitTurnsClocks(t *testing.T) {
	w, err := trace.Generate(trace.Default(), 5000, 1)
	if err != nil {
		t.Fatal(err)
	}
	late := trace.Workload{Name: "late", Jobs: append([]trace.Job(nil), w.Jobs...)}
	for i := range late.Jobs {
		late.Jobs[i].Submit += 7 * time.Hour
	}
	one, _, err := Fit(w)
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := Fit(w, late)
	if err != nil {
		t.Fatal(err)
	}
	for h := range 24 {
		if d := one.Arrivals.Hourly[h] - two.Arrivals.Hourly[h]; d > .01 || d < -.01 {
			t.Errorf("hour %d: rate %v of two copies, %v of one", h, two.Arrivals.Hourly[h], one.Arrivals.Hourly[h])
		}
	}
}

func TestFitRefuses(t *testing.T) {
	if _, _, err := Fit(); err == nil {
		t.Error("no workloads were fitted")
	}
	if _, _, err := Fit(trace.Workload{Name: "one", Jobs: make([]trace.Job, 1)}); err == nil {
		t.Error("a workload without a span was fitted")
	}
}
