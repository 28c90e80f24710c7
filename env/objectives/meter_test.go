package objectives_test

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestMeterAgreesWithTheLog checks the sums of a meter, which follows an episode, against closed forms over the intervals that
// the event log tells.
func TestMeterAgreesWithTheLog(t *testing.T) {
	simtest.Many(t, 300, func(t *rapid.T) {
		e := drawEpisode(t)
		o := drawObjective(t)
		e.Clock = time.Duration(rapid.IntRange(0, 86400).Draw(t, "clock")) * time.Second
		s := simtest.Begin(t, e)
		opts := objectives.Options{
			RunTime: func(id cluster.JobID) time.Duration { return e.Jobs[id].Work },
			Jobs:    len(e.Jobs), Warm: e.Config.Warm,
		}
		m := objectives.NewMeter(o, opts)
		ref := &reference{episode: e, opts: opts, lost: map[stopped]float64{}, seen: map[cluster.JobID]float64{}}
		s.Watch(func(from, to time.Duration) {
			ref.watch(&s.State().View, from, to)
			m.Pass(&s.State().View, from, to)
		})
		must.Do(t, s.Run(context.Background(), &simtest.Chaos{}, rapid.Uint64().Draw(t, "seed")))
		ref.losses(&s.State().View, s.State().Now())
		m.Catch(&s.State().View)
		want := ref.costs(o, s.Log())
		for i, got := range m.Terms() {
			if math.Abs(got-want[i]) > 1e-9*max(math.Abs(want[i]), 1) {
				t.Fatalf("term %d, %+v: the meter says %v, the log %v", i, o.Terms[i], got, want[i])
			}
		}
		parts := make([]float64, len(o.Terms))
		for id := range e.Jobs {
			m.Job(cluster.JobID(id), func(term int, cost float64) { parts[term] += cost })
		}
		for i, got := range parts {
			if c := o.Terms[i].Cost; c == objectives.IdleGPUTime || c == objectives.Makespan || c == objectives.Unfair {
				continue
			}
			if math.Abs(got-want[i]) > 1e-9*max(math.Abs(want[i]), 1) {
				t.Fatalf("term %d, %+v: jobs pay %v in all, want %v", i, o.Terms[i], got, want[i])
			}
		}
	})
}

// drawEpisode draws an episode in which jobs lose work, have deadlines, and some only fill the cluster.
func drawEpisode(t *rapid.T) *sim.Episode {
	e := simtest.Draw(t)
	e.Config.Restart.FromScratch = rapid.Bool().Draw(t, "from scratch")
	if rapid.Bool().Draw(t, "checkpoints") {
		e.Config.Restart.Interval = 500 * time.Second
	}
	if rapid.Bool().Draw(t, "cut off") {
		e.Config.Horizon = time.Duration(rapid.IntRange(1, 20000).Draw(t, "horizon")) * time.Second
	}
	e.Config.Warm = rapid.IntRange(0, 1).Draw(t, "warm")
	for i := range e.Jobs {
		j := &e.Jobs[i]
		j.Priority = rapid.Int32Range(0, 2).Draw(t, "priority")
		if rapid.Bool().Draw(t, "has a deadline") {
			j.Deadline = j.Submit + time.Duration(rapid.IntRange(-100, 20000).Draw(t, "deadline"))*time.Second
		}
	}
	return e
}

func drawObjective(t *rapid.T) *objectives.Objective {
	o := &objectives.Objective{Name: "drawn"}
	for range rapid.IntRange(1, 6).Draw(t, "terms") {
		o.Terms = append(o.Terms, drawTerm(t))
	}
	return o
}

