package scenario

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

func sjfskip() cluster.Scheduler {
	s, err := baselines.New("sjfskip")
	if err != nil {
		panic(err)
	}
	return s
}

// TestBuiltinsAreContended checks that jobs wait in the built-in scenarios, because otherwise all schedulers look alike: queueing
// is at least 5 % of mean JCT under sjfskip over the test windows. For families the test covers those with a load above 0.9 in
// the name; the other scenarios are contended whatever their load.
func TestBuiltinsAreContended(t *testing.T) {
	for _, name := range All() {
		m, family := parseMember(name)
		if family && m.load <= 90 || testing.Short() && family && (m.interference != "strong" || m.gangs != "rigid") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			src := builtinSource(t, name)
			q := must.Get(src.Queueing(t.Context(), Test, 1, sjfskip, nil))(t)
			t.Logf("%.1f %% of JCT over %d windows", 100*q.Share(), q.Windows)
			if q.Share() < .05 || q.Windows != src.Count(Test) {
				t.Errorf("queueing is %.1f %% of JCT over %d windows, want at least 5 %% over %d",
					100*q.Share(), q.Windows, src.Count(Test))
			}
		})
	}
}

// Two jobs of 100 s on one GPU are submitted together: one waits 0 of 100 s, the other 100 of 200 s.
func TestQueueingByHand(t *testing.T) {
	src := openTrace(t, "job_id,num_gpu,submit_time,duration\n1,1,0,100\n2,1,0,100\n", `
name: hand-v1
cluster: {servers: 1, gpus_per_server: 1}
workload: {trace: t.csv}
window: {arrivals: 2, test: [0, 1]}
estimates: {kind: none}
`)
	done := 0
	q := must.Get(src.Queueing(t.Context(), Test, 1, sjfskip, func(n int) { done = n }))(t)
	if q.Queueing != 50 || q.JCT != 150 || q.Windows != 1 || q.Scheduler != "sjfskip" || done != 1 {
		t.Errorf("queueing %+v after %d windows, want 50 s of 150 s over one", q, done)
	}
}

func TestCards(t *testing.T) {
	for _, name := range append(Names(), Families()[0].Names()[0]) {
		s := must.Get(Load(name))(t)
		if len(s.Real) == 0 || len(s.Assumed) == 0 {
			t.Errorf("%s does not say what is real and what is assumed", name)
		}
	}
	src := builtinSource(t, "loaning-small-v1")
	d := src.Describe()
	d.Queueing = &Queueing{Scheduler: "sjfskip", Windows: 1, Queueing: 10, JCT: 40}
	var b strings.Builder
	must.Do(t, d.WriteText(&b))
	for _, want := range []string{
		"Real:", "Assumed:", "training: 8 servers of 8 V100 GPUs of 32 GiB", "inference: 16 servers of 2 T4 GPUs of 16 GiB",
		"demand generated", "gpu-type * scaling", "up to 1 GPU-hours: resnet18-16", "0.05 of the gangs elastic",
		`0.21 of the jobs on any type of GPU, the others on "V100"`, "test: 12 windows, 1800 jobs, load 0.8", "25.0 % of mean JCT",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the card lacks %q:\n%s", want, b.String())
		}
	}
}
