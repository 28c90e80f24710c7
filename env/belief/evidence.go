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
	scope scope
	name  string // of the model, user or group
}

func compareCircles(a, b circle) int {
	return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.name, b.name))
}

// likelihood is what differences between readings say about the coefficients: a normal one with the given precision, whose
// maximum times the precision is pull.
type likelihood struct {
	count     int64 // of differences
	precision matrix
	pull      vector
}

// evidence is what the differences of a circle say. Beliefs follow from the part of it that is settled.
type evidence struct {
	likelihood
	settled likelihood
	last    int64 // the reading that came last, as Speeds.read counts them
}

// lags reports whether beliefs lag too far behind: whether there are more than 1.15 times as many differences as they follow
// from. Computing beliefs again for every difference would take much longer.
func lags(count, settled int64) bool { return float64(count) > 1.15*float64(settled) }

func (e *evidence) add(d *difference, variance float64) {
	e.likelihood.add(d, variance)
	if lags(e.count, e.settled.count) {
		e.settle()
	}
}

func (e *evidence) settle() { e.settled = e.likelihood }

func (e *likelihood) add(d *difference, variance float64) {
	e.count++
	scale := 1 / variance
	for i, v := range d.x {
		if v == 0 {
			continue
		}
		for j, w := range d.x {
			e.precision[i][j] += v * w * scale
		}
		e.pull[i] += v * d.y * scale
	}
}

// difference is a measured one between the logarithms of the throughput per worker of two configurations, or of one and the mean
// of several.
type difference struct {
	x        vector // the one configuration minus the other
	y        float64
	variance float64 // of the error of measurement
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
	count  int64
	x      vector
	y      float64
	excess float64 // sum of the squares by which readings were farther apart than any configuration explains
	last   int64
}

// variance returns that of a comparison of another first reading with the mean.
func (u *units) variance(count int64, excess float64) float64 {
	const sure = 2 // comparisons
	return readingVariance + unitVariance + excess/float64(sure+count-1)
}

// measured is what is known of one job.
type measured struct {
	model, user, group string
	circles            []circle     // from all jobs to those most like it; never empty
	weights            [4]float64   // by circle, and of the job itself: its part of the variances in deviation, jobsApart in all
	kinds              []string     // by circle, and of the job itself: see Kind
	known              [3]*evidence // by circle; nil if there is none
	found              int          // Speeds.made when known was filled
	last               int64        // the reading that came last, 0 for none
	seen               time.Duration
	count              int64 // of readings
	x                  vector
	y                  float64      // the mean of its readings
	told               int64        // number of differences so far
	differences        []difference // between its own readings, the newest mostOwn
	settledTold        int64        // number of differences that what is believed of the job follows from
	settled            []difference // and the newest mostOwn of these
	asked              asked        // what the job was last asked about
	believed           *believed    // and what was believed of it, nil before
	answers            answers
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
	if len(j.differences) == mostOwn {
		j.differences = append(j.differences[:0], j.differences[1:]...)
	}
	j.differences = append(j.differences, *d)
	j.told++
	if lags(j.told, j.settledTold) {
		j.settle()
	}
}

func (j *measured) settle() {
	j.settledTold, j.settled = j.told, append(j.settled[:0], j.differences...)
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
	return j.model == spec.Model && j.user == spec.Owner() && j.group == spec.Group
}

func newMeasured(spec *cluster.JobSpec) *measured {
	j := &measured{model: spec.Model, user: spec.Owner(), group: spec.Group, circles: make([]circle, 1, 3), seen: -1, found: -1}
	rest, job := jobsApart, 1.0
	add := func(c circle, weight float64) {
		if c.name == "" || !names.OK(c.name) {
			return
		}
		j.weights[len(j.circles)] = weight
		rest -= weight
		j.circles = append(j.circles, c)
	}
	if j.model != "" {
		add(circle{ofModel, j.model}, job)
	} else {
		add(circle{ofUser, j.user}, job)
	}
	add(circle{ofGroup, j.group}, rest-within)
	j.weights[len(j.circles)] = rest
	j.kinds = make([]string, 1, 4)
	for i, c := range j.circles[1:] {
		j.kinds = append(j.kinds, j.kinds[i]+scopeNames[c.scope]+":"+c.name+"\x00")
	}
	j.kinds = append(j.kinds, j.kinds[len(j.kinds)-1]+"job:"+spec.Name)
	return j
}

// deepest returns the index in kinds of what is known best about a job: itself, or the narrowest circle with evidence.
func (j *measured) deepest() int {
	if len(j.differences) > 0 {
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
		forget(l.jobs, func(j *measured) int64 { return j.last }, cmp.Compare)
		l.doubt()
	}
}

func (l *Speeds) forgetUnread() {
	maps.DeleteFunc(l.jobs, func(_ string, j *measured) bool { return j.last == 0 })
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
