package trace

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// parsePhillyPass reads a completed Philly job. The rows are not sorted, and some occur twice; both copies are kept. The id of a
// job is its row number from 0. Source: msr-fiddle/philly-traces (CC BY 4.0) as filtered by petuum/adaptdl.
func parsePhillyPass(r *Reader, row *row) (Job, verdict, error) {
	j := Job{Work: row.work("duration"), Status: Passed}
	j.Name = strconv.Itoa(r.report.Rows - 1)
	j.Tenant = row.text("cluster")
	j.Workers = row.number("num_gpus", 0, maxWorkers)
	j.Request.GPUMilli = cluster.WholeGPU
	stamp := row.get("timestamp")
	t, err := time.Parse(time.DateTime, stamp)
	if err != nil || t.Unix() < 0 || t.Unix() > int64(maxTime/time.Second) {
		row.bad("timestamp", stamp, "YYYY-MM-DD HH:MM:SS from 1970 on")
	}
	j.Submit = time.Duration(t.Unix())*time.Second + time.Duration(t.Nanosecond())
	if j.Workers == 0 {
		return j, isCPUOnly, nil
	}
	return j, isJob, nil
}

// parseIntervals reads one job in the column layout that PhillyAll and Helios share. The submit time is the running sum of the
// column interval over all rows, including rows that do not become jobs. In Philly cpu_num is always 0, which means not recorded.
// In Helios it is the total of the job (a gang of 160 has 800, one of 8 has 1), so it is divided by the number of workers and
// rounded down; the gang then never asks for more CPUs than the trace records. Source: msr-fiddle/philly-traces and
// S-Lab-System-Group/HeliosData (both CC BY 4.0) as re-packed by DIR-LAB/Gen-Parallel-Workloads.
func parseIntervals(r *Reader, row *row) (Job, verdict, error) {
	r.elapsed += row.seconds("interval")
	if row.err == nil && r.elapsed > maxTime {
		row.bad("interval", row.get("interval"), "a sum of at most 100 years")
	}
	if row.err != nil {
		return Job{}, "", fatalError{row.err} // every later submit time depends on this row
	}
	j := Job{Work: row.work("run_time")}
	j.Name, j.User, j.Submit = row.id("u_id"), row.text("user"), r.elapsed
	j.Workers = row.number("gpu_num", 0, maxWorkers)
	j.Request.GPUMilli = cluster.WholeGPU
	cpus := row.milli("cpu_num", 0, maxMilli)
	j.Status = row.phillyStatus("new_status")
	if j.Workers == 0 {
		return j, isCPUOnly, nil
	}
	j.Request.CPUMilli = int32(cpus / int64(j.Workers))
	return j, isJob, nil
}

// phillyStatus reads how a job ended, in Philly's words.
func (r *row) phillyStatus(column string) Status {
	s := r.get(column)
	switch s {
	case "Pass":
		return Passed
	case "Failed":
		return Failed
	case "Killed":
		return Killed
	}
	r.bad(column, s, "Pass, Failed or Killed")
	return Unknown
}

// parseKalos reads an Acme Kalos job from the columns that the fork invented: the duration is num_iteration times half a second,
// a gang has gpu_workers pods of gpu_per_worker GPUs, and a pod has tensorsizes times 100 GB of memory (read as GiB). The file
// contains only completed jobs. Source: InternLM/AcmeTrace (CC BY 4.0) as converted by hyunnnchoi/AcmeTrace.
func parseKalos(_ *Reader, row *row) (Job, verdict, error) {
	j := Job{Status: Passed}
	j.Name = row.id("job_id")
	j.Submit = row.seconds("arrival_time")
	j.Work = time.Duration(row.scaled("num_iteration", 0, 1, int64(2*maxTime/time.Second))) * (time.Second / 2)
	pods := row.number("gpu_workers", 0, maxWorkers)
	each := row.number("gpu_per_worker", 0, 1024)
	cpus := row.milli("cpu_per_gpu_worker", 0, maxMilli)
	memory := row.milli("tensorsizes", 0, 10_000_000) // thousandths of 100 GiB per pod
	if int64(pods)*int64(each) > maxWorkers {
		row.bad("gpu_workers", row.get("gpu_workers"), "at most "+strconv.Itoa(maxWorkers)+" GPUs in all")
	}
	if row.err != nil {
		return Job{}, "", row.err
	}
	j.Workers = pods * each
	if j.Workers == 0 {
		return j, isCPUOnly, nil
	}
	j.Request = cluster.Amount{
		GPUMilli: cluster.WholeGPU,
		CPUMilli: int32(cpus),
		MemMiB:   int32(memory * 100 * 1024 / 1000 / int64(each)),
	}
	return j, isJob, nil
}

// parseOpenB reads a pod as a job of num_gpu workers. Each worker gets gpu_milli of a GPU and an equal part of the pod's CPU and
// memory, rounded down. It skips pods that were never scheduled, then pods without GPUs. The job runs from scheduled_time to
// deletion_time. pod_phase is the last observed phase, so Running does not say how the job ended. gpu_spec lists the acceptable
// GPU types; a few pods list one twice, and the duplicate is removed. The column qos is ignored. Source: alibaba/clusterdata
// cluster-trace-gpu-v2023, as in hkust-adsl/kubernetes-scheduler-simulator (Apache-2.0).
func parseOpenB(_ *Reader, row *row) (Job, verdict, error) {
	var j Job
	j.Name = row.id("name")
	j.Submit = row.seconds("creation_time")
	j.Workers = row.number("num_gpu", 0, maxWorkers)
	cpu := row.number("cpu_milli", 0, maxMilli)
	memory := row.number("memory_mib", 0, maxMilli)
	share := row.number("gpu_milli", 0, cluster.WholeGPU)
	switch s := row.get("pod_phase"); s {
	case "Succeeded":
		j.Status = Passed
	case "Failed":
		j.Status = Failed
	case "Running", "Pending", "Unknown":
	default:
		row.bad("pod_phase", s, "Succeeded, Failed, Running, Pending or Unknown")
	}
	if row.get("scheduled_time") == "" {
		return j, isNeverScheduled, nil
	}
	from, to := row.seconds("scheduled_time"), row.seconds("deletion_time")
	if to <= from {
		row.bad("deletion_time", row.get("deletion_time"), "later than scheduled_time "+row.get("scheduled_time"))
	}
	if from < j.Submit {
		row.bad("scheduled_time", row.get("scheduled_time"), "no earlier than creation_time "+row.get("creation_time"))
	}
	j.Work = to - from
	if j.Workers == 0 {
		return j, isCPUOnly, nil
	}
	if share == 0 {
		row.bad("gpu_milli", row.get("gpu_milli"), "1 to 1000 for a pod with GPUs")
	}
	j.Request = cluster.Amount{GPUMilli: share, CPUMilli: cpu / j.Workers, MemMiB: memory / j.Workers}
	j.GPUType = row.text("gpu_spec")
	if !isTypes(j.GPUType) {
		types := strings.Split(j.GPUType, "|")
		slices.Sort(types)
		j.GPUType = strings.Join(slices.Compact(types), "|")
	}
	if !isTypes(j.GPUType) {
		row.bad("gpu_spec", row.get("gpu_spec"), "GPU types separated by '|', none empty")
	}
	return j, isJob, nil
}
