package belief

import (
	"math"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
)

// Speeds is a belief about how fast jobs run in each configuration, relative to the configuration that they asked for. It learns
// from the measured throughputs of running jobs and is a cluster.Profile, so that placers can decide by it where profiles of the
// models are unknown.
//
// The logarithm of the relative speed of a job is linear in effects of the configuration, with CPU in parts, so that the job may
// profit from a few cores and not from more. Their coefficients have a normal prior. Jobs differ from each other in steps: those
// that share a model from all jobs, or those that share a user where models are not told; recurring groups from these; and each
// job from its group. The posterior is computed from the widest of these circles to the job (Gelman et al., Bayesian Data
// Analysis, 3rd edition, §5 and §15). What is learned from are differences: between the readings of one job, and between the
// first readings of jobs that train the same model or belong to the same group, whose throughputs have one unit. Where first
// readings turn out to have different units, their differences count for little.
//
// A job that runs as it asked has speed 1, and one that has less memory than it asked for is never believed to run well.
//
// Beliefs depend only on the calls of Read, Save, Forget and Restore and on their order, not on what anybody asked in between.
// They lag a little behind what was read; Save makes them catch up. Speeds takes at most about 60 MB of memory. It is not safe
// for concurrent use.
type Speeds struct {
	learns  bool
	read    int64    // number of readings learned from
	taught  int64    // number of differences added to the evidence
	types   []string // GPU types that readings had, except those that count as V100
	circles map[circle]*evidence
	units   map[circle]*units
	jobs    map[string]*measured // by name
	beliefs map[asked]*believed
	version int
	width   float64         // logarithm of the factor on the standard deviations, see judge
	ids     []cluster.JobID // scratch of Observe
	made    int             // number of times that circles or their evidence were made or forgotten
}

// NewSpeeds returns a belief that has seen no reading. If learns is true, it begins with what published profiles of models say on
// average. If learns is false, it ignores readings and stays cautious: a job that gets less than it asked for is slower in
// proportion, and one that gets more is not faster.
func NewSpeeds(learns bool) *Speeds {
	return &Speeds{
		learns: learns, circles: map[circle]*evidence{}, units: map[circle]*units{}, jobs: map[string]*measured{},
		beliefs: map[asked]*believed{},
	}
}

// Read learns from the readings of a submitted job that came since its last call. Readings of the job in which a worker had less
// memory than the job asks for are left out, and so are those of jobs without a name
// or whose names cannot be saved. It keeps no reference to the View.
func (l *Speeds) Read(s *cluster.View, id cluster.JobID) {
	all := s.Readings(id)
	spec := s.Spec(id)
	if !l.learns || len(all) == 0 || !nameable(spec) {
		return
	}
	j := l.forReading(spec)
	for i := range all {
		if r := &all[i]; r.At > j.Seen {
			j.Seen = r.At
			if r.MemMiB >= spec.Request.MemMiB && l.knows(r.GPUType) {
				l.learn(j, spec, s.MostGPUs(), r)
			}
		}
	}
}

// Observe learns from all readings that came since the last decision, job by job in the order of their ids: those of running jobs
// and of jobs that have just ended or been interrupted.
func (l *Speeds) Observe(tx *cluster.Txn) {
	if !l.learns {
		return
	}
	s := tx.View()
	l.ids = append(l.ids[:0], s.Running()...)
	for _, e := range tx.Events() {
		if e.Kind == cluster.Finished || e.Kind == cluster.Interrupted {
			l.ids = append(l.ids, e.Job)
		}
	}
	slices.Sort(l.ids)
	for _, id := range l.ids {
		l.Read(s, id)
	}
}

// nameable reports whether the job has a name, and whether all names in its specification can be saved.
func nameable(spec *cluster.JobSpec) bool {
	return spec.Name != "" && names.OK(spec.Name) && names.OK(spec.Model) && names.OK(spec.Owner()) && names.OK(spec.Group)
}

// knows reports whether the types of a reading, joined by '|', have effects; if there is room, they get them.
func (l *Speeds) knows(types string) bool {
	for name := range strings.SplitSeq(types, "|") {
		if typeSpeed(name).reference || l.slot(name) >= 0 {
			continue
		}
		if len(l.types) == mostTypes || !names.OK(name) {
			return false
		}
		l.types = append(l.types, name)
		l.doubt()
	}
	return true
}

