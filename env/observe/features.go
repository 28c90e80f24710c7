package observe

import (
	"math"
	"time"
)

func feature(name, unit string, low, high float64) Feature {
	return Feature{Name: name, Unit: unit, Min: low, Max: high}
}

// The positions of a server's features.
const (
	serverGPUs = iota
	serverFree
	serverFreeCPU
	serverFreeMem
	serverResidents
	serverNextEnd
	serverLastEnd
	serverMeanEnd
	serverBlind
	serverHalfFree
	serverFreedSoon
	serverFreedLater
	serverEmpty
	serverShared
	serverGuestRoom
	serverGPUSpeed
	serverRackFree
	serverUplink
	serverOnLoan
	serverDue
)

var serverFeatures = []Feature{
	serverGPUs:       feature("gpus", "of the largest server's", 0, 1),
	serverFree:       feature("free_gpus", "of its own", 0, 1),
	serverFreeCPU:    feature("free_cpu", "of its own", 0, 1),
	serverFreeMem:    feature("free_mem", "of its own", 0, 1),
	serverResidents:  feature("residents", "jobs a GPU", 0, 2),
	serverNextEnd:    feature("next_end", "log time until a resident ends", 0, 1),
	serverLastEnd:    feature("last_end", "log time until all residents end", 0, 1),
	serverMeanEnd:    feature("mean_end", "mean over residents of the log time until they end", 0, 1),
	serverBlind:      feature("unestimated", "residents without an estimate, of all", 0, 1),
	serverHalfFree:   feature("half_free", "log time until half of its GPUs are free, 1 if not foreseen", 0, 1),
	serverFreedSoon:  feature("freed_10m", "GPUs in use that are free within 10 min, of its own", 0, 1),
	serverFreedLater: feature("freed_1h", "GPUs in use that are free within 1 h, of its own", 0, 1),
	serverEmpty:      feature("empty", "flag", 0, 1),
	serverShared:     feature("shared", "GPUs that two jobs or more use, of its own", 0, 1),
	serverGuestRoom:  feature("guest_room", "GPUs with one job and a share left, of its own", 0, 1),
	serverGPUSpeed:   feature("gpu_speed", "mean speed here of jobs shown, of their best; 1 if not known", 0, 1),
	serverRackFree:   feature("rack_free", "free GPUs of its rack, of the rack's", 0, 1),
	serverUplink:     feature("uplink", "links of its rack's servers that gangs use across racks, of all", 0, 1),
	serverOnLoan:     feature("on_loan", "flag", 0, 1),
	serverDue:        feature("due", "1 less log time until a server on loan must be back", 0, 1),
}

// The positions of a job's features.
const (
	jobPresent = iota
	jobRemaining
	jobEstimated
	jobAge
	jobWorkers
	jobLogWorkers
	jobGPUShare
	jobDemand
	jobService
	jobAttained
	jobStartable
	jobRestarts
	jobBehindHead
	jobOverstays
	jobRank
	jobTurn
	jobAlike
	jobShrinks
	jobGrows
	jobHalfGPU
	jobHalfCPU
	jobQuotaUsed
	jobTypes
	jobHosts
	jobHole
)

var jobFeatures = []Feature{
	jobPresent:    feature("present", "flag", 0, 1),
	jobRemaining:  feature("remaining", "log time by the estimate", 0, 1),
	jobEstimated:  feature("estimated", "flag", 0, 1),
	jobAge:        feature("age", "log time since submission", 0, 1),
	jobWorkers:    feature("workers", "of the largest server's GPUs", 0, 2),
	jobLogWorkers: feature("log_workers", "log2 / 10", 0, 1),
	jobGPUShare:   feature("gpu_share", "GPUs a worker", 0, 1),
	jobDemand:     feature("demand", "of the free GPUs", 0, 2),
	jobService:    feature("service", "log of remaining time x GPUs", 0, 1),
	jobAttained:   feature("attained", "log GPU-time held so far", 0, 1),
	jobStartable:  feature("startable", "flag", 0, 1),
	jobRestarts:   feature("restarts", "starts so far / 4", 0, 1),
	jobBehindHead: feature("behind_head", "remaining against the first held job's, tanh of log ratio", -1, 1),
	jobOverstays:  feature("overstays", "remaining against the first held job's wait, tanh of log ratio", -1, 1),
	jobRank:       feature("rank", "waiting jobs before it in order, of all", 0, 1),
	jobTurn:       feature("turn", "waiting jobs submitted before it, of all", 0, 1),
	jobAlike:      feature("alike", "waiting jobs of its size class, of all", 0, 1),
	jobShrinks:    feature("shrinks", "workers that it can do without, of those asked for", 0, 1),
	jobGrows:      feature("grows", "workers beyond those asked for, of the most it can use", 0, 1),
	jobHalfGPU:    feature("half_gpu", "speed lost on half the GPU share beside a job like it", 0, 1),
	jobHalfCPU:    feature("half_cpu", "speed lost with half the CPU", 0, 1),
	jobQuotaUsed:  feature("quota_used", "of its tenant's quota", 0, 1),
	jobTypes:      feature("types", "GPUs of types that will do, of all", 0, 1),
	jobHosts:      feature("hosts", "servers that could hold it alone now, of all", 0, 1),
	jobHole:       feature("hole", "log time until free servers could hold it, 1 if not foreseen", 0, 1),
}