func drawTerm(t *rapid.T) objectives.Term {
	amount := rapid.SampledFrom([]float64{1, 0.25, 30}).Draw(t, "price")
	per := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "per")
	x := objectives.Term{
		Cost: rapid.SampledFrom([]objectives.Cost{
			objectives.Completion, objectives.Wait, objectives.Wait, objectives.Late, objectives.Late, objectives.Stop, objectives.Move,
			objectives.Resize, objectives.LostGPUTime, objectives.LostGPUTime, objectives.GPUTime, objectives.IdleGPUTime,
			objectives.Makespan, objectives.Unfair,
		}).Draw(t, "cost"),
		Power: 1, Price: objectives.Price{Amount: amount, Per: per},
	}
	switch x.Cost {
	case objectives.Stop, objectives.Move, objectives.Resize:
		x.Price.Per = 0
	case objectives.GPUTime:
		if rapid.Bool().Draw(t, "tariff") {
			x.Prices = map[int]float64{rapid.IntRange(0, 11).Draw(t, "from"): 2, rapid.IntRange(12, 23).Draw(t, "until"): 0.5}
		}
	case objectives.Late:
		x.Miss = rapid.SampledFrom([]float64{0, 7}).Draw(t, "miss")
		if rapid.Bool().Draw(t, "computed") {
			x.Deadline = objectives.Deadline{RunTimes: rapid.Float64Range(0, 3).Draw(t, "run times"), Plus: time.Minute}
		}
		fallthrough
	case objectives.Completion, objectives.Wait:
		x.Power = rapid.SampledFrom([]float64{1, 1, 2, 0.5}).Draw(t, "power")
		if x.Cost != objectives.Late {
			x.Over = time.Duration(rapid.SampledFrom([]int{0, 60, 1000}).Draw(t, "over")) * time.Second
		}
		if rapid.IntRange(0, 3).Draw(t, "slowdown") == 0 {
			x.PerRunTime, x.Floor, x.Price.Per = true, 10*time.Second, 0
		}
		x.First = x.Cost == objectives.Wait && rapid.Bool().Draw(t, "first")
	}
	if rapid.IntRange(0, 3).Draw(t, "selects") == 0 {
		x.Jobs.GPUs = []objectives.Range{{From: 1, To: 2}}
	}
	if rapid.IntRange(0, 3).Draw(t, "selects by time") == 0 {
		x.Jobs.RunTime = []objectives.Range{{From: 100, To: 1e9}}
	}
	return x
}

// reference computes costs from an event log, each term for itself.
type reference struct {
	episode *sim.Episode
	opts    objectives.Options
	lost    map[stopped]float64       // the fraction of its work that a job lost at an instant
	seen    map[cluster.JobID]float64 // View.Lost so far
	spans   []span
}

type stopped struct {
	job cluster.JobID
	at  time.Duration
}

// span is a stretch of time with what the log does not tell: which GPUs are free and in service.
type span struct {
	from, to    time.Duration
	free, total int64
}

func (r *reference) watch(v *cluster.View, from, to time.Duration) {
	r.losses(v, from)
	total := v.Total()
	r.spans = append(r.spans, span{from, to, v.FreeTotal(), total.GPUMilli})
}

func (r *reference) losses(v *cluster.View, at time.Duration) {
	for id := range cluster.JobID(v.Jobs()) {
		if d := v.Lost(id) - r.seen[id]; d > 0 {
			r.lost[stopped{id, at}] += d
			r.seen[id] = v.Lost(id)
		}
	}
}

// run is an interval of a job's life in one state.
type run struct {
	from, to time.Duration
	gpus     float64 // 0 in the queue
	paused   time.Duration
	lost     float64 // the fraction of its work that the job loses at the end
}

type life struct {
	submit, end            time.Duration // end is that of the episode for a job that does not end
	runs                   []run
	stops, moves, resizes  int
	pauseUntil, firstStart time.Duration
	starts                 int
}

