// Package toy draws a workload whose best schedule is known: when to wait and when to start. It is for demonstrations and for
// checks of learners, and models no real cluster.
package toy

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/clustergym/clustergym/internal/rng"
)

// Episode is one episode of three jobs on two servers with one GPU each. The first job holds a GPU. A minute later a gang that
// needs both GPUs and a single worker arrive together. The single worker can start at once and delay the gang, or wait for it.
type Episode struct{ First, Gang, Single time.Duration }

// Later is when the gang and the single worker arrive.
const Later = time.Minute

// Restart is how long a job that was stopped holds its GPUs without progress: so long that stopping a job never pays, as no run
// time of First is above Longest.
const (
	Restart = 2 * time.Hour
	Longest = time.Hour
)

// gap is the time from the beginning of one episode to that of the next. No episode takes as long.
const gap = 24 * time.Hour

// Draw returns episodes with run times that are spread evenly over orders of magnitude.
func Draw(seed uint64, n int) []Episode {
	r := rng.Stream(seed, "toy", "wait or start")
	all := make([]Episode, n)
	for i := range all {
		all[i] = Episode{First: between(r, 2*time.Minute, Longest), Gang: between(r, 5*time.Minute, time.Hour),
			Single: between(r, 10*time.Minute, 3*time.Hour)}
	}
	return all
}

// between draws a time in whole seconds whose logarithm is uniform.
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	x := math.Log(float64(low)) + r.Float64()*math.Log(float64(high)/float64(low))
	return time.Duration(math.Exp(x)).Round(time.Second)
}

// Start returns the mean completion time if the single worker starts at once.
func (e *Episode) Start() time.Duration {
	single := Later + e.Single
	return (e.First + single + max(e.First, single) + e.Gang - 2*Later) / 3
}

// Wait returns the mean completion time if the single worker waits for the gang.
func (e *Episode) Wait() time.Duration {
	gang := e.First + e.Gang
	return (e.First + gang + gang + e.Single - 2*Later) / 3
}

// Best returns the lowest mean completion time of any schedule: nothing else can be decided, as a restart takes so long.
func (e *Episode) Best() time.Duration { return min(e.Start(), e.Wait()) }

// WriteCSV writes the jobs of the episodes, three each, as a trace in the native format.
func WriteCSV(w io.Writer, all []Episode) error {
	if _, err := fmt.Fprintln(w, "job_id,num_gpu,submit_time,duration"); err != nil {
		return fmt.Errorf("write jobs: %w", err)
	}
	for i := range all {
		e, begin := &all[i], time.Duration(i)*gap
		for k, j := range []struct {
			gpus         int
			submit, work time.Duration
		}{{1, 0, e.First}, {2, Later, e.Gang}, {1, Later, e.Single}} {
			_, err := fmt.Fprintf(w, "%d,%d,%d,%d\n", 3*i+k, j.gpus, int((begin + j.submit).Seconds()), int(j.work.Seconds()))
			if err != nil {
				return fmt.Errorf("write jobs: %w", err)
			}
		}
	}
	return nil
}
