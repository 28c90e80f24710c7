package env

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

func feature(name, unit string, low, high float64) Feature { return Feature{name, unit, low, high} }

var serverFeatures = []Feature{
	feature("gpus", "of the largest server's", 0, 1),
	feature("free_gpus", "of its own", 0, 1),
	feature("free_cpu", "of its own", 0, 1),
	feature("free_mem", "of its own", 0, 1),
	feature("residents", "jobs a GPU", 0, 2),
	feature("next_end", "log time until a resident ends", 0, 1),
	feature("last_end", "log time until all residents end", 0, 1),
	feature("empty", "flag", 0, 1),
	feature("on_loan", "flag", 0, 1),
}

func observeServer(s *cluster.State, id cluster.ServerID, row []float32) {
	v := s.Server(id)
	if v.GPUs == 0 || !s.Open(id) {
		return
	}
	residents := s.Residents(id)
	next, last := time.Duration(math.MaxInt64), time.Duration(0)
	for _, job := range residents {
		if s.Spec(job).Estimate > 0 {
			end := max(s.ExpectedFinish(job)-s.Now(), 0)
			next, last = min(next, end), max(last, end)
		}
	}
	row[0] = float32(v.GPUs) / float32(s.MostGPUs())
	row[1] = float32(s.FreeGPUs(id)) / float32(v.GPUs)
	row[2] = ratio(s.FreeCPU(id), v.CPUMilli)
	row[3] = ratio(s.FreeMem(id), v.MemMiB)
	row[4] = min(float32(len(residents))/float32(v.GPUs), 2)
	if last > 0 {
		row[5], row[6] = logTime(next), logTime(last)
	}
	row[7] = flag(len(residents) == 0)
	row[8] = flag(s.OnLoan(id))
}

var jobFeatures = []Feature{
	feature("present", "flag", 0, 1),
	feature("remaining", "log time by the estimate", 0, 1),
	feature("estimated", "flag", 0, 1),
	feature("age", "log time since submission", 0, 1),
	feature("workers", "of the largest server's GPUs", 0, 2),
	feature("log_workers", "log2 / 10", 0, 1),
	feature("gpu_share", "GPUs a worker", 0, 1),
	feature("demand", "of the free GPUs", 0, 2),
	feature("service", "log of remaining time x GPUs", 0, 1),
	feature("attained", "log GPU-time held so far", 0, 1),
	feature("startable", "flag", 0, 1),
	feature("restarts", "starts so far / 4", 0, 1),
	feature("behind_head", "remaining against the first held job's, tanh of log ratio", -1, 1),
	feature("overstays", "remaining against the first held job's wait, tanh of log ratio", -1, 1),
}

func observeJob(s *cluster.State, id cluster.JobID, startable bool, h *head, row []float32) {
	spec := s.Spec(id)
	left, known := s.Remaining(id)
	gpus := spec.GPUs()
	row[0] = 1
	if known {
		row[1] = logTime(left)
		row[8] = logTime(time.Duration(float64(left) * gpus))
	}
	row[2] = flag(known)
	row[3] = logTime(s.Now() - spec.Submit)
	row[4] = min(float32(spec.Workers)/float32(s.MostGPUs()), 2)
	row[5] = float32(min(math.Log2(float64(spec.Workers))/10, 1))
	row[6] = float32(spec.Request.GPUMilli) / cluster.WholeGPU
	row[7] = float32(min(gpus/max(float64(s.FreeTotal()), 0.5), 2))
	row[9] = logTime(s.Attained(id))
	row[10] = flag(startable)
	row[11] = min(float32(s.Starts(id))/4, 1)
	if h.there && known {
		row[12], row[13] = against(left, h.left), against(left, h.wait)
	}
}

var itemFeatures = []Feature{
	feature("legal", "flag", 0, 1),
	feature("takes", "of the gang", 0, 1),
	feature("leaves", "free GPUs left, of the server's", 0, 1),
	feature("fills", "flag: no free GPU left", 0, 1),
	feature("outlasts", "job's end against the residents', tanh of log ratio", -1, 1),
}

// observeItem fills the row of a server that takes fits workers of a job, each holding a; end is the job's logTime.
func observeItem(s *cluster.State, id cluster.ServerID, workers, fits int32, a cluster.Amount, end float32, known bool,
	server, row []float32,
) {
	n := min(workers, fits)
	row[0] = 1
	row[1] = float32(n) / float32(workers)
	if a.GPUMilli == cluster.WholeGPU {
		free := s.FreeGPUs(id) - n
		row[2] = float32(free) / float32(s.Server(id).GPUs)
		row[3] = flag(free == 0)
	} else {
		row[2] = server[1]
	}
	if known && server[7] == 0 {
		// A difference of logs, scaled so that a factor of e counts a half: tanh saturates beyond a factor of about 100.
		row[4] = tanh((end - server[6]) * logTimeSpan / 2)
	}
}

// tanh is a rational approximation within 0.03 of the hyperbolic tangent, monotone and exactly -1 and 1 beyond 3.
func tanh(x float32) float32 {
	x = min(max(x, -3), 3)
	return min(max(x*(27+x*x)/(27+9*x*x), -1), 1) // rounding may exceed 1
}

var globalFeatures = []Feature{
	feature("busy", "GPUs in use, of all", 0, 1),
	feature("queue", "log10 of waiting jobs / 4", 0, 1),
	feature("backlog", "log10 of GPUs waited for per GPU of the cluster, shifted", 0, 1),
	feature("ready", "startable jobs, of the window", 0, 1),
	feature("largest_hole", "free GPUs of the emptiest server, of the largest server's", 0, 1),
	feature("largest_wait", "workers of the largest job shown, of the largest server's GPUs", 0, 2),
	feature("head", "flag: a job is held back", 0, 1),
	feature("head_wait", "log time until the first held job could start", 0, 1),
	feature("head_lacks", "GPUs that the first held job lacks, of those it needs", 0, 1),
	feature("day_sin", "time of day", -1, 1),
	feature("day_cos", "time of day", -1, 1),
}

func observeGlobal(s *cluster.State, ready int, h *head, window []cluster.JobID, row []float32) {
	total, hole := int64(0), int32(0)
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.Open(id) {
			total += int64(s.Server(id).GPUs)
			hole = max(hole, s.FreeGPUs(id))
		}
	}
	backlog, largest := 0.0, int32(0)
	for _, id := range s.Pending() {
		backlog += s.Spec(id).GPUs()
	}
	for _, id := range window {
		if id >= 0 {
			largest = max(largest, s.Spec(id).Workers)
		}
	}
	most := float32(max(s.MostGPUs(), 1))
	if total > 0 {
		row[0] = float32(total-s.FreeTotal()) / float32(total)
		row[2] = float32(min(math.Log10(1+10*backlog/float64(total))/3, 1))
	}
	row[1] = float32(min(math.Log10(1+float64(len(s.Pending())))/4, 1))
	row[3] = float32(ready) / float32(len(window))
	row[4] = float32(hole) / most
	row[5] = min(float32(largest)/most, 2)
	sin, cos := math.Sincos(2 * math.Pi * float64(s.Now()%day) / float64(day))
	if h.there {
		row[6], row[7], row[8] = 1, logTime(h.wait), h.lacks
	}
	row[9], row[10] = float32(sin), float32(cos)
}

const day = 24 * time.Hour

func ratio(free, all int64) float32 {
	if all == 0 {
		return 0
	}
	return float32(float64(free) / float64(all))
}

func flag(b bool) float32 {
	if b {
		return 1
	}
	return 0
}
