package e2e

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/sharedtest"
	"github.com/clustergym/clustergym/internal/table"
)

// besideWindows are the windows of TestBeside, for the flag -window. Their jobs are long against the seconds that the job controller
// and Kueue need until they know that a job has ended.
var besideWindows = map[string]replayWindow{
	"short": {start: 3960, count: 60, longest: 30 * time.Minute, load: 1.6, seed: 7, most: 48, nodes: 10, speed: 40},
	"long":  {start: 3960, count: 60, longest: 30 * time.Minute, load: 1.6, seed: 7, most: 48, nodes: 10, speed: 20},
}

// besideContenders are the contenders of TestBeside: two rules with Kueue and with clustergym-kube, and two policies of which one
// reserves GPUs for large gangs.
var besideContenders = []contender{
	{name: "kueue-strict", strategy: "StrictFIFO", policy: "fifo"},
	{name: "clustergym-fifo", policy: "fifo"},
	{name: "kueue-best-effort", strategy: "BestEffortFIFO", policy: "fjf"},
	{name: "clustergym-fjf", policy: "fjf"},
	{name: "clustergym-skip", policy: "sjfskip"},
	{name: "clustergym-easy", policy: "sjf:backfill=easy"},
}

// besideTeams are further contenders for the long window: two teams with queues of their own, which are in one cohort or not.
var besideTeams = []contender{
	{name: "kueue-teams", strategy: "BestEffortFIFO", policy: "fjf", teams: true},
	{name: "kueue-cohort", strategy: "BestEffortFIFO", policy: "fjf", teams: true, cohort: true},
}

const (
	leastApart = 1100 * time.Millisecond // between two submissions: Kueue orders jobs by creation times in whole seconds
	alike      = 500 * time.Millisecond  // jobs that start within it count as starting together
	largeGang  = 16                      // GPUs
)

// What TestBeside demands of all contenders: the least rank correlation with the order in the simulator, and the largest gap in mean
// JCT. The correlation of fifo with fjf is 0.86. With Kueue the gap is larger, because Kueue frees the quota of a job that has ended
// a second or two later, which is 20 or 40 s of the trace each.
const leastTau = 0.87

var (
	besideGap = map[string]float64{"short": 0.20, "long": 0.10}
	kueueGap  = map[string]float64{"short": 0.40, "long": 0.25}
)

// mostOfWait is how long the longest waits of large gangs may be at most where GPUs are reserved for them, as a part of those where
// none are.
const mostOfWait = 0.75

// TestBeside runs one window of a trace with Kueue and kube-scheduler, with clustergym-kube, and in the simulator. It compares in
// which order jobs start, how long they wait, and their completion times. It also checks that reservations shorten the longest waits
// of large gangs, in the cluster as in the simulator.
func TestBeside(t *testing.T) {
	if !kubetest.WithKueue() {
		return
	}
	w, ok := besideWindows[*replayFlag]
	if !ok {
		t.Fatalf("-window=%s, want short or long", *replayFlag)
	}
	sharedtest.Dir(t) // a generated workload may have no large gangs
	of, jobs := w.gangs(t)
	for i := 1; i < len(jobs); i++ {
		jobs[i].Submit = max(jobs[i].Submit, jobs[i-1].Submit+leastApart)
	}
	t.Logf("%s, arrivals at least %v apart", of, leastApart)
	contenders := besideContenders
	if *replayFlag == "long" {
		contenders = slices.Concat(contenders, besideTeams)
	}
	all := sideBySide(t, w, jobs, contenders)
	if t.Failed() {
		return
	}
	rows := [][]string{{
		"seconds of the trace", "rule", "mean wait", "simulator", "as measured", "mean JCT", "simulator", "gap",
		"pairs", "tau", "first", "pairs as measured", "in part", "longest", "p99 wait of large", "simulator",
	}}
	large := map[string]*replayed{}
	for k, who := range contenders {
		rows = append(rows, all[k].row(t, who))
		large[who.policy] = all[k]
	}
	var b strings.Builder
	table.Text(&b, 2, rows)
	t.Logf("%d jobs, %d pairs, %d gangs of %d GPUs or more\n%s", len(jobs), len(jobs)*(len(jobs)-1)/2,
		len(largeGangs(jobs)), largeGang, b.String())

	skip, easy := large["sjfskip"], large["sjf:backfill=easy"]
	for what, waits := range map[string][2]time.Duration{
		"in the cluster":   {skip.p99(skip.waited), easy.p99(easy.waited)},
		"in the simulator": {skip.p99(skip.predicted.wait), easy.p99(easy.predicted.wait)},
	} {
		if waits[1].Seconds() > mostOfWait*waits[0].Seconds() {
			t.Errorf("%s large gangs wait for up to %v with reservations and %v without", what, waits[1], waits[0])
		}
	}
}

