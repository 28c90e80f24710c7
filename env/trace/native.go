package trace

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
)

// parseNative reads a row of the project's own format, which docs/traces.md defines.
func parseNative(r *Reader, row *row) (Job, verdict, error) {
	var j Job
	why := r.when(row, &j)
	j.Name = row.id("job_id")
	j.User, j.Tenant = row.text("user"), row.text("tenant")
	if isMissing(row.get("num_gpu")) {
		return j, hasNoSize, nil
	}
	j.Workers = row.number("num_gpu", 0, maxWorkers)
	j.Request.GPUMilli = cluster.WholeGPU
	if !isMissing(row.get("gpu_milli")) {
		j.Request.GPUMilli = row.number("gpu_milli", 1, cluster.WholeGPU)
	}
	j.Request.CPUMilli, j.Request.MemMiB = row.optional("cpu_milli", 0, maxMilli), row.optional("mem_mib", 0, maxMilli)
	status, unended, ok := parseState(row.get("status"))
	if !ok {
		row.bad("status", row.get("status"), "passed, failed, killed, unknown or nothing")
	}
	j.Status = status
	parseNature(&j, row)
	r.due(row, &j)
	switch {
	case j.Workers == 0:
		return j, isCPUOnly, nil
	case unended != isJob:
		return j, unended, nil
	case why != isJob:
		return j, why, nil
	}
	checkRoles(&j, row)
	return j, isJob, nil
}

// when reads the submit time and the duration of a native row. The duration may be the difference of two times. If one of them
// is missing, or the job ran for no time, when returns why the row is no job.
func (r *Reader) when(row *row, j *Job) (why verdict) {
	submit, known := r.instant(row, "submit_time")
	j.Submit = submit
	switch {
	case !slices.Contains(row.header, spanEnd):
		j.Work, why = row.lasted("duration")
	case isMissing(row.get(spanStart)):
		why = hasNoStart
	case isMissing(row.get(spanEnd)):
		why = hasNoEnd
	default:
		if j.Work, _ = r.span(row, spanStart, spanEnd); j.Work == 0 {
			why = ranForNoTime
		}
	}
	if !known {
		why = hasNoSubmit
	}
	return why
}

// Priorities that a file may have: those of Kubernetes.
const leastPriority, mostPriority = -1_000_000_000, 2_000_000_000

// due reads when a job should have ended, as a time of the form of submit times, and how much it matters. Both may be missing.
func (r *Reader) due(row *row, j *Job) {
	if s := row.get("priority"); !isMissing(s) {
		n, err := strconv.ParseInt(plain(s), 10, 32)
		if j.Priority = int32(n); err != nil || n < leastPriority || n > mostPriority {
			row.bad("priority", s, fmt.Sprintf("a whole number from %d to %d", leastPriority, mostPriority))
		}
	}
	at, known := r.instant(row, "deadline")
	if !known || row.err != nil || isMissing(row.get("submit_time")) {
		return
	}
	submit, due := r.clocks["submit_time"], r.clocks["deadline"]
	switch {
	case submit.form != due.form:
		row.bad("deadline", row.get("deadline"), fmt.Sprintf("the form of the submit time %s: this is %v, and that is %v",
			shorten(row.get("submit_time")), due.form, submit.form))
	case at <= j.Submit:
		row.bad("deadline", row.get("deadline"), "later than the submit time "+shorten(row.get("submit_time")))
	}
	j.Deadline = at
}

// parseNature reads the columns that describe a job beyond its size.
func parseNature(j *Job, row *row) {
	j.MinWorkers = row.optional("min_workers", 1, maxWorkers)
	j.MaxWorkers = row.optional("max_workers", 1, maxWorkers)
	j.Model, j.Group = row.text("model"), row.text("group")
	j.Stages = row.optional("stages", 1, maxWorkers)
	j.Tensor = row.optional("tensor", 1, maxWorkers)
	j.GPUType = row.text("gpu_type")
	if !isTypes(j.GPUType) {
		row.bad("gpu_type", j.GPUType, "GPU types separated by '|', none empty or twice")
	}
	switch s := row.get("mixed"); strings.ToLower(s) {
	case "", "false":
	case "true":
		j.Mixed = true
	default:
		row.bad("mixed", s, "true, false or nothing")
	}
	j.Request.GPUMemMiB = row.optional("gpu_mem_mib", 0, maxMilli)
}

