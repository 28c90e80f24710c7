package eval

import "slices"

// Quantity is one of the metrics by which policies are compared.
type Quantity struct {
	Key    string                 // its key in the JSON of Metrics
	Label  string                 // the heading of its column
	Unit   string                 // "" for a count; "%" for a fraction, shown times 100
	Higher bool                   // whether higher values are better
	Main   bool                   // whether tables show it at once; other quantities are shown on request
	About  string                 // an explanation in one sentence
	get    func(*Metrics) float64 // its value for an episode, in Unit; for a quantity in % a fraction
	rare   bool                   // whether tables omit it if it is 0 for all policies
	cost   int                    // 1 + the index of an objective, 0 for other quantities
}

// of returns the value for an episode, in Unit; for a quantity in % a fraction.
func (q *Quantity) of(r *Result) float64 {
	if q.cost > 0 {
		return r.Costs[q.cost-1].Total
	}
	return q.get(&r.Metrics)
}

// arrow returns an arrow in the direction of better values.
func (q Quantity) arrow() string {
	if q.Higher {
		return "↑"
	}
	return "↓"
}

// Quantities returns all quantities in the order of comparisons: those of jobs, of the cluster, of disturbances to jobs, and of
// inference.
func Quantities() []Quantity {
	return slices.Concat(ofJobs(), ofCluster(), ofDisturbance(), ofInference())
}

func ofJobs() []Quantity {
	return []Quantity{
		{
			Key: "mean_jct_s", Label: "mean JCT", Unit: "s", Main: true, get: func(m *Metrics) float64 { return m.MeanJCT },
			About: "Mean job completion time, from submission to finish, of the jobs that finished.",
		}, {
			Key: "p50_jct_s", Label: "p50 JCT", Unit: "s", Main: true, get: func(m *Metrics) float64 { return m.P50JCT },
			About: "Median job completion time.",
		}, {
			Key: "p95_jct_s", Label: "p95 JCT", Unit: "s", get: func(m *Metrics) float64 { return m.P95JCT },
			About: "Job completion time that 95 % of the finished jobs do not exceed.",
		}, {
			Key: "p99_jct_s", Label: "p99 JCT", Unit: "s", Main: true, get: func(m *Metrics) float64 { return m.P99JCT },
			About: "Job completion time that 99 % of the finished jobs do not exceed.",
		}, {
			Key: "mean_queueing_s", Label: "queueing", Unit: "s", Main: true,
			get:   func(m *Metrics) float64 { return m.MeanQueueing },
			About: "Mean queueing delay, from submission to first start, of the jobs that started.",
		}, {
			Key: "p50_queueing_s", Label: "p50 queueing", Unit: "s", get: func(m *Metrics) float64 { return m.P50Queueing },
			About: "Median queueing delay.",
		}, {
			Key: "p95_queueing_s", Label: "p95 queueing", Unit: "s", get: func(m *Metrics) float64 { return m.P95Queueing },
			About: "Queueing delay that 95 % of the started jobs do not exceed.",
		}, {
			Key: "p99_queueing_s", Label: "p99 queueing", Unit: "s", get: func(m *Metrics) float64 { return m.P99Queueing },
			About: "Queueing delay that 99 % of the started jobs do not exceed.",
		}, {
			Key: "mean_slowdown", Label: "slowdown", Unit: "x", Main: true, get: func(m *Metrics) float64 { return m.MeanSlowdown },
			About: "Mean bounded slowdown: completion time over isolated run time, the latter taken as 10 s at least, and 1 at least.",
		}, {
			Key: "p50_slowdown", Label: "p50 slowdown", Unit: "x", get: func(m *Metrics) float64 { return m.P50Slowdown },
			About: "Median bounded slowdown.",
		}, {
			Key: "p95_slowdown", Label: "p95 slowdown", Unit: "x", get: func(m *Metrics) float64 { return m.P95Slowdown },
			About: "Bounded slowdown that 95 % of the finished jobs do not exceed.",
		}, {
			Key: "p99_slowdown", Label: "p99 slowdown", Unit: "x", get: func(m *Metrics) float64 { return m.P99Slowdown },
			About: "Bounded slowdown that 99 % of the finished jobs do not exceed.",
		}, {
			Key: "p99_ftf", Label: "p99 rho", Unit: "x", Main: true, get: func(m *Metrics) float64 { return m.P99FTF },
			About: "Finish-time fairness, rho, that 99 % of the finished jobs do not exceed: completion time over the time that the " +
				"job would have taken with a fair share of the cluster.",
		}, {
			Key: "unfair", Label: "unfair", Unit: "%", get: func(m *Metrics) float64 { return m.Unfair },
			About: "Share of the finished jobs that a fair share of the cluster would have served better: those with a rho above 1.",
		},
	}
}

