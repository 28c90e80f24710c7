package eval

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/stats"
)

// fairness measures finish-time fairness, rho: a job's completion time divided by the time that it would have taken with a fair
// share of the cluster (Themis, NSDI 2020). The latter is the job's isolated run time times the contention during its lifetime:
//
//	rho = JCT / (max(isolated run time, slowdownFloor) · n),  n = max(1, asked / open)
//
// where asked is the GPU-time that all jobs in the system asked for between the job's submission and its finish, and open is the
// GPU-time that training jobs could have used in that time. A job with rho above 1 would have done better with its fair share.
//
// The factor n follows the simulator of Shockwave (NSDI 2023), which uses max(1, mean number of jobs in the system / number of
// GPUs). Here n counts the GPUs that jobs ask for, because jobs ask for several GPUs or for a share of one, and only the GPUs
// that are open to training, because servers fail and are lent. The floor is an addition too: it is that of the bounded slowdown
// and keeps jobs of a second from dominating the tail. If no GPU was open in that time, a fair share would take forever, and rho
// is 0.
type fairness struct {
	asked, open sum // so far, in thousandths of a GPU
	began       []began
	rho         []float64 // of finished jobs, warm jobs excluded
	unfair      int       // number of jobs in rho with a value above 1
}

// began contains the sums at the time a job was submitted.
type began struct{ asked, open sum }

func (f *fairness) pass(d time.Duration, n *level) {
	f.asked.add(d, n.asked)
	f.open.add(d, n.open*cluster.WholeGPU)
}

func (f *fairness) submit(id cluster.JobID) { f.began[id] = began{f.asked, f.open} }

func (f *fairness) finish(r *Row) {
	jct, work := r.JCT(), max(r.Work, slowdownFloor)
	asked, open := f.asked.since(f.began[r.Job].asked), f.open.since(f.began[r.Job].open)
	n := 1.0
	if asked.compare(open) > 0 {
		n = asked.float() / open.float()
	}
	f.rho = append(f.rho, float64(jct)/(float64(work)*n))
	if jct > work && open.exceeds(jct, asked, work) {
		f.unfair++
	}
}

// result returns the 99th percentile of rho and the fraction of jobs with rho above 1; both are 0 if no job finished.
func (f *fairness) result() (p99, unfair float64) {
	if len(f.rho) == 0 {
		return 0, 0
	}
	return stats.QuantileSorted(ranked(f.rho, .99), .99), float64(f.unfair) / float64(len(f.rho))
}
