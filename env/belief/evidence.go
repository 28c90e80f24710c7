package belief

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
)

// scope says which jobs are expected to react alike: all, or those that share the model, the user, or the recurring group.
type scope uint8

const (
	everyJob scope = iota
	ofModel
	ofUser
	ofGroup
	scopes
)

var scopeNames = [scopes]string{"all", "model", "user", "group"}

// circle identifies a set of jobs that are expected to react alike.
type circle struct {
	Scope scope  `belief:"of,need,scope"`
	Name  string `belief:"name,name"` // of the model, user or group
}

func compareCircles(a, b circle) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Name, b.Name))
}

// likelihood is what differences between readings say about the coefficients: a normal one with the given precision, whose
// maximum times the precision is pull.
type likelihood struct {
	Count     int64  `belief:"differences,need,1.."`
	Precision matrix `belief:"precision,need,triangle"`
	Pull      vector `belief:"pull,need,pull"`
}

// evidence is what the differences of a circle say. Beliefs follow from the part of it that is settled.
type evidence struct {
	Last int64 `belief:"last,need,1.."` // the reading that came last, as Speeds.read counts them
	likelihood
	settled likelihood
}

// lags reports whether beliefs lag too far behind: whether there are more than 1.15 times as many differences as they follow
// from. Computing beliefs again for every difference would take much longer.
func lags(count, settled int64) bool { return float64(count) > 1.15*float64(settled) }

func (e *evidence) add(d *difference, variance float64) {
	e.likelihood.add(d, variance)
	if lags(e.Count, e.settled.Count) {
		e.settle()
	}
}

func (e *evidence) settle() { e.settled = e.likelihood }

func (e *likelihood) add(d *difference, variance float64) {
	e.Count++
	scale := 1 / variance
	for i, v := range d.X {
		if v == 0 {
			continue
		}
		for j, w := range d.X {
			e.Precision[i][j] += v * w * scale
		}
		e.Pull[i] += v * d.Y * scale
	}
}

// difference is a measured one between the logarithms of the throughput per worker of two configurations, or of one and the mean
// of several.
type difference struct {
	X        vector  `belief:"x,need,effects"` // the one configuration minus the other
	Y        float64 `belief:"y,need,-mostMiss..mostMiss"`
	Variance float64 `belief:"variance,need,variance"` // of the error of measurement
}

// The variances of the logarithm of a reading, and of what a job differs from others of the same model in the same
// configuration.
const (
	readingVariance = 0.05*0.05 + 0.03*0.03 // noise, and what the effects do not describe
	unitVariance    = 0.05 * 0.05
)

// placedVariance is the variance of the logarithm of speed between the ways in which a gang lies on more servers than it needs,
// which the effects do not tell apart, where the effect of spread is 1; it is proportional to the effect.
const placedVariance = 0.2

// noise returns the variance of the logarithm of a reading in a configuration with these effects.
func noise(x *vector) float64 { return readingVariance + placedVariance*x[spreadAt] }

// units is the mean of the first readings of the jobs of a circle. They can be compared only if throughput has the same unit,
// which holds if all of them train one model. Whether it does shows in how far apart they are.
type units struct {
	Last   int64   `belief:"last,need,1.."`
	Count  int64   `belief:"readings,need,1.."`
	X      vector  `belief:"x,need,effects"`
	Y      float64 `belief:"y,need,-maxLog..maxLog"`
	Excess float64 `belief:"excess,need,0..maxPrecision"` // sum of the squares by which they were farther apart than explained
}

// variance returns that of a comparison of another first reading with the mean.
func (u *units) variance(count int64, excess float64) float64 {
	const sure = 2 // comparisons
	return readingVariance + unitVariance + excess/float64(sure+count-1)
}

// identity is what tells jobs of one name apart.
type identity struct {
	Model string `belief:"model,need,name"`
	User  string `belief:"user,need,name"`
	Group string `belief:"group,need,name"`
}

// readings are what the readings of one job say.
type readings struct {
	Last        int64         `belief:"last,need"` // the reading that came last, 0 for none
	Seen        time.Duration `belief:"seen_ns,need"`
	Count       int64         `belief:"readings,need"`
	X           vector        `belief:"x,need,effects"`
	Y           float64       `belief:"y,need,-maxLog..maxLog"`        // the mean
	Told        int64         `belief:"told,need"`                     // number of differences so far
	Differences []difference  `belief:"differences,need,most=mostOwn"` // between its own readings, the newest mostOwn
}

// measured is what is known of one job.
type measured struct {
	identity
	readings
	circles     []circle     // from all jobs to those most like it; never empty
	weights     [4]float64   // by circle, and of the job itself: its part of the variances in deviation, jobsApart in all
	kinds       []string     // by circle, and of the job itself: see Kind
	known       [3]*evidence // by circle; nil if there is none
	found       int          // Speeds.made when known was filled
	settledTold int64        // number of differences that what is believed of the job follows from
	settled     []difference // and the newest mostOwn of these
	asked       asked        // what the job was last asked about
	believed    *believed    // and what was believed of it, nil before
	answers     answers
}

