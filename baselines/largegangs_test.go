package baselines_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// TestReservationsServeLargeGangs checks what docs/policies.md says of reservations, and prints its table: if run times are told,
// the longest waits of large gangs are less than half of those with sjfskip, and GPUs are used as much. If they are predicted from
// jobs that have ended, reservations shorten these waits less. The jobs are all those of Venus.
func TestReservationsServeLargeGangs(t *testing.T) {
	file := filepath.Join(sharedtest.Dir(t), "traces/helios-venus-2020-06/helios_data_training.csv.gz")
	w := must.Get(trace.Read(file, trace.Options{Format: "helios"}))(t)
	grant(w.Jobs)
	for _, told := range []struct {
		suffix string
		factor float64 // by which the longest waits fall at least
	}{{"", 2}, {"+know:time=history:by=mean", 1.1}} {
		for _, servers := range []int{95, 90, 85} {
			play := func(policy string) largeGangs {
				l := playLarge(t, servers, w.Jobs, policy+told.suffix)
				t.Logf("| `%s` | %d | %.1f h | %.1f min | %.1f %% | %.1f %% |", policy+told.suffix, servers, l.p99.Hours(),
					l.others.Minutes(), 100*l.used, 100*l.whole)
				return l
			}
			skip, easy := play("sjfskip"), play("sjf:backfill=easy")
			if skip.count < 200 || easy.p99.Hours() > skip.p99.Hours()/told.factor {
				t.Errorf("%d servers, %d gangs: they wait for up to %v, %v without reservations", servers, skip.count, easy.p99, skip.p99)
			}
			if easy.used < 0.985*skip.used || easy.whole < 0.99*skip.whole {
				t.Errorf("%d servers: %.4f of GPUs are used, %.4f without reservations", servers, easy.used, skip.used)
			}
		}
	}
}

// largeGangs is what a policy does to gangs of 16 GPUs or more.
type largeGangs struct {
	count       int
	p99         time.Duration // the 99th percentile of their waits
	others      time.Duration // the mean wait of the other jobs
	used, whole float64       // the part of GPU-time in use until the last job arrives, and until the last one ends
}

func playLarge(t *testing.T, servers int, jobs []trace.Job, policy string) (l largeGangs) {
	t.Helper()
	spans := schedule(t, cluster.Uniform(servers, 8), jobs, policy)
	var waits []time.Duration
	var last, end time.Duration
	for i := range jobs {
		last, end = max(last, jobs[i].Submit), max(end, spans[i].end)
	}
	gpus := float64(8 * servers)
	for i := range jobs {
		if wait := spans[i].start - jobs[i].Submit; jobs[i].Workers >= 16 {
			waits = append(waits, wait)
		} else {
			l.others += wait
		}
		used := func(until time.Duration) float64 {
			return max(0, min(spans[i].end, until)-spans[i].start).Hours() / until.Hours()
		}
		l.used += used(last) * float64(jobs[i].Workers) / gpus
		l.whole += used(end) * float64(jobs[i].Workers) / gpus
	}
	slices.Sort(waits)
	l.count, l.p99 = len(waits), waits[(len(waits)*99+99)/100-1]
	l.others /= time.Duration(len(jobs) - len(waits))
	return l
}
