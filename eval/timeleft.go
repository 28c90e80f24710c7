package eval

import "time"

// pace estimates how long a case of a plan takes: the mean time of the same policy on other windows of the suite; if there is
// none yet, on other suites; if there is none either, the mean time of all cases. Policies differ by orders of magnitude, so a
// mean over all of them is the last resort.
type pace struct {
	suite  map[[2]int]mean // by suite and policy
	policy map[int]mean
	all    mean
	inWork map[int]time.Duration // start time of each running case, by its index
}

type mean struct {
	sum float64
	n   int
}

func (m mean) plus(x float64) mean { return mean{m.sum + x, m.n + 1} }

func (p *pace) add(t *task, r *Result) {
	if r.Timing == nil {
		return
	}
	if p.suite == nil {
		p.suite, p.policy = map[[2]int]mean{}, map[int]mean{}
	}
	x := r.Timing.Wall
	p.suite[[2]int{t.suite, t.policy}] = p.suite[[2]int{t.suite, t.policy}].plus(x)
	p.policy[t.policy] = p.policy[t.policy].plus(x)
	p.all = p.all.plus(x)
}

func (p *pace) begin(i int, now time.Duration) {
	if p.inWork == nil {
		p.inWork = map[int]time.Duration{}
	}
	p.inWork[i] = now
}

func (p *pace) end(i int) { delete(p.inWork, i) }

// of returns the estimated time of a case, in seconds.
func (p *pace) of(t *task) float64 {
	for _, m := range []mean{p.suite[[2]int{t.suite, t.policy}], p.policy[t.policy], p.all} {
		if m.n > 0 {
			return m.sum / float64(m.n)
		}
	}
	return 0
}

// left estimates the time until the last case is done: the remaining work divided by the number of workers, but at least the
// longest remaining time of a single case. The caller must hold r.mu.
func (r *run) left() time.Duration {
	work, longest := 0.0, 0.0
	now := r.plan.now()
	for i, began := range r.pace.inWork {
		rest := max(r.pace.of(&r.tasks[i])-(now-began).Seconds(), 0)
		work, longest = work+rest, max(longest, rest)
	}
	for i := r.next; i < len(r.tasks); i++ {
		if r.results[i] == nil {
			x := r.pace.of(&r.tasks[i])
			work, longest = work+x, max(longest, x)
		}
	}
	return time.Duration(max(work/float64(r.workers), longest) * float64(time.Second))
}