// checkRoles checks that the columns of a gang are consistent with each other.
func checkRoles(j *Job, row *row) {
	gang := strconv.Itoa(int(j.Workers))
	switch {
	case j.Least() > j.Workers:
		row.bad("min_workers", row.get("min_workers"), "at most the "+gang+" of num_gpu")
	case j.Most() < j.Workers:
		row.bad("max_workers", row.get("max_workers"), "at least the "+gang+" of num_gpu")
	case int64(j.Workers)%roles(j) != 0:
		column := "stages"
		if j.Tensor > 1 {
			column = "tensor"
		}
		row.bad(column, row.get(column), "stages times tensor to divide the "+gang+" of num_gpu")
	case roles(j) > 1 && j.Least() != j.Workers:
		row.bad("min_workers", row.get("min_workers"), "a rigid gang where stages or tensor is above 1")
	case roles(j) > 1 && j.Most() != j.Workers:
		row.bad("max_workers", row.get("max_workers"), "a rigid gang where stages or tensor is above 1")
	}
}

// roles returns the number of different roles among the workers of a gang, 1 for pure data parallelism.
func roles(j *Job) int64 { return int64(max(j.Stages, 1)) * int64(max(j.Tensor, 1)) }

// isTypes reports whether s is a list of GPU types as in a JobSpec, each type once.
func isTypes(s string) bool {
	if s == "" {
		return true
	}
	types := strings.Split(s, "|")
	for i, t := range types {
		if t == "" || slices.Contains(types[:i], t) {
			return false
		}
	}
	return true
}

// nativeHeader is the header of the files of WriteNative.
const nativeHeader = "job_id,num_gpu,submit_time,duration,user,tenant,gpu_milli,cpu_milli,mem_mib,status," +
	"min_workers,max_workers,model,group,stages,tensor,gpu_type,mixed,gpu_mem_mib"

// WriteNative writes jobs in the native format, one row each in the given order, with all columns; those of deadlines and
// priorities only if a job has one. Reading the file gives the
// same jobs, without estimates. WriteNative returns an error if the format cannot represent a job (an id that is empty, not
// printable or not unique, or a time out of range); w then contains an incomplete trace.
func WriteNative(w io.Writer, jobs []Job) error {
	out := bufio.NewWriter(w)
	out.WriteString(nativeHeader)
	due := slices.ContainsFunc(jobs, func(j Job) bool { return j.Deadline != 0 || j.Priority != 0 })
	if due {
		out.WriteString(",deadline,priority")
	}
	out.WriteString("\n")
	seen := make(map[string]struct{}, len(jobs))
	var line []byte
	for i := range jobs {
		j := &jobs[i]
		if err := checkNative(j); err != nil {
			return fmt.Errorf("write native trace: %w", err)
		}
		if _, twice := seen[j.Name]; twice {
			return fmt.Errorf("write native trace: two jobs have the id %q", j.Name)
		}
		seen[j.Name] = struct{}{}
		line = appendField(line[:0], j.Name)
		line = append(line, ',')
		line = strconv.AppendInt(line, int64(j.Workers), 10)
		line = append(line, ',')
		line = appendSeconds(line, j.Submit)
		line = append(line, ',')
		line = appendSeconds(line, j.Work)
		line = append(line, ',')
		line = appendField(line, j.User)
		line = append(line, ',')
		line = appendField(line, j.Tenant)
		for _, v := range [...]int32{j.Request.GPUMilli, j.Request.CPUMilli, j.Request.MemMiB} {
			line = append(line, ',')
			line = strconv.AppendInt(line, int64(v), 10)
		}
		line = append(line, ',')
		line = append(line, j.Status.String()...)
		if line = appendNature(line, j); due {
			if line = append(line, ','); j.Deadline != 0 {
				line = appendSeconds(line, j.Deadline)
			}
			line = appendSome(line, j.Priority)
		}
		out.Write(append(line, '\n'))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write native trace: %w", err)
	}
	return nil
}