// The positions of the global features. In a group of four, there is one feature for each size class.
const (
	globalBusy = iota
	globalQueue
	globalBacklog
	globalReady
	globalHole
	globalLargest
	globalHead
	globalHeadWait
	globalHeadLacks
	globalDaySin
	globalDayCos
	globalDemand
	globalRecent     = globalDemand + classes
	globalInflow     = globalRecent + classes
	globalWhole      = globalInflow + 1
	globalWholeSoon  = globalInflow + 2
	globalWholeLater = globalInflow + 3
	globalFragments  = globalInflow + 4
	globalOwed       = globalInflow + 5
)

var globalFeatures = []Feature{
	globalBusy:       feature("busy", "GPUs in use, of all", 0, 1),
	globalQueue:      feature("queue", "log10 of waiting jobs / 4", 0, 1),
	globalBacklog:    feature("backlog", "log10 of GPUs waited for per GPU of the cluster, shifted", 0, 1),
	globalReady:      feature("ready", "startable jobs, of the window", 0, 1),
	globalHole:       feature("largest_hole", "free GPUs of the emptiest server, of the largest server's", 0, 1),
	globalLargest:    feature("largest_wait", "workers of the largest job shown, of the largest server's GPUs", 0, 2),
	globalHead:       feature("head", "flag: a job is held back", 0, 1),
	globalHeadWait:   feature("head_wait", "log time until the first held job could start", 0, 1),
	globalHeadLacks:  feature("head_lacks", "GPUs that the first held job lacks, of those it needs", 0, 1),
	globalDaySin:     feature("day_sin", "time of day", -1, 1),
	globalDayCos:     feature("day_cos", "time of day", -1, 1),
	globalDemand:     feature("demand_one", "as backlog, by jobs of one worker", 0, 1),
	globalDemand + 1: feature("demand_half", "as backlog, by gangs of up to half a server", 0, 1),
	globalDemand + 2: feature("demand_server", "as backlog, by gangs of up to a server", 0, 1),
	globalDemand + 3: feature("demand_more", "as backlog, by gangs of more than a server", 0, 1),
	globalRecent:     feature("recent_one", "as demand_one, by jobs here that came within 1 h", 0, 1),
	globalRecent + 1: feature("recent_half", "as demand_half, by jobs here that came within 1 h", 0, 1),
	globalRecent + 2: feature("recent_server", "as demand_server, by jobs here that came within 1 h", 0, 1),
	globalRecent + 3: feature("recent_more", "as demand_more, by jobs here that came within 1 h", 0, 1),
	globalInflow:     feature("inflow", "GPUs asked for within 1 h against those free in 1 h, tanh of log ratio", -1, 1),
	globalWhole:      feature("whole", "servers that are free, of all", 0, 1),
	globalWholeSoon:  feature("whole_10m", "servers in use that are free within 10 min, of all", 0, 1),
	globalWholeLater: feature("whole_1h", "servers in use that are free within 1 h, of all", 0, 1),
	globalFragments:  feature("fragments", "free GPUs on servers in use, of the free", 0, 1),
	globalOwed:       feature("owed", "servers on loan that must be back, of those on loan", 0, 1),
}

const day = 24 * time.Hour

// soon and later are the horizons of features that look a fixed time ahead or back.
const (
	soon  = 10 * time.Minute
	later = time.Hour
)

func ratio(part, all int64) float32 {
	if all == 0 {
		return 0
	}
	return float32(float64(part) / float64(all))
}

func flag(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// tanh approximates the hyperbolic tangent by a rational function, with an error below 0.03. It is monotone, and exactly -1 or 1
// beyond -3 and 3.
func tanh(x float32) float32 {
	x = min(max(x, -3), 3)
	return min(max(x*(27+x*x)/(27+9*x*x), -1), 1) // rounding may exceed 1
}

// against compares two durations: it returns tanh(log(d/other)), computed from logTime. It is about 0.9 if d is 5 times as long.
func against(d, other time.Duration) float32 {
	return tanh((logTime(d) - logTime(other)) * logTimeSpan)
}

// logTime maps a duration to [0, 1] on a logarithmic scale: 0 to 0, six hours to about 0.5, a hundred days to 1.
func logTime(d time.Duration) float32 {
	if d > 101*day {
		return 1
	}
	return float32(min(math.Log1p(float64(max(d, 0))/float64(time.Minute))/logTimeSpan, 1))
}

// logTimeSpan is log1p of the minutes in a hundred days.
const logTimeSpan = 11.877575

// logShare maps the ratio of GPUs to the cluster's GPUs to [0, 1] on a logarithmic scale: 0 to 0, 1 to 0.35, 100 to 1.
func logShare(part, all int64) float32 {
	if all == 0 {
		return 0
	}
	return float32(min(math.Log10(1+10*float64(part)/float64(all))/3, 1))
}
