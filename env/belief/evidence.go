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

// evidence is what differences between readings say about the coefficients: a normal likelihood with the given precision, whose
// maximum times the precision is pull.
type evidence struct {
	count     int64 // of differences
	precision matrix
	pull      vector
	last      int64 // the reading that came last, as Speeds.read counts them
}

func (e *evidence) add(d *difference, variance float64) {
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
	weights            [4]float64   // by circle, and of the job itself: its part of the variances in deviation, twice in all
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
	asked              asked        // what the job was last asked about
	believed           *believed    // and what was believed of it, nil before
	answers            answers
}

// Bounds of the memory of Speeds.
const (
	mostOwn       = 8    // differences kept of a job
	mostCircles   = 1024 // circles with evidence, and as many with units
	mostMeasured  = 4096 // jobs
	mostBelieved  = 1024 // beliefs kept for later calls
	forgottenPart = 8    // one in so many is forgotten if there are too many
)

// within is the part of the variance between the jobs of a user (or model) that is within groups of recurring jobs.
const within = 0.2

// job returns what is known of a job. Jobs are told apart by name.
func (l *Speeds) job(spec *cluster.JobSpec) *measured {
	j := l.jobs[spec.Name]
	if j == nil || j.model != spec.Model || j.user != userOf(spec) || j.group != spec.Group {
		if j == nil {
			l.makeRoom()
		}
		j = newMeasured(spec.Name, spec.Model, userOf(spec), spec.Group)
		l.jobs[spec.Name] = j
	}
	if j.found != l.made {
		j.found = l.made
		for i, c := range j.circles {
			j.known[i] = l.circles[c]
		}
	}
	return j
}

func userOf(spec *cluster.JobSpec) string { return cmp.Or(spec.User, spec.Tenant) }

func newMeasured(name, model, user, group string) *measured {
	j := &measured{model: model, user: user, group: group, circles: make([]circle, 1, 3), seen: -1, found: -1}
	rest, job := 2.0, 1.0
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
	j.kinds = append(j.kinds, j.kinds[len(j.kinds)-1]+"job:"+name)
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

// makeRoom makes room for another job. If there are as many as allowed, it forgets the eighth of which the last reading is
// oldest.
func (l *Speeds) makeRoom() {
	if len(l.jobs) >= mostMeasured {
		forget(l.jobs, func(j *measured) int64 { return j.last }, cmp.Compare)
	}
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
