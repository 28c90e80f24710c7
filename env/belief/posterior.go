package belief

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
)

// believed is what is believed of the coefficients of a kind of job with a request.
type believed struct {
	version    int
	read       int64    // Speeds.read when counts were compared last
	counts     [4]int64 // of differences by circle, and of the job itself
	mean       vector   // sensible
	covariance matrix   // of the coefficients, before they were made sensible
}

// asked identifies what a belief depends on: the kind of job, and its request as far as the prior depends on it.
type asked struct {
	kind              string
	cpuMilli, workers int32
}

// of returns what is believed of a job. It is computed again when the number of differences in one of its circles has grown by
// more than 15 %.
func (l *Speeds) of(j *measured, spec *cluster.JobSpec) *believed {
	deepest := j.deepest()
	key := asked{j.kinds[deepest], spec.Request.CPUMilli, spec.Workers}
	if b := j.believed; b != nil && b.read == l.read && j.asked == key {
		return b
	}
	b := l.beliefs[key]
	j.asked, j.believed = key, b
	if b != nil && b.read == l.read {
		return b
	}
	var counts [4]int64
	for i := range min(deepest+1, len(j.circles)) {
		if e := j.known[i]; e != nil {
			counts[i] = e.count
		}
	}
	if deepest == len(j.circles) {
		counts[deepest] = j.told
	}
	if b != nil && !grown(&counts, &b.counts) {
		b.read = l.read
		return b
	}
	if b == nil {
		if len(l.beliefs) == mostBelieved {
			l.doubt()
		}
		b = new(believed)
		l.beliefs[key], j.believed = b, b
	}
	l.version++
	b.version, b.read, b.counts = l.version, l.read, counts
	l.infer(j, key, b)
	return b
}

// doubt makes what is believed be computed again.
func (l *Speeds) doubt() {
	for _, b := range l.beliefs {
		b.read = -1 // where a job still has it
	}
	clear(l.beliefs)
}

func grown(now, then *[4]int64) bool {
	for i := range now {
		if float64(now[i]) > 1.15*float64(then[i]) {
			return true
		}
	}
	return false
}

// infer computes the posterior of the coefficients from the widest circle to the job: what is believed of a circle, with the
// variance by which the next one differs from it, is the prior of the next.
func (l *Speeds) infer(j *measured, key asked, b *believed) {
	mean, sd := l.prior(key.cpuMilli, key.workers)
	b.covariance = correlated(&sd)
	v := &b.covariance
	for i, e := range j.known[:len(j.circles)] {
		v.widen(j.weights[i])
		if e != nil {
			e.update(&mean, v)
		}
	}
	v.widen(j.weights[len(j.circles)])
	for i := range j.differences {
		j.differences[i].update(&mean, v)
	}
	sensible(&mean, v)
	b.mean = mean
}

// widen adds the variances in deviation, times a weight.
func (m *matrix) widen(weight float64) {
	for i := range m {
		for k := range m {
			m[i][k] += weight * variation[i][k]
		}
	}
}

// update replaces a normal prior of the coefficients by their posterior.
func (e *evidence) update(mean *vector, v *matrix) {
	var q matrix
	v.invert(&q)
	var pull vector
	for i := range q {
		pull[i] = e.pull[i] + q[i].times(mean)
		for k := range q {
			q[i][k] += e.precision[i][k]
		}
	}
	q.invert(v)
	for i := range v {
		mean[i] = v[i].times(&pull)
	}
}

// update does the same for one difference.
func (d *difference) update(mean *vector, v *matrix) {
	var gain vector
	for i := range v {
		gain[i] = v[i].times(&d.x)
	}
	variance := d.x.times(&gain) + d.variance
	miss := (d.y - d.x.times(mean)) / variance
	for i := range v {
		mean[i] += gain[i] * miss
		for k := range v {
			v[i][k] -= gain[i] * gain[k] / variance
		}
	}
}

// factor sets the lower triangle to the Cholesky factor of a symmetric matrix. It reports whether the matrix is positive
// definite.
func (m *matrix) factor() bool {
	for i := range m {
		for k := range i + 1 {
			sum := m[i][k]
			for n := range k {
				sum -= m[i][n] * m[k][n]
			}
			switch {
			case k < i:
				m[i][k] = sum / m[k][k]
			case sum > 0:
				m[i][i] = math.Sqrt(sum)
			default:
				return false
			}
		}
	}
	return true
}

// invert sets inverse to that of a positive definite matrix.
func (m *matrix) invert(inverse *matrix) {
	f := *m
	if !f.factor() {
		panic("belief: a covariance or a precision is not positive definite")
	}
	for c := range f { // solve F F' x = the unit vector c; rows above c of the forward solution are 0
		var x vector
		for i := c; i < effects; i++ {
			sum := 0.0
			if i == c {
				sum = 1
			}
			for k := c; k < i; k++ {
				sum -= f[i][k] * x[k]
			}
			x[i] = sum / f[i][i]
		}
		for i := effects - 1; i >= 0; i-- {
			sum := x[i]
			for k := i + 1; k < effects; k++ {
				sum -= f[k][i] * x[k]
			}
			x[i] = sum / f[i][i]
		}
		inverse[c] = x
	}
}
