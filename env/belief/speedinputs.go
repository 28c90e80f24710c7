package belief

import (
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// The inputs of a SpeedNetwork, in order. None of them names a job, a user, a model or a type of GPU, nor depends on the order in
// which types occurred, so that what the network learns on some clusters it can use on others.
var (
	// effectNames are the effects that do not depend on the types of GPUs.
	effectNames = []string{
		"cores 1", "cores 2", "cores 3", "cores 4", "cores 5", "cores 6", "cores 7", "cores 8", "memory", "share",
		"workers 1", "workers 2", "workers 3", "workers 4", "workers 5", "spread", "racks", "shared", "mixed types",
	}
	// contextInputs say what is believed of a kind of job: its coefficients, how sure that is, what each circle changed, and how
	// much was measured.
	contextInputs = slices.Concat(each("coefficient of "), each("sd of "), each("learned from all about "),
		each("learned from model or user about "), each("learned from group about "), each("learned from job about "), []string{
			"sd of types", "learned about types", "differences of all", "differences of model or user", "differences of group",
			"differences of job", "requested cores", "requested workers",
		})
	// pointInputs are about one of the measured differences between configurations of the job itself.
	pointInputs = slices.Concat(effectNames, []string{
		"types as published", "squares of types", "measured", "measured less mean", "measured less mean of group", "sd",
	})
)

// each returns the names of effects behind a prefix.
func each(prefix string) []string {
	var all []string
	for _, name := range effectNames {
		all = append(all, prefix+name)
	}
	return all
}

// Numbers of inputs of a SpeedNetwork, the number of points that it sees at most, and the number of coefficients that it
// corrects: one for each effect, and one for those of all types of GPUs together.
const (
	SpeedContext = 6*typesAt + 8
	SpeedPoint   = typesAt + 6
	SpeedPoints  = mostOwn
	SpeedEffects = typesAt + 1
	SpeedShifts  = cpuParts // of these, the number of those whose mean it corrects
)

// speedFactors is a number for each of these coefficients.
type speedFactors [SpeedEffects]float64

// SpeedInputs is what a SpeedNetwork gets about a job, and what its answer means for the difference between two configurations.
type SpeedInputs struct {
	Context [SpeedContext]float32
	Points  [SpeedPoints * SpeedPoint]float32 // a row for each point
	Count   int                               // of points
	// Mean and SD are what the regression says of the logarithm of the difference. If the coefficients of CPU move by z standard
	// deviations each, the mean moves by the sum of z times Shift standard deviations SD. If the logarithms of these standard
	// deviations grow by w each, that of SD grows by the sum of w times Share.
	Mean, SD float64
	Shift    [SpeedShifts]float32
	Share    [SpeedEffects]float32
}

// Inputs writes the inputs for the speed of a job in a configuration, whose mean and standard deviation Of returns. It returns
// false, and writes nothing, for a configuration that does not differ in any effect from what the job asked for, and for one in
// which a worker has less memory. The inputs are not normalised.
func (l *Speeds) Inputs(s *cluster.View, spec *cluster.JobSpec, c *cluster.Configuration, in *SpeedInputs) bool {
	if c.MemMiB < spec.Request.MemMiB {
		return false
	}
	x, mean, variance := l.relative(s, spec, c)
	return l.inputs(spec, &x, mean, variance+placedVariance*x[spreadAt], in)
}

// NextInputs writes the inputs for the next reading of a job in a configuration, compared with the mean of those before: base is
// the logarithm of that mean, which Next adds. It returns false, and writes nothing, if the job had no reading, or no other one.
func (l *Speeds) NextInputs(
	s *cluster.View, spec *cluster.JobSpec, c *cluster.Configuration, in *SpeedInputs,
) (base float64, ok bool) {
	j := l.job(spec)
	if j.count == 0 {
		return 0, false
	}
	x, mean, variance := l.next(s, j, c)
	return j.y + math.Log(float64(max(c.Workers, 1))), l.inputs(spec, &x, mean, variance, in)
}

func (l *Speeds) inputs(spec *cluster.JobSpec, x *vector, mean, variance float64, in *SpeedInputs) bool {
	if *x == (vector{}) {
		return false
	}
	in.Mean, in.SD = l.interval(spec, x, mean, variance)
	j := l.job(spec)
	b := l.of(j, spec)
	l.describe(j, b, spec.Request.CPUMilli, spec.Workers, in)
	in.Share = [SpeedEffects]float32{}
	for k := range in.Shift {
		i := cpuAt + k
		in.Shift[k] = float32(x[i] * math.Sqrt(max(b.covariance[i][i], 0)) / max(in.SD, 1e-3))
	}
	for i, v := range b.shares(x, in.SD*in.SD/math.Exp(2*l.width)) {
		in.Share[i] = float32(v)
	}
	return true
}

// describe writes the inputs about a job in the order of contextInputs and pointInputs.
func (l *Speeds) describe(j *measured, b *believed, cpuMilli, workers int32, in *SpeedInputs) {
	for i := range typesAt {
		in.Context[i] = float32(b.mean[i])
		in.Context[typesAt+i] = float32(math.Log(max(math.Sqrt(max(b.covariance[i][i], 0)), 1e-3)))
		for k := range b.by {
			after := &b.mean
			if k+1 < len(b.by) {
				after = &b.by[k+1]
			}
			in.Context[(2+k)*typesAt+i] = float32(after[i] - b.by[k][i])
		}
	}
	sd, learned := 0.0, 0.0
	for i := range l.types {
		sd += math.Sqrt(max(b.covariance[typesAt+i][typesAt+i], 0)) / float64(len(l.types))
		learned += (b.mean[typesAt+i] - b.by[0][typesAt+i]) / float64(len(l.types))
	}
	rest := in.Context[6*typesAt:]
	rest[0], rest[1] = float32(sd), float32(learned)
	for i, n := range b.counts {
		rest[2+i] = float32(math.Log1p(float64(n)))
	}
	rest[6] = float32(math.Log(max(float64(cpuMilli), 1) / 1000))
	rest[7] = float32(math.Log(max(float64(workers), 1)))
	in.Count = len(j.settled)
	for i := range j.settled {
		l.point(&j.settled[i], b, in.Points[i*SpeedPoint:])
	}
}

// point writes a measured difference in the order of pointInputs.
func (l *Speeds) point(d *difference, b *believed, row []float32) {
	for i, v := range d.x[:typesAt] {
		row[i] = float32(v)
	}
	published, squares := 0.0, 0.0
	for i, name := range l.types {
		if v := d.x[typesAt+i]; v != 0 {
			published += v * math.Log(typeSpeed(name).ratio)
			squares += v * v
		}
	}
	row[typesAt], row[typesAt+1] = float32(published), float32(squares)
	row[typesAt+2], row[typesAt+3] = float32(d.y), float32(d.y-d.x.times(&b.mean))
	row[typesAt+4] = float32(d.y - d.x.times(&b.by[len(b.by)-1]))
	row[typesAt+5] = float32(math.Sqrt(d.variance))
}

// shares returns which part of a variance, that of the difference, comes from the coefficients.
func (b *believed) shares(of *vector, variance float64) (all speedFactors) {
	if variance <= 0 {
		return all
	}
	sum, x := 0.0, narrow(of)
	for i, v := range x {
		if v != 0 {
			part := max(v*b.covariance[i].times(&x)/variance, 0)
			all[min(i, typesAt)] += part
			sum += part
		}
	}
	if sum > 1 { // some coefficients lessen the variance
		for i := range all {
			all[i] /= sum
		}
	}
	return all
}