func (l *Speeds) learn(j *measured, spec *cluster.JobSpec, perServer int32, r *cluster.Reading) {
	l.read++
	first := j.Last == 0
	j.Last = l.read // before the oldest are forgotten, so that this job is none of them
	if first {
		l.forgetOldest()
	}
	x, _, _ := l.described(perServer, &r.Configuration)
	y := math.Log(r.Speed / float64(max(r.Workers, 1)))
	if j.Count > 0 {
		d := difference{x, y - j.Y, noise(&x) + noise(&j.X)/float64(j.Count)}
		for i := range d.X {
			d.X[i] -= j.X[i]
		}
		if d.X != (vector{}) {
			l.judge(&d, l.of(j, spec))
			l.teach(j, &d)
			j.add(&d)
		}
	} else if spec.Stages <= 1 && spec.Together() <= 1 && spec.Request.CPUMilli > 0 && spec.Request.MemMiB > 0 {
		l.compare(j, spec, &x, y)
	}
	j.Count++
	j.X.towards(&x, j.Count)
	j.Y += (y - j.Y) / float64(j.Count)
}

// towards moves a mean of count-1 vectors to that of one more.
func (x *vector) towards(another *vector, count int64) {
	for i, v := range another {
		x[i] += (v - x[i]) / float64(count)
	}
}

// teach adds a difference to the evidence of the job's circles. The narrower circles differ from each by chance, which adds to
// the variance.
func (l *Speeds) teach(j *measured, d *difference) {
	l.taught++
	spread := 0.0
	for i, v := range d.X {
		if v != 0 {
			spread += v * variation[i].times(&d.X)
		}
	}
	weight := 0.0
	for i := len(j.circles) - 1; i >= 0; i-- {
		weight += j.weights[i+1]
		e := j.known[i]
		if e == nil {
			e = l.newEvidence(j.circles[i])
			j.known[i] = e
		}
		e.add(d, d.Variance+weight*spread)
		e.Last = l.read
	}
}

// newEvidence makes room for the evidence of a circle.
func (l *Speeds) newEvidence(c circle) *evidence {
	if len(l.circles) >= mostCircles {
		forget(l.circles, func(e *evidence) int64 { return e.Last }, compareCircles)
		l.doubt()
	}
	e := &evidence{Last: l.read}
	l.circles[c] = e
	l.made++
	return e
}

// compare learns from the first reading of a job by comparing it with those of the jobs of its group or its model: with
// whichever tells more.
func (l *Speeds) compare(j *measured, spec *cluster.JobSpec, x *vector, y float64) {
	mean, sd := l.prior(spec.Request.CPUMilli, spec.Workers)
	best := difference{Variance: math.Inf(1)}
	for _, c := range j.circles {
		if c.Scope != ofModel && c.Scope != ofGroup {
			continue
		}
		u := l.units[c]
		if u == nil {
			if len(l.units) >= mostCircles {
				forget(l.units, func(u *units) int64 { return u.Last }, compareCircles)
			}
			u = new(units)
			l.units[c] = u
		}
		if u.Count > 0 {
			d, explained := difference{X: *x, Y: y - u.Y}, 0.0
			for i := range d.X {
				d.X[i] -= u.X[i]
				explained += d.X[i] * d.X[i] * (sd[i]*sd[i] + 2*deviation[i]*deviation[i])
			}
			more := 1 + 1/float64(u.Count)
			miss := d.Y - d.X.times(&mean)
			u.Excess += max(0, miss*miss/more-4*explained-4*(readingVariance+unitVariance))
			if d.Variance = more * u.variance(u.Count+1, u.Excess); d.Variance < best.Variance && d.X != (vector{}) {
				best = d
			}
		}
		u.Count++
		u.X.towards(x, u.Count)
		u.Y += (y - u.Y) / float64(u.Count)
		u.Last = l.read
	}
	if !math.IsInf(best.Variance, 1) {
		l.teach(j, &best)
	}
}

// Of returns what is believed of the logarithm of the speed of a job in a configuration: its mean and its standard deviation.
// The speed of the job as it asked, alone on V100, is 1. Only the size of the largest server is taken from the View.
func (l *Speeds) Of(s *cluster.View, spec *cluster.JobSpec, c *cluster.Configuration) (mean, sd float64) {
	x, mean, variance := l.relative(s, spec, c)
	return l.interval(spec, &x, mean, variance+placedVariance*x[spreadAt]) // as it asked, it is not spread
}

// Between returns what is believed of the logarithm of the factor by which the speed of a job changes from one configuration to
// another: its mean and its standard deviation. Only the size of the largest server is taken from the View.
func (l *Speeds) Between(s *cluster.View, spec *cluster.JobSpec, from, to *cluster.Configuration) (mean, sd float64) {
	y, less, known := l.relative(s, spec, from)
	x, mean, variance := l.relative(s, spec, to)
	if variance += known; from.GPUType == to.GPUType {
		variance = 0
	}
	variance += placedVariance * (x[spreadAt] + y[spreadAt])
	for i := range x {
		x[i] -= y[i]
	}
	return l.interval(spec, &x, mean-less, variance)
}