// row returns the row of a contender in TestBeside's table, and checks it.
func (r *replayed) row(t *testing.T, who contender) []string {
	t.Helper()
	started, again := who.started(r), who.again(t, r)
	pairs, first := orders(started, r.predicted.starts, alike)
	measured, _ := orders(started, again.starts, alike)
	inPart, longest := r.inPart()
	jct, predicted := r.mean(r.jct), r.predicted.meanJCT()
	gap, tau := jct.Seconds()/predicted.Seconds()-1, kendall(pairs, len(r.jobs))
	most := besideGap[*replayFlag]
	if who.strategy != "" {
		most = kueueGap[*replayFlag]
	}
	if math.Abs(gap) > most {
		t.Errorf("%s: mean JCT differs from the simulator's by %.1f %%, want at most %.0f %%", who.name, 100*gap, 100*most)
	}
	if again := kendall(measured, len(r.jobs)); tau < leastTau || again < leastTau {
		t.Errorf("%s: the order has a correlation of %.3f with the simulator's, %.3f with jobs as measured, want at least %v",
			who.name, tau, again, leastTau)
	}
	if who.strategy == "" && longest > replayGangDeadline {
		t.Errorf("%s: a gang was bound in part for %v, want %v at most", who.name, longest, replayGangDeadline)
	}
	return []string{
		who.name, who.policy,
		r.seconds(r.mean(r.waited)), r.seconds(r.mean(r.predicted.wait)),
		r.seconds(r.mean(func(i int) time.Duration { return r.late(i) + again.wait(i) })),
		r.seconds(jct), r.seconds(predicted), fmt.Sprintf("%+.1f %%", 100*gap),
		fmt.Sprint(pairs), fmt.Sprintf("%.3f", tau), fmt.Sprint(first), fmt.Sprint(measured),
		fmt.Sprint(inPart), r.seconds(longest),
		r.seconds(r.p99(r.waited)), r.seconds(r.p99(r.predicted.wait)),
	}
}

// waited returns how long a job waited from its planned arrival until all its pods were bound.
func (r *replayed) waited(i int) time.Duration { return r.late(i) + r.wait(i) }

// inPart returns how many gangs had some pods bound and others not for more than a second, and the longest time.
func (r *replayed) inPart() (gangs int, longest time.Duration) {
	for _, life := range r.lives {
		if part := life.bound.Sub(life.first); part > time.Second {
			gangs, longest = gangs+1, max(longest, part)
		}
	}
	return gangs, longest
}

// largeGangs returns the indexes of the large gangs.
func largeGangs(jobs []gangJob) (all []int) {
	for i := range jobs {
		if jobs[i].Workers >= largeGang {
			all = append(all, i)
		}
	}
	return all
}

// p99 returns the 99th percentile of a duration over the large gangs.
func (r *replayed) p99(of func(i int) time.Duration) time.Duration {
	var all []time.Duration
	for _, i := range largeGangs(r.jobs) {
		all = append(all, of(i))
	}
	slices.Sort(all)
	return all[(len(all)*99+99)/100-1]
}