func (r *reference) lives(log *sim.Log) map[cluster.JobID]*life {
	lives := map[cluster.JobID]*life{}
	end := log.Records[len(log.Records)-1].At
	for i := range log.Records {
		x := &log.Records[i]
		l := lives[x.Job]
		gpus := float64(log.Placement(x).GPUMilli()) / cluster.WholeGPU
		begin := func(gpus float64) {
			if n := len(l.runs); n > 0 {
				l.runs[n-1].to = x.At
			}
			l.runs = append(l.runs, run{from: x.At, to: end, gpus: gpus})
		}
		pause := func(d time.Duration) {
			if x.At != l.firstStart || l.starts == 0 {
				l.pauseUntil = max(l.pauseUntil, x.At+d)
			}
		}
		restart := &r.episode.Config.Restart
		switch x.Kind {
		case sim.Submit:
			lives[x.Job] = &life{submit: log.Jobs[x.Job].Submit, end: end, runs: []run{{from: x.At, to: end}}, firstStart: -1}
		case sim.Start:
			begin(gpus)
			if l.pauseUntil = x.At; l.starts == 0 {
				l.firstStart, l.starts = x.At, 1
			} else {
				l.starts++
				pause(restart.Preempt)
			}
		case sim.Migrate:
			begin(gpus)
			l.moves++
			pause(restart.Migrate)
		case sim.Resize:
			begin(gpus)
			l.resizes++
			pause(restart.Resize)
		case sim.Preempt, sim.Interrupt:
			l.stops++
			begin(0)
			l.runs[len(l.runs)-2].lost = r.lost[stopped{x.Job, x.At}]
			delete(r.lost, stopped{x.Job, x.At}) // a job that is stopped twice at an instant loses at the first
		case sim.Finish:
			l.runs[len(l.runs)-1].to, l.end = x.At, x.At
		}
		if l != nil && len(l.runs) > 0 && (x.Kind == sim.Start || x.Kind == sim.Migrate || x.Kind == sim.Resize) {
			l.runs[len(l.runs)-1].paused = max(l.pauseUntil-x.At, 0)
		}
	}
	return lives
}

func (r *reference) costs(o *objectives.Objective, log *sim.Log) []float64 {
	lives := r.lives(log)
	all := make([]float64, len(o.Terms))
	for i := range o.Terms {
		x := &o.Terms[i]
		switch x.Cost {
		case objectives.IdleGPUTime, objectives.Makespan, objectives.Unfair:
			all[i] = r.together(x, lives, log)
			continue
		}
		for id, l := range lives {
			if spec := &log.Jobs[id].JobSpec; int(id) >= r.opts.Warm && x.Jobs.Match(spec, log.Jobs[id].Work) {
				all[i] += r.cost(x, id, l, log)
			}
		}
	}
	return all
}

func (r *reference) cost(x *objectives.Term, id cluster.JobID, l *life, log *sim.Log) float64 {
	per := cmp.Or(x.Price.Per, time.Hour).Hours()
	switch x.Cost {
	case objectives.Completion:
		return value(x, log.Jobs[id].Work, l.end-l.submit)
	case objectives.Wait:
		var waited, held time.Duration
		for _, q := range l.runs {
			switch {
			case q.gpus > 0:
				held += q.to - q.from
			case !x.First || held < time.Minute:
				waited += q.to - q.from
			}
		}
		return value(x, log.Jobs[id].Work, waited)
	case objectives.Late:
		due := log.Jobs[id].Deadline
		if x.Deadline != (objectives.Deadline{}) {
			due = l.submit + time.Duration(x.Deadline.RunTimes*float64(log.Jobs[id].Work)+float64(x.Deadline.Plus))
		} else if due == 0 {
			return 0
		}
		if l.end <= max(due, l.submit) {
			return 0
		}
		return value(x, log.Jobs[id].Work, l.end-due) - value(x, log.Jobs[id].Work, max(l.submit-due, 0)) + x.Miss
	case objectives.Stop:
		return x.Price.Amount * float64(l.stops)
	case objectives.Move:
		return x.Price.Amount * float64(l.moves)
	case objectives.Resize:
		return x.Price.Amount * float64(l.resizes)
	case objectives.GPUTime:
		sum := 0.0
		for _, q := range l.runs {
			sum += q.gpus * priced(x.Prices, r.episode.Clock+q.from, r.episode.Clock+q.to)
		}
		return x.Price.Amount * sum / per
	}
	sum, productive := 0.0, 0.0
	for _, q := range l.runs {
		paused := min(q.paused, q.to-q.from)
		sum += q.gpus * paused.Hours()
		productive += q.gpus * (q.to - q.from - paused).Hours()
		sum += productive * q.lost
		productive -= productive * q.lost
	}
	return x.Price.Amount * sum / per
}

