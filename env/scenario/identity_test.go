package scenario

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// minutes returns a trace of n jobs that arrive every minute, beginning at the given minute.
func minutes(from, n int) string {
	var csv strings.Builder
	csv.WriteString("job_id,num_gpu,submit_time,duration\n")
	for i := range n {
		fmt.Fprintf(&csv, "%d,1,%d,60\n", i, 60*(from+i))
	}
	return csv.String()
}

const splitText = "name: periods-v1\ncluster: {servers: 1, gpus_per_server: 8}\nworkload: {trace: t.csv}\n" +
	"window: {arrivals: 10, train: [0, 0.5], validation: [0.5, 0.7], test: [0.7, 1]}\n"

// TestPeriodsTellSharedJobs checks that the periods of a scenario's splits never overlap, and that Overlap detects jobs shared
// with another scenario on the same trace by their arrival times, however that scenario cuts, thins or stretches the trace.
func TestPeriodsTellSharedJobs(t *testing.T) {
	src := openTrace(t, minutes(100, 1000), splitText)
	if got, want := src.Periods(Train), (Period{"t.csv", 0, 30000}); len(got) != 1 || got[0] != want {
		t.Errorf("training is %v, want %v", got, want)
	}
	splits := splits()
	for i, a := range splits {
		for _, b := range splits[:i] {
			if both, shared := Overlap(src.Periods(a), src.Periods(b)); shared {
				t.Errorf("%s and %s share %v", a, b, both)
			}
		}
	}
	for _, c := range []struct {
		name string
		sets []string
		want bool // its test split shares jobs with the training split above
	}{
		{"as it is", nil, false},
		{"another cut", []string{"window.test=[0.4, 1]", "window.train=[0, 0.4]", "window.validation=[]"}, true},
		{"stretched", []string{"workload.stretch=4"}, false},
		{"stretched and cut", []string{"workload.stretch=0.5", "window.test=[0.45, 1]", "window.train=[0, 0.4]", "window.validation=[]"}, true},
		{"the same jobs four times as late", []string{"workload.stretch=4", "window.test=[0.2, 0.4]", "window.train=[]",
			"window.validation=[]"}, true},
		{"thinned", []string{"workload.thin=0.5"}, false},
		{"tests on all", []string{"window.test=[0, 1]", "window.train=[]", "window.validation=[]"}, true},
	} {
		other := openTrace(t, minutes(100, 1000), splitText, c.sets...)
		if both, shared := Overlap(src.Periods(Train), other.Periods(Test)); shared != c.want {
			t.Errorf("%s: shared is %v (%v), want %v", c.name, shared, both, c.want)
		}
	}
}

// TestPeriodsOfMixedTraces checks the periods of merged traces: the traces begin together, thinned ones with their first
// remaining job, and each period is on the clock of its own trace.
func TestPeriodsOfMixedTraces(t *testing.T) {
	open := func(traces string) *Source {
		dir := t.TempDir()
		write(t, dir, "t.csv", minutes(100, 200))
		write(t, dir, "u.csv", minutes(5000, 200))
		s, err := Load(write(t, dir, "s.yaml", strings.Replace(strings.Replace(splitText, "t.csv", traces, 1), "arrivals: 10", "arrivals: 1", 1)))
		if err != nil {
			t.Fatal(err)
		}
		return must.Get(s.Open())(t)
	}
	src := open("t.csv + u.csv")
	thin := open("t.csv + u.csv, thin: 0.02, seed: 3")
	if lag := thin.pool.origins[0].zero; lag == 0 || thin.Periods(Train)[0].From != lag.Seconds() {
		t.Errorf("thinned, the period begins at %v of a trace whose first job comes at %v", thin.Periods(Train)[0].From, lag)
	}
	got := src.Periods(Train)
	want := []Period{{"t.csv", 0, 6000}, {"u.csv", 0, 6000}}
	for i := range want {
		if len(got) != 2 || got[i].Trace != want[i].Trace || math.Abs(got[i].From-want[i].From) > 1 || math.Abs(got[i].To-want[i].To) > 61 {
			t.Fatalf("training is %v, want %v", got, want)
		}
	}
	alone := open("u.csv")
	if _, shared := Overlap(got, alone.Periods(Train)); !shared {
		t.Error("the mix and one of its traces share no job of training")
	}
	if both, shared := Overlap(got, alone.Periods(Test)); shared {
		t.Errorf("training on the mix and tests on one of its traces share %v", both)
	}
}

// TestDigest checks that the digest changes with everything that changes an episode, and not when the scenario is read again.
func TestDigest(t *testing.T) {
	digest := func(csv string, sets ...string) string {
		return must.Get(openTrace(t, csv, splitText, sets...).Digest())(t)
	}
	seen := map[string]string{digest(minutes(0, 100)): "as it is"}
	if _, again := seen[digest(minutes(0, 100))]; !again {
		t.Error("reading again gives another digest")
	}
	for name, d := range map[string]string{
		"another setting": digest(minutes(0, 100), "preempt_overhead=1s"), "another trace": digest(minutes(0, 101)),
		"other estimates": digest(minutes(0, 100), "estimates.kind=none"),
	} {
		if other, twice := seen[d]; twice {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[d] = name
	}
}
