package predict

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// The levels are the sets of earlier jobs that the forest compares a job with, the narrowest first. For the runs of a recurring
// job the sets contain logarithms of iterations. For the other levels, whose jobs train different models, they contain
// logarithms of run times alone on the cluster.
const (
	ofKey = iota // the runs of the recurring job
	ofUserSize
	ofUserModel
	ofUser
	ofTenant
	ofModel
	ofSize
	ofAll
	levels
)

// levelKey identifies one set of a level. Only the fields that its level uses are set.
type levelKey struct {
	Level int    `predictor:"level,need,0..7"`
	Key   Key    `predictor:"key"`
	User  string `predictor:"user,text"`
	Name  string `predictor:"name,text"`
	Size  int64  `predictor:"gpu_milli"`
}

// levelOf returns the set of a level that a job belongs to. ok is false if the job lacks the fields that the level uses.
func levelOf(level int, s *cluster.JobSpec) (k levelKey, ok bool) {
	k.Level = level
	switch level {
	case ofKey:
		k.Key = KeyOf(s)
		return k, k.Key != Key{}
	case ofUserSize:
		k.User, k.Size = s.User, s.GPUMilli()
		return k, s.User != ""
	case ofUserModel:
		k.User, k.Name = s.User, s.Model
		return k, s.User != "" && s.Model != ""
	case ofUser:
		k.User = s.User
		return k, s.User != ""
	case ofTenant:
		k.Name = s.Tenant
		return k, s.Tenant != ""
	case ofModel:
		k.Name = s.Model
		return k, s.Model != ""
	case ofSize:
		k.Size = s.GPUMilli()
	}
	return k, true
}

// level is what the predictor knows of a set of jobs.
type level struct {
	runs     // the latest logarithms
	Jobs int `predictor:"jobs,need,0..mostCount"`
}

// A row of features consists of: the logarithm of the run time that the group median or a cold start predicts; the logarithm of
// the time of an iteration; the job's GPUs, workers, request and roles; and for each level the number of jobs so far and the
// median, mean, last, mean of the last three and deviation of its latest logarithms. A level without jobs uses the first feature
// in place of its logarithms.
const (
	jobFeatures   = 8
	levelFeatures = 6
	features      = jobFeatures + levels*levelFeatures
)

// row computes the features of a job at present and appends them to dst.
func (f *forestState) row(dst []float32, s *cluster.JobSpec) []float32 {
	pace := math.Log(physics.IterationSeconds(s))
	guess := math.Log(f.past.guess(s)) + pace
	dst = append(dst, float32(guess), float32(pace), float32(s.GPUMilli()), float32(s.Workers), float32(s.Request.CPUMilli),
		float32(s.Request.MemMiB), float32(max(s.Stages, 1)), float32(max(s.Tensor, 1)))
	for l := range levels {
		k, ok := levelOf(l, s)
		known := f.levels[k]
		if !ok || known == nil {
			dst = append(dst, 0, float32(guess), float32(guess), float32(guess), float32(guess), 0)
			continue
		}
		own := 0.0
		if l == ofKey {
			own = pace
		}
		mean := known.mean()
		squares := 0.0
		for _, x := range known.sorted {
			squares += (x - mean) * (x - mean)
		}
		dst = append(dst, float32(math.Log1p(float64(known.Jobs))), float32(known.median()+own), float32(mean+own),
			float32(known.last(1)+own), float32(known.last(3)+own), float32(math.Sqrt(squares/float64(known.runs.count()))))
	}
	return dst
}

// learn adds the run time of a job that has ended to its levels.
func (f *forestState) learn(s *cluster.JobSpec, iterations float64, keep int) {
	log, pace := math.Log(iterations), math.Log(physics.IterationSeconds(s))
	for l := range levels {
		k, ok := levelOf(l, s)
		if !ok {
			continue
		}
		known := valueOf(f.levels, k)
		x := log + pace
		if l == ofKey {
			x = log
		}
		known.add(x, keep)
		known.Jobs = more(known.Jobs)
	}
}

// mostCount is the largest count, so that a count read from a file cannot overflow.
const mostCount = 1 << 53

// more returns n+1, at most mostCount.
func more(n int) int { return min(n+1, mostCount) }
