package belief

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
)

// believed is what is believed of the coefficients of a kind of job with a request.
type believed struct {
	version       int
	taught        int64    // Speeds.taught when counts were compared last
	counts        [4]int64 // of the settled differences by circle, and of the job itself
	*coefficients          // never changed, so that copies share them
}

// coefficients are what is believed of the coefficients.
type coefficients struct {
	mean       vector  // sensible
	covariance matrix  // before they were made sensible
	apart      float64 // see measured.apart
}

// asked identifies what a belief depends on: the kind of job, and its request as far as the prior depends on it.
type asked struct {
	kind              string
	cpuMilli, workers int32
}

// key returns what the belief about the job depends on.
func (j *measured) key(spec *cluster.JobSpec) asked {
	return asked{j.kinds[j.deepest()], spec.Request.CPUMilli, spec.Workers}
}

// of returns what is believed of a job. It is computed again when more is settled of the job or of one of its circles.
func (l *Speeds) of(j *measured, spec *cluster.JobSpec) *believed {
	deepest, key := j.deepest(), j.key(spec)
	if b := j.believed; b != nil && b.taught == l.taught && j.asked == key {
		return b
	}
	b := l.beliefs[key]
	j.asked, j.believed = key, b
	if b != nil && b.taught == l.taught {
		return b
	}
	var counts [4]int64
	for i := range min(deepest+1, len(j.circles)) {
		if e := j.known[i]; e != nil {
			counts[i] = e.settled.Count
		}
	}
	if deepest == len(j.circles) {
		counts[deepest] = j.settledTold
	}
	if b != nil && counts == b.counts {
		b.taught = l.taught
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
	b.version, b.taught, b.counts = l.version, l.taught, counts
	l.infer(j, key, b)
	return b
}

// settle makes beliefs follow from all that was read.
func (l *Speeds) settle() {
	for _, e := range l.circles {
		e.settle()
	}
	for _, j := range l.jobs {
		j.settle()
	}
	l.doubt()
}

// doubt makes what is believed be computed again.
func (l *Speeds) doubt() {
	for _, b := range l.beliefs {
		b.taught = -1 // where a job still has it
	}
	clear(l.beliefs)
}

// infer computes the posterior of the coefficients from the widest circle to the job: what is believed of a circle, with the
// variance by which the next one differs from it, is the prior of the next.
func (l *Speeds) infer(j *measured, key asked, b *believed) {
	mean, sd := l.prior(key.cpuMilli, key.workers)
	b.coefficients = &coefficients{covariance: correlated(&sd)}
	v := &b.covariance
	so, widened := 0.0, 0.0
	for i, e := range j.known {
		if i < len(j.circles) {
			so += j.weights[i]
		}
		if e != nil { // widening once between two of them makes the belief the same for all jobs of the kind, to the last bit
			v.widen(so - widened)
			widened = so
			e.settled.update(&mean, v)
		}
	}
	v.widen(jobsApart - widened)
	for i := range j.settled {
		j.settled[i].update(&mean, v)
	}
	sensible(&mean, v)
	b.mean, b.apart = mean, j.apart()
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
func (e *likelihood) update(mean *vector, v *matrix) {
	var q matrix
	v.invert(&q)
	var pull vector
	for i := range q {
		pull[i] = e.Pull[i] + q[i].times(mean)
		for k := range q {
			q[i][k] += e.Precision[i][k]
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
		gain[i] = v[i].times(&d.X)
	}
	variance := d.X.times(&gain) + d.Variance
	miss := (d.Y - d.X.times(mean)) / variance
	for i, g := range gain {
		if g == 0 {
			continue
		}
		mean[i] += g * miss
		for k := range i + 1 {
			less := g * gain[k] / variance
			v[i][k] -= less
			if k < i {
				v[k][i] -= less
			}
		}
	}
}

// factor sets the lower triangle to the Cholesky factor of a symmetric matrix. It reports whether the matrix is positive
// definite.
func (m *matrix) factor() bool {
	for n := range m {
		if !(m[n][n] > 0) {
			return false
		}
		root := math.Sqrt(m[n][n])
		m[n][n] = root
		var column vector
		for i := n + 1; i < effects; i++ {
			m[i][n] /= root
			by := m[i][n]
			column[i] = by
			if by == 0 {
				continue
			}
			for k := n + 1; k <= i; k++ {
				m[i][k] -= by * column[k]
			}
		}
	}
	return true
}

// invert sets inverse to that of a positive definite matrix.
func (m *matrix) invert(inverse *matrix) {
	f, n := *m, m.coupled()
	if !f.factor() {
		panic("belief: a covariance or a precision is not positive definite")
	}
	var x matrix // solve F F' x = 1, all columns at a time; above the diagonal the forward solution is 0
	for i := range n {
		row := x[i][:i+1]
		row[i] = 1
		for k := range i {
			by := f[i][k]
			for c, v := range x[k][:k+1] {
				row[c] -= by * v
			}
		}
		for c := range row {
			row[c] /= f[i][i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		row := x[i][:n]
		for k := i + 1; k < n; k++ {
			by := f[k][i]
			for c, v := range x[k][:n] {
				row[c] -= by * v
			}
		}
		for c := range row {
			row[c] /= f[i][i]
		}
	}
	*inverse = matrix{}
	for i := range n {
		for c := range n {
			inverse[c][i] = x[i][c]
		}
	}
	for i := n; i < effects; i++ {
		inverse[i][i] = 1 / f[i][i] / f[i][i]
	}
}

// coupled returns a number of rows from which on the matrix is 0 off its diagonal: those of types of GPUs that no reading had.
func (m *matrix) coupled() int {
	for n := effects; n > 0; n-- {
		row := &m[n-1]
		for k := range n - 1 {
			if row[k] != 0 {
				return n
			}
		}
	}
	return 0
}