// Next returns what is believed of the logarithm of the next reading of a job, if it runs in a configuration then: its mean and
// its standard deviation, with the noise of readings. It starts from the mean of the earlier readings of the job; ok is false if
// there are none. Only the size of the largest server is taken from the View.
func (l *Speeds) Next(s *cluster.View, spec *cluster.JobSpec, c *cluster.Configuration) (mean, sd float64, ok bool) {
	j := l.job(spec)
	if j.Count == 0 {
		return 0, 0, false
	}
	x, mean, variance := l.next(s, j, c)
	mean, sd = l.interval(spec, &x, mean, variance)
	return mean + j.Y + math.Log(float64(max(c.Workers, 1))), sd, true
}

// next describes a configuration in comparison with those in which a job had readings, and adds up what is not learned of the
// difference between its next reading there and their mean: of the throughput per worker, with the noise of readings.
func (l *Speeds) next(s *cluster.View, j *measured, c *cluster.Configuration) (x vector, mean, variance float64) {
	x, mean, variance = l.described(s.MostGPUs(), c)
	variance += noise(&x) + noise(&j.X)/float64(j.Count)
	for i := range x {
		x[i] -= j.X[i]
	}
	return x, mean, variance
}

// interval returns the mean and the standard deviation of the effects x of a job together with an independent number of the given
// mean and variance.
func (l *Speeds) interval(spec *cluster.JobSpec, x *vector, mean, variance float64) (float64, float64) {
	if *x != (vector{}) {
		b := l.of(l.job(spec), spec)
		mean += x.times(&b.mean)
		variance += b.variance(x)
	}
	return min(max(mean, slowest), fastest), math.Exp(l.width) * math.Sqrt(max(variance, 0))
}

// Bounds of the logarithm of a speed.
const slowest, fastest = -8.0, 16.0

// relative describes a configuration in comparison with the one that the job asked for, and adds up what is not learned: the
// mean and the variance of the logarithm of speed.
func (l *Speeds) relative(s *cluster.View, spec *cluster.JobSpec, c *cluster.Configuration) (x vector, mean, variance float64) {
	as := cluster.Configuration{Workers: spec.Workers, Amount: spec.Request, Servers: 1}
	x, mean, variance = l.described(s.MostGPUs(), c)
	from, _, _ := l.described(s.MostGPUs(), &as)
	for i := range x {
		x[i] -= from[i]
	}
	if !l.learns {
		x[shareAt] = min(x[shareAt], 0)
	}
	if c.Workers != spec.Workers {
		mean += math.Log(float64(max(c.Workers, 1)) / float64(max(spec.Workers, 1)))
	}
	if want := spec.Request.MemMiB; c.MemMiB < want {
		mean -= cliff * math.Log(float64(want)/float64(max(c.MemMiB, 1)))
		x[memAt] = 0
	}
	return x, mean, variance
}

// Speed implements cluster.Profile. It depends on the job's specification and configuration only, and does not allocate for a
// job that has been asked about.
func (l *Speeds) Speed(s *cluster.View, id cluster.JobID) float64 {
	spec := s.Spec(id)
	j, q := l.job(spec), question{s.Configuration(id), spec.Request, spec.Workers, s.MostGPUs()}
	if a := j.answers.find(&q); a != nil && a.version == l.of(j, spec).version {
		return a.speed
	}
	x, mean, _ := l.relative(s, spec, &q.Configuration)
	if x == (vector{}) {
		return speed(mean)
	}
	b := l.of(j, spec)
	a := answer{q, b.version, speed(mean + x.times(&b.mean))}
	j.answers.add(&a)
	return a.speed
}

// speed returns a speed by its logarithm.
func speed(log float64) float64 { return math.Exp(min(max(log, slowest), fastest)) }

// Coupled implements cluster.Profile.
func (l *Speeds) Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return s.Sharers(p, dst)
}

// Kind returns a text that is equal for jobs of which the same is believed if they also ask for the same. It changes when the
// first reading tells a job, or a circle of jobs, apart from others.
func (l *Speeds) Kind(spec *cluster.JobSpec) string {
	j := l.job(spec)
	return j.kinds[j.deepest()]
}

// Version returns a number that changes when what is believed of such a job does.
func (l *Speeds) Version(spec *cluster.JobSpec) int { return l.of(l.job(spec), spec).version }

// Forget forgets single jobs and how far their readings were from what was believed, and keeps what they taught about others.
// Call it between episodes, in which other jobs have the same names.
func (l *Speeds) Forget() {
	l.width = 0
	clear(l.jobs)
	l.doubt()
}

var _ cluster.Profile = (*Speeds)(nil)
