package main

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/examples/maintest"
)

func TestMain(m *testing.M) { maintest.Main(m, main) }

// TestPolicy checks that the scheduler is a policy of the command line, which lists it, simulates it, and compares it with other
// policies.
func TestPolicy(t *testing.T) {
	t.Chdir(t.TempDir())
	maintest.Holds(t, maintest.Run(t, "baselines"), "backfill        ", "submission order; jobs behind one")
	const jobs = "job_id,num_gpu,submit_time,duration\na,3,0,100\nb,4,1,10\nc,1,2,99\nd,1,3,10\n"
	if err := os.WriteFile("jobs.csv", []byte(jobs), 0o666); err != nil {
		t.Fatal(err)
	}
	maintest.Run(t, "simulate", "--trace", "jobs.csv", "--servers", "1", "--gpus-per-server", "4", "--policy", "backfill", "--jobs-out", "out.csv")
	rows, err := os.ReadFile("out.csv")
	if err != nil {
		t.Fatal(err)
	}
	// c would end after b is due, d would not.
	maintest.Holds(t, string(rows), "a,0,0,100", "b,1,100,110", "c,2,110,209", "d,3,3,13")
	out := maintest.Run(t, "eval", "--scenario", "embedded-small-v1", "--policies", "fifo,sjfskip,backfill,backfill+move", "--baseline", "fifo",
		"--seeds", "1", "--figures", "none")
	for _, want := range []string{`fifo +44,292`, `sjfskip +12,919`, `backfill +14,927`, `backfill\+move +14,887`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// TestLoan checks the policy with +loan, where jobs are stopped when servers go back, and wait again.
func TestLoan(t *testing.T) {
	t.Chdir(t.TempDir())
	out := maintest.Run(t, "eval", "--scenario", "loaning-small-v1", "--policies", "backfill+loan", "--baseline", "fifo+loan", "--seeds", "1",
		"--figures", "none")
	if want := `backfill\+loan +10,461`; !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("no %s in\n%s", want, out)
	}
}

// TestPrior checks that the scheduler can be the prior of an environment and of a team. Only this program can then run the
// trained policy.
func TestPrior(t *testing.T) {
	t.Chdir(t.TempDir())
	maintest.Holds(t, maintest.Run(t, "env", "check", "--scenario", "embedded-small-v1", "--prior", "backfill"), "play the prior's schedule")
	maintest.Run(t, "train", "--scenario", "embedded-small-v1", "--updates", "1", "--set", "train.prior=backfill", "--set", "train.windows=1",
		"--set", "train.validation=1", "--dir", "run")
	maintest.Run(t, "export", "--run", "run", "--out", "policy")
	out := maintest.Run(t, "eval", "--scenario", "embedded-small-v1", "--windows", "1", "--seeds", "1", "--policies", "policy,backfill,prior", "--json")
	maintest.Holds(t, out, `"backfill"`)
}

// TestBackfillKeepsItsPromise checks that jobs start out of order only if the first waiting job still starts as promised.
func TestBackfillKeepsItsPromise(t *testing.T) {
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	job := func(name string, submit, workers, length int) trace.Job {
		return trace.Job{
			JobSpec: cluster.JobSpec{
				Name: name, Submit: second(submit), Workers: int32(workers), Estimate: second(length),
				Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
			},
			Work: second(length),
		}
	}
	for _, c := range []struct {
		name string
		job  trace.Job // submitted while a holds 5 of 8 GPUs until 100 s, and b waits for 6
		want int       // its start
	}{
		{"one that ends before the promise is due", job("c", 2, 3, 98), 2},
		{"one that would end after it", job("c", 2, 3, 99), 150},
		{"one that lasts, on GPUs beside the promise", job("c", 2, 2, 1000), 2},
		{"one that does not fit now", job("c", 2, 4, 10), 150},
	} {
		t.Run(c.name, func(t *testing.T) {
			jobs := []trace.Job{job("a", 0, 5, 100), job("b", 1, 6, 50), c.job}
			episode, err := sim.New(sim.Config{Cluster: cluster.Uniform(2, 4)}, jobs)
			if err != nil {
				t.Fatal(err)
			}
			if err := episode.Run(t.Context(), &Backfill{}, 1); err != nil {
				t.Fatal(err)
			}
			rows := eval.Rows(episode.Log())
			if got := rows[1].Start; got != second(100) {
				t.Errorf("b starts at %v, promised 100s", got)
			}
			if got := rows[2].Start; got != second(c.want) {
				t.Errorf("c starts at %v, want %v", got, second(c.want))
			}
		})
	}
}
