package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
)

// parseNative reads a row of the project's own format: docs/traces.md defines it.
func parseNative(_ *Reader, row *row) (Job, verdict, error) {
	j := Job{Work: row.work("duration")}
	j.Name = row.id("job_id")
	j.User, j.Tenant = row.text("user"), row.text("tenant")
	j.Submit = row.seconds("submit_time")
	j.Workers = row.number("num_gpu", 0, maxWorkers)
	j.Request.GPUMilli = cluster.WholeGPU
	if row.get("gpu_milli") != "" {
		j.Request.GPUMilli = row.number("gpu_milli", 1, cluster.WholeGPU)
	}
	if row.get("cpu_milli") != "" {
		j.Request.CPUMilli = row.number("cpu_milli", 0, maxMilli)
	}
	if row.get("mem_mib") != "" {
		j.Request.MemMiB = row.number("mem_mib", 0, maxMilli)
	}
	status, err := ParseStatus(row.get("status"))
	if err != nil {
		row.bad("status", row.get("status"), "passed, failed, killed, unknown or nothing")
	}
	j.Status = status
	if j.Workers == 0 {
		return j, isCPUOnly, nil
	}
	return j, isJob, nil
}

// NativeHeader is the header that WriteNative writes.
const NativeHeader = "job_id,num_gpu,submit_time,duration,user,tenant,gpu_milli,cpu_milli,mem_mib,status"

// WriteNative writes jobs in the native format, one row each in the order given, every column present. Reading it back gives
// the same jobs, without estimates. A job that the format cannot hold (an id that is empty, not printable or not unique, a
// time out of range) is an error, and what was written then is not a whole trace.
func WriteNative(w io.Writer, jobs []Job) error {
	out := bufio.NewWriter(w)
	out.WriteString(NativeHeader + "\n")
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
		out.Write(append(line, '\n'))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write native trace: %w", err)
	}
	return nil
}

// checkNative reports what of a job the native format could not give back.
func checkNative(j *Job) error {
	if err := j.Validate(); err != nil {
		return err
	}
	switch {
	case j.Name == "" || !isName(j.Name):
		return fmt.Errorf("job id %q: want at most 256 bytes of printable UTF-8", shorten(j.Name))
	case !isName(j.User) || !isName(j.Tenant):
		return fmt.Errorf("job %s: user %q of tenant %q, want at most 256 bytes of printable UTF-8", j.Name, j.User, j.Tenant)
	case j.Submit > maxTime:
		return fmt.Errorf("job %s: submit %v, want at most %v", j.Name, j.Submit, maxTime)
	case j.Work <= 0 || j.Work > maxTime:
		return fmt.Errorf("job %s: work %v, want above 0 and at most %v", j.Name, j.Work, maxTime)
	case j.Workers > maxWorkers:
		return fmt.Errorf("job %s: %d workers, want at most %d", j.Name, j.Workers, maxWorkers)
	case j.Request.CPUMilli > maxMilli || j.Request.MemMiB > maxMilli:
		return fmt.Errorf("job %s: %d CPU milli and %d MiB a worker, want at most %d", j.Name, j.Request.CPUMilli,
			j.Request.MemMiB, maxMilli)
	case int(j.Status) >= len(statusNames):
		return fmt.Errorf("job %s: %v, want a known status", j.Name, j.Status)
	}
	return nil
}

// appendField quotes a field where splitLine would not give it back bare.
func appendField(b []byte, s string) []byte {
	if !strings.ContainsAny(s, `,"`) && strings.TrimSpace(s) == s && !strings.HasPrefix(s, "\ufeff") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}