// value is what a term charges for a time.
func value(x *objectives.Term, work, d time.Duration) float64 {
	unit := x.Price.Per
	if x.PerRunTime {
		unit = max(work, x.Floor, time.Second)
	}
	return x.Price.Amount * math.Pow(float64(max(d-x.Over, 0))/float64(unit), x.Power)
}

// priced adds up hours minute by minute at the price of each.
func priced(prices map[int]float64, from, to time.Duration) (sum float64) {
	if prices == nil {
		return (to - from).Hours()
	}
	hours := []int{}
	for h := range prices {
		hours = append(hours, h)
	}
	slices.Sort(hours)
	for at := from; at < to; {
		next := min(at-at%time.Hour+time.Hour, to)
		hour := int(at/time.Hour) % 24
		price := prices[hours[len(hours)-1]]
		for _, h := range hours {
			if h <= hour {
				price = prices[h]
			}
		}
		sum += price * (next - at).Hours()
		at = next
	}
	return sum
}

// together returns what a term of the cluster as a whole charges.
func (r *reference) together(x *objectives.Term, lives map[cluster.JobID]*life, log *sim.Log) (sum float64) {
	for _, s := range r.spans {
		n := 0.0
		type use struct{ wants, holds float64 }
		tenants := map[string]*use{}
		quotas := map[string]float64{}
		for _, q := range r.episode.Config.Cluster.Quotas {
			quotas[q.Tenant] = float64(q.GPUs)
		}
		waits, unfinished := false, false
		for id := range log.Jobs {
			l, job := lives[cluster.JobID(id)], &log.Jobs[id]
			counts := id >= r.opts.Warm
			if l == nil || l.submit > s.from {
				unfinished = unfinished || counts
				continue
			}
			i := slices.IndexFunc(l.runs, func(q run) bool { return q.from <= s.from && q.to >= s.to && q.from < q.to })
			if i < 0 {
				continue
			}
			unfinished = unfinished || counts
			name := cmp.Or(job.Tenant, job.User)
			if tenants[name] == nil {
				tenants[name] = &use{}
			}
			if g := l.runs[i].gpus; g > 0 {
				tenants[name].holds += g
				tenants[name].wants += g
			} else {
				tenants[name].wants += job.GPUs()
				waits = waits || counts
			}
		}
		switch x.Cost {
		case objectives.IdleGPUTime:
			if waits {
				n = float64(s.free)
			}
		case objectives.Makespan:
			if unfinished {
				n = 1
			}
		case objectives.Unfair:
			for name, u := range tenants {
				share, ok := quotas[name]
				if !ok {
					share = float64(s.total/int64(len(tenants))) / cluster.WholeGPU
				}
				n = max(n, min(share, u.wants)-u.holds)
			}
		}
		sum += x.Price.Amount * n * (s.to - s.from).Hours() / x.Price.Per.Hours()
	}
	return sum
}

// TestCatch checks that a meter which looks at a cluster only when it is decided, and then once more, finds the same costs.
func TestCatch(t *testing.T) {
	simtest.Many(t, 100, func(t *rapid.T) {
		e, o := drawEpisode(t), drawObjective(t)
		s := simtest.Begin(t, e)
		opts := objectives.Options{
			RunTime: func(id cluster.JobID) time.Duration { return e.Jobs[id].Work }, Jobs: len(e.Jobs), Warm: e.Config.Warm,
		}
		whole, parts := objectives.NewMeter(o, opts), objectives.NewMeter(o, opts)
		v := &s.State().View
		s.Watch(func(from, to time.Duration) { whole.Pass(v, from, to) })
		var c simtest.Chaos
		must.Do(t, c.Reset(rapid.Uint64().Draw(t, "seed")))
		parts.Catch(v)
		for tx, ok := s.Next(); ok; tx, ok = s.Next() {
			parts.Catch(v)
			must.Do(t, c.Schedule(tx))
			s.Commit()
			parts.Catch(v)
			if rapid.IntRange(0, 4).Draw(t, "copied") == 0 {
				var other objectives.Meter
				parts.CopyTo(&other)
				parts, other = &other, *parts
				other.Catch(v)
			}
		}
		whole.Catch(v)
		parts.Catch(v)
		if a, b := whole.Total(), parts.Total(); math.Abs(a-b) > 1e-9*max(math.Abs(a), 1) {
			t.Fatalf("%+v: in stretches %v, at decisions %v", o.Terms, a, b)
		}
	})
}

