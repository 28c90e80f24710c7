package trace

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/rng"
)

// Workload is the jobs of one trace, window or generator run.
//
// Jobs stand in order of id rank: numeric order where every id is an integer (of at most 64 bits), else the order of the
// file. A job's cluster.JobID is its index in Jobs, so ties in time break by id. Jobs need not be sorted by Submit: see
// Arrivals.
type Workload struct {
	Name   string // the file's base name without extensions, or what the generator was told
	Jobs   []Job
	Report Report
}

// Report counts what became of the rows of a trace: Rows = Jobs + CPUOnly + NeverScheduled + Bad. The clamp counts are those
// of Window.
type Report struct {
	Format         Format   // format read, "" for a generated workload
	Rows           int      // data rows, without the header and blank lines
	Jobs           int      // rows that became jobs
	CPUOnly        int      // rows that ask for no GPU, set aside
	NeverScheduled int      // rows that never ran (openb: no scheduled_time), set aside
	Bad            int      // rows that could not be read, skipped under Options.SkipBadRows
	BadExamples    []string // errors of the first few bad rows
	ClampedWork    int      // jobs cut to WindowSpec.MaxDuration
	ClampedWorkers int      // jobs cut to WindowSpec.MaxGPUs
}

// Read reads a whole trace. Submit counts from the trace's own zero; where the trace has dates (philly-pass), from the first
// submit among its jobs. Errors are those of Open and Reader.jobs; a trace without a job is one that wraps ErrNoJob.
func Read(path string, opt Options) (Workload, error) {
	r, err := Open(path, opt)
	if err != nil {
		return Workload{}, err
	}
	defer r.Close()
	return r.Workload()
}

// Workload reads all that is left of the trace: see Read.
func (r *Reader) Workload() (Workload, error) {
	var jobs []Job
	for j, err := range r.jobs() {
		if err != nil {
			return Workload{}, err
		}
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return Workload{}, r.noJob()
	}
	if r.format == PhillyPass {
		rebase(jobs)
	}
	return Workload{Name: baseName(r.name), Jobs: rankByID(jobs), Report: r.Report()}, nil
}

// ErrNoJob is wrapped where a trace has no job at all: whatever was said of its jobs would be true, and mean nothing.
var ErrNoJob = errors.New("no job")

func (r *Reader) noJob() error {
	rep := r.report
	if rep.Rows == 0 {
		return fmt.Errorf("%s: %w: no row after the header", r.name, ErrNoJob)
	}
	unread := ""
	if rep.Bad > 0 {
		unread = ", such as " + rep.BadExamples[0]
	}
	return fmt.Errorf("%s: %w: %d rows, of which %d ask for no GPU, %d were never scheduled, %d cannot be read%s", r.name,
		ErrNoJob, rep.Rows, rep.CPUOnly, rep.NeverScheduled, rep.Bad, unread)
}

// Arrivals returns the indices of w.Jobs in the order in which the jobs arrive: by Submit, ties by index.
func (w Workload) Arrivals() []int32 {
	order := make([]int32, len(w.Jobs))
	sorted := true
	for i := range order {
		order[i] = int32(i)
		sorted = sorted && (i == 0 || w.Jobs[i-1].Submit <= w.Jobs[i].Submit)
	}
	if !sorted {
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(w.Jobs[a].Submit, w.Jobs[b].Submit) })
	}
	return order
}

// First is the earliest submit, 0 without jobs.
func (w Workload) First() time.Duration { return firstSubmit(w.Jobs) }

// Span is the time from the first submit to the last, 0 for fewer than two jobs.
func (w Workload) Span() time.Duration { return span(w.Jobs) }

// Rescale returns the workload with its submit times stretched about the first, so that the offered load on a cluster of
// that many GPUs (GPU-time asked for over Span x gpus) is load. Work is untouched; daily cycles stretch too.
func (w Workload) Rescale(load float64, gpus int) (Workload, error) {
	have := Describe(w.Jobs).Load(gpus)
	if !(load > 0) || !(have > 0) || have > 1e12 {
		return Workload{}, fmt.Errorf("rescale %s to load %v on %d GPUs: its load is %v, want both above 0",
			w.Name, load, gpus, have)
	}
	factor := have / load
	first := firstSubmit(w.Jobs)
	if float64(w.Span())*factor > float64(maxTime-first) {
		return Workload{}, fmt.Errorf("rescale %s to load %v on %d GPUs: would last %.3g times as long, past %v",
			w.Name, load, gpus, factor, maxTime)
	}
	w.Jobs = slices.Clone(w.Jobs)
	for i := range w.Jobs {
		w.Jobs[i].Submit = first + time.Duration(float64(w.Jobs[i].Submit-first)*factor)
	}
	return w, nil
}

// Thin returns the workload with each job kept with probability keep, which lowers the load without stretching time.
// Whether a job stays depends on its name and the seed alone, and one that stays under some keep stays under every larger
// one. Submit times are as they were: see Window. Report.Jobs counts what is left.
func Thin(w Workload, keep float64, seed uint64) Workload {
	var jobs []Job
	for i := range w.Jobs {
		if uniform(seed, "thin", w.Jobs[i].Name) < keep {
			jobs = append(jobs, w.Jobs[i])
		}
	}
	w.Jobs, w.Report.Jobs = jobs, len(jobs)
	return w
}

// uniform draws a number in [0, 1) that the seed, what is drawn and whose it is decide alone.
func uniform(seed uint64, what, whose string) float64 {
	return float64(rng.Derive(seed, "trace", what, whose)>>11) / (1 << 53)
}

// rankByID sorts jobs in place by numeric id if every id is an integer, and leaves them be if not.
func rankByID(jobs []Job) []Job {
	ids := make([]int64, len(jobs))
	sorted := true
	for i := range jobs {
		id, err := strconv.ParseInt(jobs[i].Name, 10, 64)
		if err != nil {
			return jobs
		}
		ids[i] = id
		sorted = sorted && (i == 0 || ids[i-1] <= id)
	}
	if sorted {
		return jobs
	}
	order := make([]int32, len(jobs))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(ids[a], ids[b]) })
	ranked := make([]Job, len(jobs))
	for i, k := range order {
		ranked[i] = jobs[k]
	}
	return ranked
}

// rebase moves the first submit to 0, in place.
func rebase(jobs []Job) {
	first := firstSubmit(jobs)
	for i := range jobs {
		jobs[i].Submit -= first
	}
}

func firstSubmit(jobs []Job) time.Duration {
	if len(jobs) == 0 {
		return 0
	}
	first := jobs[0].Submit
	for i := range jobs {
		first = min(first, jobs[i].Submit)
	}
	return first
}

func span(jobs []Job) time.Duration {
	var last time.Duration
	for i := range jobs {
		last = max(last, jobs[i].Submit)
	}
	return max(0, last-firstSubmit(jobs))
}

// baseName strips the folder and the extensions .gz and .csv.
func baseName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".csv")
}