// Bounds of the memory of Speeds.
const (
	mostOwn       = 8    // differences kept of a job
	mostCircles   = 1024 // circles with evidence, and as many with units
	mostMeasured  = 4096 // jobs with readings, and at most as many without
	mostBelieved  = 1024 // beliefs kept for later calls
	forgottenPart = 8    // one in so many is forgotten if there are too many
)

// jobsApart is how many times the variances in deviation two jobs differ that share nothing.
const jobsApart = 2.0

// within is the part of the variance between the jobs of a user (or model) that is within groups of recurring jobs.
const within = 0.2

// add adds a difference between readings of the job.
func (j *measured) add(d *difference) {
	if len(j.Differences) == mostOwn {
		j.Differences = append(j.Differences[:0], j.Differences[1:]...)
	}
	j.Differences = append(j.Differences, *d)
	j.Told++
	if lags(j.Told, j.settledTold) {
		j.settle()
	}
}

func (j *measured) settle() {
	j.settledTold, j.settled = j.Told, append(j.settled[:0], j.Differences...)
}

// job returns what is known of a job that somebody asks about. Jobs are told apart by name. Of a job of that name which differs
// in model, user or group nothing is known, and nothing is kept.
func (l *Speeds) job(spec *cluster.JobSpec) *measured {
	j := l.jobs[spec.Name]
	switch {
	case j == nil:
		l.makeRoom()
		j = newMeasured(spec)
		l.jobs[spec.Name] = j
	case !j.is(spec):
		j = newMeasured(spec)
	}
	if j.found != l.made {
		j.found = l.made
		for i, c := range j.circles {
			j.known[i] = l.circles[c]
		}
	}
	return j
}

// forReading returns what is known of a job that has a reading. A job of that name which differs in model, user or group was
// another one and is forgotten.
func (l *Speeds) forReading(spec *cluster.JobSpec) *measured {
	if j := l.jobs[spec.Name]; j != nil && !j.is(spec) {
		delete(l.jobs, spec.Name)
		l.doubt()
	}
	return l.job(spec)
}

func (j *measured) is(spec *cluster.JobSpec) bool {
	return j.identity == identity{spec.Model, spec.Owner(), spec.Group}
}

func newMeasured(spec *cluster.JobSpec) *measured {
	j := &measured{
		identity: identity{spec.Model, spec.Owner(), spec.Group}, readings: readings{Seen: -1}, found: -1,
		circles: make([]circle, 1, 3),
	}
	rest, job := jobsApart, 1.0
	add := func(c circle, weight float64) {
		if c.Name == "" || !names.OK(c.Name) {
			return
		}
		j.weights[len(j.circles)] = weight
		rest -= weight
		j.circles = append(j.circles, c)
	}
	if j.Model != "" {
		add(circle{ofModel, j.Model}, job)
	} else {
		add(circle{ofUser, j.User}, job)
	}
	add(circle{ofGroup, j.Group}, rest-within)
	j.weights[len(j.circles)] = rest
	j.kinds = make([]string, 1, 4)
	for i, c := range j.circles[1:] {
		j.kinds = append(j.kinds, j.kinds[i]+scopeNames[c.Scope]+":"+c.Name+"\x00")
	}
	j.kinds = append(j.kinds, j.kinds[len(j.kinds)-1]+"job:"+spec.Name)
	return j
}

// deepest returns the index in kinds of what is known best about a job: itself, or the narrowest circle with evidence.
func (j *measured) deepest() int {
	if len(j.Differences) > 0 {
		return len(j.circles)
	}
	for i := len(j.circles) - 1; i > 0; i-- {
		if j.known[i] != nil {
			return i
		}
	}
	return 0
}

// makeRoom makes room for another job. If there are as many as allowed, it forgets those from which nothing was learned: whether
// somebody asked about jobs has no effect on what is known of others.
func (l *Speeds) makeRoom() {
	if len(l.jobs) >= 2*mostMeasured {
		l.forgetUnread()
	}
}

// forgetOldest forgets the eighth of the jobs of which the last reading is oldest, if there are more than allowed from which
// something was learned.
func (l *Speeds) forgetOldest() {
	if len(l.jobs) <= mostMeasured {
		return
	}
	l.forgetUnread()
	if len(l.jobs) > mostMeasured {
		forget(l.jobs, func(j *measured) int64 { return j.Last }, cmp.Compare)
		l.doubt()
	}
}

func (l *Speeds) forgetUnread() {
	maps.DeleteFunc(l.jobs, func(_ string, j *measured) bool { return j.Last == 0 })
}

// forget deletes one entry in forgottenPart: those with the oldest last reading, and of equally old ones those with the least
// key.
func forget[K comparable, V any](all map[K]V, last func(V) int64, compare func(a, b K) int) {
	keys := slices.Collect(maps.Keys(all))
	slices.SortFunc(keys, func(a, b K) int { return cmp.Or(cmp.Compare(last(all[a]), last(all[b])), compare(a, b)) })
	for _, k := range keys[:len(keys)/forgottenPart] {
		delete(all, k)
	}
}