// TestCostIsWhatIsCharged checks that what a meter foresees for a job that starts some time from now, and then runs to its end,
// is what it charges in the end.
func TestCostIsWhatIsCharged(t *testing.T) {
	simtest.Many(t, 300, func(t *rapid.T) {
		o := drawObjective(t)
		wait, work := time.Duration(rapid.IntRange(0, 5000).Draw(t, "wait")), time.Duration(rapid.IntRange(60, 5000).Draw(t, "work"))
		wait, work = wait*time.Second, work*time.Second
		job := trace.Job{Work: work, JobSpec: cluster.JobSpec{
			Name: "a", Workers: 2, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Deadline: time.Hour,
		}}
		e := &sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(1, 2)}, Jobs: []trace.Job{job}}
		s := simtest.Begin(t, e)
		v := &s.State().View
		m := objectives.NewMeter(o, objectives.Options{RunTime: func(cluster.JobID) time.Duration { return work }, Jobs: 1})
		want := 0.0
		for tx, ok := s.Next(); ok; tx, ok = s.Next() {
			m.Catch(v)
			switch {
			case tx.Now() == 0:
				for i := range o.Terms {
					if c := o.Terms[i].Cost; c == objectives.IdleGPUTime || c == objectives.Makespan || c == objectives.Unfair {
						o.Terms[i].Price.Amount = 0
					}
				}
				want = m.Cost(v, 0, wait, work, 2)
				fallthrough
			case tx.Now() < wait:
				tx.WakeAt(wait)
			}
			if tx.Now() == wait {
				must.Do(t, tx.Place(0, cluster.Placement{{Server: 0, Workers: 2, Amount: job.Request}}))
			}
			s.Commit()
			m.Catch(v)
		}
		m.Catch(v)
		if got := m.Total(); math.Abs(got-want) > 1e-9*max(math.Abs(want), 1) {
			t.Fatalf("%+v: foreseen %v, charged %v", o.Terms, want, got)
		}
	})
}

// TestRate checks the rate against the difference of costs, averaged over many delays.
func TestRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawObjective(t)
		for i := range o.Terms {
			o.Terms[i].Prices = nil
			if o.Terms[i].Power < 1 {
				o.Terms[i].Power = 1 // the rate has no bound where such a term begins
			}
		}
		left, ahead := time.Duration(rapid.IntRange(60, 5000).Draw(t, "left"))*time.Second, 1000*time.Second
		spec := &cluster.JobSpec{
			Name: "a", Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Deadline: time.Hour,
		}
		s := must.Get(cluster.NewState(cluster.Uniform(1, 2), 1))(t)
		s.Submit(0, spec)
		m := objectives.NewMeter(o, objectives.Options{RunTime: func(cluster.JobID) time.Duration { return left }})
		m.Catch(&s.View)
		s.Advance(time.Duration(rapid.IntRange(0, 5000).Draw(t, "age")) * time.Second)
		m.Catch(&s.View)
		const n, longest = 20000, 25 // steps, and how many times the mean
		mean, before := 0.0, m.Cost(&s.View, 0, 0, left, 1)
		for i := range n {
			x := longest * (float64(i) + 0.5) / n
			more := m.Cost(&s.View, 0, time.Duration(x*float64(ahead)), left, 1) - before
			mean += more * math.Exp(-x) * longest / n / ahead.Hours()
		}
		if got := m.Rate(&s.View, 0, left, ahead, 1); math.Abs(got-mean) > 0.005*max(math.Abs(mean), 1e-2) {
			t.Fatalf("%+v: rate %v, in the mean over delays %v", o.Terms, got, mean)
		}
	})
}