func ofCluster() []Quantity {
	return []Quantity{
		{
			Key: "makespan_s", Label: "makespan", Unit: "s", Main: true, get: func(m *Metrics) float64 { return m.Makespan },
			About: "Time from the first submission to the last finish.",
		}, {
			Key: "gpu_utilisation", Label: "utilisation", Unit: "%", Higher: true, Main: true,
			get:   func(m *Metrics) float64 { return m.Utilisation },
			About: "GPU-time that jobs held, restarts included, as a share of the GPU-time open to training in the makespan.",
		}, {
			Key: "fragmentation", Label: "fragmentation", Unit: "%", Main: true,
			get:   func(m *Metrics) float64 { return m.Fragmentation },
			About: "Share of the free GPU-time in the makespan that a job drawn from the workload could not have used where it was.",
		}, {
			Key: "gpus_given", Label: "GPUs given", Unit: "%", rare: true, get: func(m *Metrics) float64 { return m.GivenGPUs },
			About: "GPUs that a job gets when it starts, as a share of what it asked for, in the mean over starts.",
		}, {
			Key: "cpu_given", Label: "CPU given", Unit: "%", rare: true, get: func(m *Metrics) float64 { return m.GivenCPU },
			About: "CPU cores that a job gets when it starts, as a share of what it asked for.",
		}, {
			Key: "mem_given", Label: "memory given", Unit: "%", rare: true, get: func(m *Metrics) float64 { return m.GivenMem },
			About: "Memory that a job gets when it starts, as a share of what it asked for.",
		},
	}
}

func ofDisturbance() []Quantity {
	return []Quantity{
		{
			Key: "preemptions", Label: "preemptions", Main: true, get: func(m *Metrics) float64 { return float64(m.Preemptions) },
			About: "Times that the scheduler stopped a running job.",
		}, {
			Key: "migrations", Label: "migrations", rare: true, get: func(m *Metrics) float64 { return float64(m.Migrations) },
			About: "Times that the scheduler moved a running job.",
		}, {
			Key: "resizes", Label: "resizes", rare: true, get: func(m *Metrics) float64 { return float64(m.Resizes) },
			About: "Times that the scheduler changed the workers of a running job, or what they hold.",
		}, {
			Key: "interruptions", Label: "interruptions", Main: true, rare: true,
			get:   func(m *Metrics) float64 { return float64(m.Interruptions) },
			About: "Times that a failure or the seizure of a server stopped a running job.",
		}, {
			Key: "refused", Label: "refused", rare: true, get: func(m *Metrics) float64 { return float64(m.Refused) },
			About: "Operations that the scheduler proposed and the cluster refused, a search's own tries included.",
		},
	}
}

func ofInference() []Quantity {
	return []Quantity{
		{
			Key: "mean_lent", Label: "lent", Unit: "servers", Higher: true, Main: true, rare: true,
			get:   func(m *Metrics) float64 { return m.MeanLent },
			About: "Mean number of inference servers on loan to training, from the first demand of inference on.",
		}, {
			Key: "loans", Label: "loans", rare: true, get: func(m *Metrics) float64 { return float64(m.Loans) },
			About: "Times that the scheduler took an inference server on loan.",
		}, {
			Key: "reclaims", Label: "reclaims", rare: true, get: func(m *Metrics) float64 { return float64(m.Reclaims) },
			About: "Times that the scheduler gave a server on loan back.",
		}, {
			Key: "seizures", Label: "seizures", rare: true, get: func(m *Metrics) float64 { return float64(m.Seizures) },
			About: "Times that inference took a server on loan back by force, because it was overdue.",
		}, {
			Key: "unserved", Label: "unserved", Unit: "%", Main: true, rare: true,
			get:   func(m *Metrics) float64 { return m.Unserved },
			About: "Share of the servers that inference needed, over time, that it did not have.",
		},
	}
}
