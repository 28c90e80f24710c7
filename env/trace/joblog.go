package trace

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// jobLogLayouts are those of the original files of two traces that Slurm recorded, with equal columns but for a few:
// trace_seren.csv and trace_kalos.csv of Shanghai AI Lab Acme (InternLM/AcmeTrace, CC BY 4.0), and cluster_log.csv of SenseTime
// Helios (S-Lab-System-Group/HeliosData, CC BY 4.0).
func jobLogLayouts() []layout {
	return []layout{
		{format: Acme, loose: true, parse: parseJobLog, id: "job_id", submit: "submit_time",
			required: []string{"job_id", "user", "node_num", "gpu_num", "cpu_num", "type", "state", "submit_time", "start_time",
				"end_time"},
			optional: []string{"duration", "mem_per_pod_GB"}},
		{format: HeliosLog, loose: true, parse: parseJobLog, id: "job_id", submit: "submit_time",
			required: []string{"job_id", "user", "vc", "node_num", "gpu_num", "cpu_num", "state", "submit_time", "start_time", "end_time"},
			optional: []string{"duration"}},
	}
}

// parseJobLog reads a job. cpu_num is the total of the job, and mem_per_pod_GB (taken as GiB) that of a node: a worker
// gets its share.
func parseJobLog(r *Reader, row *row) (Job, verdict, error) {
	var j Job
	j.Name, j.User, j.Tenant = row.id("job_id"), row.text("user"), row.text("vc")
	status, unended, ok := parseState(row.get("state"))
	if !ok {
		row.bad("state", row.get("state"), "a state of Slurm, such as COMPLETED, CANCELLED, FAILED, TIMEOUT or NODE_FAIL")
	}
	j.Status = status
	submit, known := r.instant(row, "submit_time")
	j.Submit = submit
	if isMissing(row.get("gpu_num")) {
		return j, hasNoSize, nil
	}
	if j.Workers = row.number("gpu_num", 0, maxWorkers); j.Workers == 0 {
		return j, isCPUOnly, nil
	}
	work, why := r.lastedLog(row)
	j.Work = work
	switch {
	case unended != isJob:
		return j, unended, nil
	case !known:
		return j, hasNoSubmit, nil
	case why != isJob:
		return j, why, nil
	}
	cpus, memory := row.rough("cpu_num", maxMilli/1000), row.rough("mem_per_pod_GB", maxMilli/1024)
	nodes := int64(row.optional("node_num", 0, maxWorkers))
	j.Request = cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: int32(cpus / int64(j.Workers)),
		MemMiB: int32(min(maxMilli, memory*1024/1000*nodes/int64(j.Workers)))}
	return j, isJob, nil
}

// lastedLog reads how long a job ran: the column duration, or else the time from its start to its end.
func (r *Reader) lastedLog(row *row) (work time.Duration, why verdict) {
	switch {
	case isMissing(row.get("start_time")):
		return 0, isNeverScheduled
	case !isMissing(row.get("duration")):
		return row.lasted("duration")
	case isMissing(row.get("end_time")):
		return 0, hasNoEnd
	}
	if work, _ = r.span(row, "start_time", "end_time"); work == 0 {
		return 0, ranForNoTime
	}
	return work, isJob
}
