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

// Workload contains the jobs of one trace, window or generator run.
//
// The jobs are in id order: numeric order if every id is an integer of at most 64 bits, otherwise the order of the file. A job's
// cluster.JobID is its index in Jobs, so ties in time are decided by id. Jobs need not be sorted by Submit; see Arrivals.
type Workload struct {
	Name   string // the file's base name without extensions, or the generator's Params.Name
	Jobs   []Job
	Report Report
}

// Report counts the rows of a trace by what became of them: Rows = Jobs + the rows of Left + Bad. Window counts the clamped jobs.
type Report struct {
	Format         Format   // format read, "" for a generated workload
	Rows           int      // data rows, without the header and blank lines
	Jobs           int      // rows that became jobs
	Left           Counts   // skipped rows by why they are no jobs, such as "ask for no GPU"
	Notes          Counts   // what the reader took for granted, with the number of rows; 0 if it holds for the whole file
	Bad            int      // rows that could not be read and were skipped because of Options.SkipBadRows
	BadExamples    []string // errors of the first few bad rows
	ClampedWork    int      // jobs whose Work was reduced to WindowSpec.MaxDuration
	ClampedWorkers int      // jobs whose gang was reduced to WindowSpec.MaxGPUs
}

// CPUOnly returns the number of skipped rows that ask for no GPU.
func (r *Report) CPUOnly() int { return r.Left.of(string(isCPUOnly)) }

// NeverScheduled returns the number of skipped rows of jobs that never ran.
func (r *Report) NeverScheduled() int { return r.Left.of(string(isNeverScheduled)) }

// Unusual returns the report without the rows that ask for no GPU or were never scheduled.
func (r *Report) Unusual() Report {
	own := *r
	own.Left = slices.DeleteFunc(slices.Clone(r.Left), func(c Count) bool {
		return c.What == string(isCPUOnly) || c.What == string(isNeverScheduled)
	})
	return own
}

// Read reads a whole trace. Submit counts from the trace's time 0, or, if the trace has dates (philly-pass), from the first
// submit among its jobs. Read returns the errors of Open and Reader.jobs, and an error that wraps ErrNoJob if the trace has no
// job.
func Read(path string, opt Options) (Workload, error) {
	r, err := Open(path, opt)
	if err != nil {
		return Workload{}, err
	}
	defer r.Close()
	return r.Workload()
}

// Workload reads the rest of the trace; see Read.
func (r *Reader) Workload() (Workload, error) {
	var parts [][]Job // not one list that grows: copies of a long one would take more memory than the simulation
	for j, err := range r.jobs() {
		if err != nil {
			return Workload{}, err
		}
		last := len(parts) - 1
		if last < 0 || len(parts[last]) == cap(parts[last]) {
			parts, last = append(parts, make([]Job, 0, min(max(64, 2*r.report.Rows), 1<<15))), last+1
		}
		parts[last] = append(parts[last], j)
	}
	jobs := slices.Concat(parts...)
	if len(jobs) == 0 {
		return Workload{}, r.noJob()
	}
	if r.noteForms() || r.layout.format == PhillyPass || r.layout.format == Sacct {
		rebase(jobs)
	}
	return Workload{Name: baseName(r.name), Jobs: rankByID(jobs), Report: r.Report()}, nil
}

// ErrNoJob is wrapped by errors about a trace without any job. All statistics of such a trace would be meaningless.
var ErrNoJob = errors.New("no job")

func (r *Reader) noJob() error {
	rep := r.report
	if rep.Rows == 0 {
		return fmt.Errorf("%s: %w: no row after the header", r.name, ErrNoJob)
	}
	parts := make([]string, 0, len(rep.Left)+1)
	for _, c := range rep.Left {
		parts = append(parts, fmt.Sprintf("%d %s", c.Rows, c.What))
	}
	if rep.Bad > 0 {
		parts = append(parts, fmt.Sprintf("%d cannot be read, such as %s", rep.Bad, rep.BadExamples[0]))
	}
	hint := ""
	if r.layout.format == Sacct && rep.Left.of(string(isCPUOnly)) > 0 {
		hint = "; sacct names GPUs only where AccountingStorageTRES of slurm.conf has gres/gpu"
	}
	return fmt.Errorf("%s: %w: %d rows, of which %s%s", r.name, ErrNoJob, rep.Rows, strings.Join(parts, ", "), hint)
}

// Arrivals returns the indices of w.Jobs in the order of arrival: by Submit, ties by index.
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

// Ends returns the indices of w.Jobs in the order in which the jobs end if none waits: by Submit + Work, ties by index.
func (w Workload) Ends() []int32 {
	order := make([]int32, len(w.Jobs))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(w.Jobs[a].Submit+w.Jobs[a].Work, w.Jobs[b].Submit+w.Jobs[b].Work)
	})
	return order
}

// First returns the earliest submit time, 0 without jobs.
func (w Workload) First() time.Duration { return firstSubmit(w.Jobs) }

// Span returns the time from the first submit to the last, 0 for fewer than two jobs.
func (w Workload) Span() time.Duration { return span(w.Jobs) }

// Rescale returns the workload with the times since its first submit stretched by one factor, so that the offered load on a
// cluster with the given number of GPUs (GPU-time asked for, divided by Span x gpus) equals load. Work does not change. Daily
// cycles are stretched, too.
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
		w.Jobs[i].SubmitAt(first + time.Duration(float64(w.Jobs[i].Submit-first)*factor))
	}
	return w, nil
}

// Thin returns the workload with each job kept with probability keep, which lowers the load without stretching time. Whether Thin
// keeps a job depends only on the job's name and the seed, and a job that is kept stays kept with a larger keep. Submit times do
// not change; Window shifts them. Report.Jobs is the number of remaining jobs.
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

// uniform returns a pseudo-random number in [0, 1) that depends only on the seed, the parameter what (the property) and the
// parameter whose (the job or group).
func uniform(seed uint64, what, whose string) float64 {
	return float64(rng.Derive(seed, "trace", what, whose)>>11) / (1 << 53)
}

// rankByID sorts jobs by numeric id if every id is an integer, and otherwise returns them unchanged.
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

// rebase shifts the submit times, in place, so that the first is 0.
func rebase(jobs []Job) {
	first := firstSubmit(jobs)
	for i := range jobs {
		jobs[i].SubmitAt(jobs[i].Submit - first)
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

// baseName returns the base name of a path without the extensions .gz and .csv.
func baseName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".csv")
}
