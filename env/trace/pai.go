package trace

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
)

// The columns of pai_task_table of Alibaba PAI 2020, which has no header, and those of pai_job_table that join adds behind them.
var (
	paiTask = []string{"job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu",
		"gpu_type"}
	paiJob = []string{"inst_id", "user", "job_status", "submit_time", "job_end_time"}
)

// paiLayouts are those of the tables of Alibaba PAI 2020. Jobs are made of pai_task_table, alone or joined with pai_job_table;
// the other tables have no GPUs. Source: alibaba/clusterdata cluster-trace-gpu-v2020 (CC BY 4.0).
func paiLayouts() []layout {
	const instead = " has no GPUs: read pai_task_table, alone or joined with pai_job_table, which has users and submissions: " +
		"join -t, <(sort pai_task_table.csv) <(sort pai_job_table.csv) > tasks.csv"
	bare := func(width, status int) func([]byte) bool {
		return func(head []byte) bool { return looksPAI(head, width, status) }
	}
	return []layout{
		{format: PAI, required: paiTask, optional: paiJob, loose: true, open: openPAI, parse: parsePAI, id: "job_name",
			submit: "submit_time",
			looks: func(head []byte) bool {
				return looksPAI(head, len(paiTask), 3) || looksPAI(head, len(paiTask)+len(paiJob), 3)
			}},
		{instead: "this is pai_job_table, which" + instead, looks: bare(6, 3),
			required: []string{"job_name", "inst_id", "user", "status", "start_time", "end_time"}},
		{instead: "this is pai_instance_table, which" + instead, looks: bare(9, 5), loose: true,
			required: []string{"job_name", "task_name", "inst_name", "worker_name", "inst_id", "status", "start_time", "end_time"}},
	}
}

// looksPAI reports whether a file begins with a row of a PAI table: so many fields, one of which is a status.
func looksPAI(head []byte, width, status int) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	fields := strings.Split(strings.TrimSpace(string(line)), ",")
	return len(fields) == width &&
		slices.Contains([]string{"Terminated", "Failed", "Running", "Waiting", "Interrupted"}, strings.Trim(fields[status], `" `))
}

func openPAI(in *bufio.Reader, opt Options) (source, []string, error) {
	head, _ := in.Peek(headBytes) // the error comes again
	header := paiTask
	if looksPAI(head, len(paiTask)+len(paiJob), 3) {
		header = slices.Concat(paiTask, paiJob)
	}
	return &textRows{lines: newLines(in, opt), comma: ","}, header, nil
}

// parsePAI reads a task. A task is a gang of inst_num instances. plan_gpu and plan_cpu are percents of a GPU and of a core an
// instance, and plan_mem is GB (taken as GiB). The first task of a job with GPUs has the job's name, others that of the
// task, too.
func parsePAI(r *Reader, row *row) (Job, verdict, error) {
	var j Job
	j.Name, j.User, j.GPUType = row.id("job_name"), row.text("user"), row.text("gpu_type")
	status, unended, ok := parseState(row.get("status"))
	if !ok {
		row.bad("status", row.get("status"), "Terminated, Failed, Running, Waiting or Interrupted")
	}
	j.Status = status
	if !isTypes(j.GPUType) {
		row.bad("gpu_type", j.GPUType, "GPU types separated by '|', none empty or twice")
	}
	if isMissing(row.get("plan_gpu")) || row.rough("plan_gpu", 1<<20*100) == 0 {
		return j, isCPUOnly, row.err
	}
	if isMissing(row.get("inst_num")) {
		return j, hasNoSize, nil
	}
	why := r.whenPAI(row, &j)
	if unended != isJob {
		why = unended
	}
	if why != isJob || row.err != nil {
		return j, why, nil
	}
	r.sizePAI(row, &j)
	if _, twice := r.seen[j.Name]; twice {
		if j.Name += "/" + row.some("task_name", "the name of a task"); len(j.Name) > 256 {
			row.bad("job_name", j.Name, "at most 256 bytes together with task_name")
		}
		r.note("are further tasks of a job: each is a job of its own, named job/task", 1)
	}
	return j, isJob, nil
}

// whenPAI reads the times of a task.
func (r *Reader) whenPAI(row *row, j *Job) verdict {
	start, started := r.instant(row, "start_time")
	submit, known := r.instant(row, "submit_time")
	switch {
	case !started:
		return isNeverScheduled
	case isMissing(row.get("end_time")):
		return hasNoEnd
	case known && r.clocks["submit_time"].form != r.clocks["start_time"].form:
		row.bad("submit_time", row.get("submit_time"), "the form of start_time "+shown(row.get("start_time")))
	case !known || submit > start:
		known, submit = false, start
	}
	j.Submit = submit
	if j.Work, _ = r.span(row, "start_time", "end_time"); j.Work == 0 {
		return ranForNoTime
	}
	if !known {
		r.note("take the start of the task for its submission, because pai_task_table has none (see docs/traces.md for a join)", 1)
	}
	return isJob
}

// sizePAI reads what a task asks for.
func (r *Reader) sizePAI(row *row, j *Job) {
	const whole = 100_000 // thousandths of a percent
	gpu := row.rough("plan_gpu", 1<<20*100)
	each := (gpu + whole - 1) / whole // GPUs an instance
	instances := int64(row.number("inst_num", 1, maxWorkers))
	cpu, memory := row.rough("plan_cpu", maxMilli/10), row.rough("plan_mem", maxMilli/1024)
	if row.err != nil {
		return
	}
	if instances*each > maxWorkers {
		row.bad("inst_num", row.get("inst_num"), "a task of at most 1048576 GPUs")
		return
	}
	j.Workers = int32(instances * each)
	j.Request = cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: int32(cpu / 100 / each),
		MemMiB: int32(memory * 1024 / 1000 / each)}
	if gpu < whole {
		j.Request.GPUMilli = int32(max(1, gpu/100))
	} else if gpu%whole != 0 {
		r.note("ask for GPUs and a part of another: they count as whole GPUs", 1)
	}
}

// rough returns a number from 0 to most in thousandths, of which it cuts off further digits; 0 if it is missing.
func (r *row) rough(column string, most int64) int64 {
	s := r.get(column)
	if isMissing(s) {
		return 0
	}
	v, ok := parseDecimal(rounded(s, 3), 3)
	if !ok || v > 1000*most {
		r.bad(column, s, fmt.Sprintf("a number from 0 to %d", most))
		return 0
	}
	return v
}