// appendNature appends the columns that parseNature reads; a column of value 0 stays empty.
func appendNature(b []byte, j *Job) []byte {
	b = appendSome(appendSome(b, j.MinWorkers), j.MaxWorkers)
	b = appendField(append(b, ','), j.Model)
	b = appendField(append(b, ','), j.Group)
	b = appendSome(appendSome(b, j.Stages), j.Tensor)
	b = appendField(append(b, ','), j.GPUType)
	b = append(b, ',')
	if j.Mixed {
		b = append(b, "true"...)
	}
	return appendSome(b, j.Request.GPUMemMiB)
}

// appendSome appends a comma and the number, or only the comma if the number is 0.
func appendSome(b []byte, v int32) []byte {
	b = append(b, ',')
	if v == 0 {
		return b
	}
	return strconv.AppendInt(b, int64(v), 10)
}

// checkNative returns an error if the native format cannot represent the job.
func checkNative(j *Job) error {
	if roles(j) > maxWorkers { // must precede Validate, which multiplies them in 32 bits
		return fmt.Errorf("job %s: %d stages of %d tensor-parallel workers, want at most %d", j.Name, j.Stages, j.Tensor,
			maxWorkers)
	}
	if err := j.Validate(); err != nil {
		return err
	}
	switch {
	case j.Name == "" || !names.OK(j.Name):
		return fmt.Errorf("job id %q: want at most 256 bytes of printable UTF-8", shorten(j.Name))
	case !names.OK(j.User) || !names.OK(j.Tenant):
		return fmt.Errorf("job %s: user %q of tenant %q, want at most 256 bytes of printable UTF-8", j.Name, j.User, j.Tenant)
	case !names.OK(j.Model) || !names.OK(j.Group):
		return fmt.Errorf("job %s: model %q, group %q, want at most 256 bytes of printable UTF-8", j.Name, j.Model, j.Group)
	case !names.OK(j.GPUType) || !isTypes(j.GPUType):
		return fmt.Errorf("job %s: GPU type %q, want types separated by '|', none empty or twice", j.Name, j.GPUType)
	case j.Submit > maxTime:
		return fmt.Errorf("job %s: submit %v, want at most %v", j.Name, j.Submit, maxTime)
	case j.Deadline != 0 && (j.Deadline <= j.Submit || j.Deadline > maxTime):
		return fmt.Errorf("job %s: deadline %v, want later than its submit time %v and at most %v", j.Name, j.Deadline, j.Submit,
			maxTime)
	case j.Priority < leastPriority || j.Priority > mostPriority:
		return fmt.Errorf("job %s: priority %d, want %d to %d", j.Name, j.Priority, leastPriority, mostPriority)
	case j.Work <= 0 || j.Work > maxTime:
		return fmt.Errorf("job %s: work %v, want above 0 and at most %v", j.Name, j.Work, maxTime)
	case j.Most() > maxWorkers:
		return fmt.Errorf("job %s: up to %d workers, want at most %d", j.Name, j.Most(), maxWorkers)
	case j.Request.CPUMilli > maxMilli || j.Request.MemMiB > maxMilli || j.Request.GPUMemMiB > maxMilli:
		return fmt.Errorf("job %s: %d CPU milli, %d MiB and %d MiB on the GPU a worker, want at most %d", j.Name,
			j.Request.CPUMilli, j.Request.MemMiB, j.Request.GPUMemMiB, maxMilli)
	case int(j.Status) >= len(statusNames):
		return fmt.Errorf("job %s: %v, want a known status", j.Name, j.Status)
	}
	return nil
}

// appendField appends a field, in quotes if splitLine would not return the bare field unchanged.
func appendField(b []byte, s string) []byte {
	if !strings.ContainsAny(s, `,"`) && strings.TrimSpace(s) == s && !strings.HasPrefix(s, "\ufeff") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}
