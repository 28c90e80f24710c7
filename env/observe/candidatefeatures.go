package observe

import "github.com/clustergym/clustergym/env/candidates"

// The positions of a candidate's features after those that encode its kind.
const (
	candidateActs = iota
	candidateRuns
	candidatePlaced
	candidateForeseen
	candidateRival

	candidateSpeed
	candidateGain
	candidateTypeSpeed
	candidateRunTime
	candidateGPUTime

	candidateWorkers
	candidateGPUShare
	candidateCPU
	candidateMemory
	candidateScatter
	candidateRacks

	candidateTakes
	candidateTakesAll
	candidateFrees
	candidateShared
	candidatePartner

	candidateDelay
	candidateHarm
	candidateRelief

	candidateLeaves
	candidateFills
	candidateBreaks
	candidateWaste
	candidateDelays
	candidateBlocks

	candidateWait
	candidatePatience
	candidateEnd
	candidateCost
	candidateRank
	candidateAge

	candidateStarts
	candidateStops
	candidateRestarts
	candidateAtRisk
	candidateOthersRun
	candidateOthersGPUTime
	candidateWidth
)

// The features for narrow lists, which encode only the kinds that these contain, and those for wide lists, which encode all
// kinds.
var (
	narrowFeatures = listCandidateFeatures(candidates.Narrow)
	wideFeatures   = listCandidateFeatures(candidates.Kinds)
)

func listCandidateFeatures(kinds int) []Feature {
	all := make([]Feature, kinds+candidateWidth)
	for k := range candidates.Kind(kinds) {
		all[k] = feature(k.String(), "flag: it is of this kind", 0, 1)
	}
	f := all[kinds:]
	f[candidateActs] = feature("acts", "flag: something happens at once", 0, 1)
	f[candidateRuns] = feature("runs", "flag: its job runs now", 0, 1)
	f[candidatePlaced] = feature("placed", "flag: its job runs if it is chosen", 0, 1)
	f[candidateForeseen] = feature("foreseen", "flag: an estimate and a profile tell how long its job runs", 0, 1)
	f[candidateRival] = feature("rival", "flag: the base's own offer is about the same job", 0, 1)

	f[candidateSpeed] = feature("speed", "log2 of its job's speed against as requested on its best type / 3", -1, 1)
	f[candidateGain] = feature("gain", "log2 of its running job's speed against now / 3", -1, 1)
	f[candidateTypeSpeed] = feature("type_speed", "speed of its type of GPU, of the best that will do; 1 if not known", 0, 1)
	f[candidateRunTime] = feature("run_time", "log time that its job runs once placed, as requested if it waits", 0, 1)
	f[candidateGPUTime] = feature("gpu_time", "log of that x GPUs that it holds", 0, 1)

	f[candidateWorkers] = feature("workers", "log2 of workers against those asked for / 3", -1, 1)
	f[candidateGPUShare] = feature("gpu_share", "GPUs a worker", 0, 1)
	f[candidateCPU] = feature("cpu", "log2 of CPU a worker against that asked for / 3", -1, 1)
	f[candidateMemory] = feature("memory", "log2 of memory a worker against that asked for / 3", -1, 1)
	f[candidateScatter] = feature("scatter", "servers beyond the fewest that could hold it, of those it is on", 0, 1)
	f[candidateRacks] = feature("racks", "workers outside the rack that holds most, of all", 0, 1)

	f[candidateTakes] = feature("takes", "GPUs taken that nobody uses, of the free", 0, 1)
	f[candidateTakesAll] = feature("takes_all", "GPUs taken that nobody uses, of all", 0, 1)
	f[candidateFrees] = feature("frees", "GPUs freed now, of all", 0, 1)
	f[candidateShared] = feature("shared", "workers on GPUs with others, of all", 0, 1)
	f[candidatePartner] = feature("partner", "its job's end against the last partner's, tanh of log ratio", -1, 1)

	f[candidateDelay] = feature("delay", "log of the time that running jobs lose, summed", 0, 1)
	f[candidateHarm] = feature("harm", "speed that the worst hit running job loses, of its own", 0, 1)
	f[candidateRelief] = feature("relief", "log of the time that running jobs gain, summed", 0, 1)

	f[candidateLeaves] = feature("leaves", "GPUs left free on the servers that it places on, of theirs", 0, 1)
	f[candidateFills] = feature("fills", "servers whose last free GPU it takes, of those that it places on", 0, 1)
	f[candidateBreaks] = feature("breaks", "free servers that it takes a part of, of all that are free", 0, 1)
	f[candidateWaste] = feature("waste", "GPUs left free that jobs waiting cannot fill, of those servers'", 0, 1)
	f[candidateDelays] = feature("delays", "log time by which the GPUs of the first held job come later", 0, 1)
	f[candidateBlocks] = feature("blocks", "log time by which the first server that could hold it does so later", 0, 1)

	f[candidateWait] = feature("expected_wait", "log time until what it waits for", 0, 1)
	f[candidatePatience] = feature("patience", "that against its job's run time, tanh of log ratio; 0 without", -1, 1)
	f[candidateEnd] = feature("end", "its job's end against that of the base's own offer, tanh of log ratio", -1, 1)
	f[candidateCost] = feature("cost", "its cost against that of the base's own offer, tanh of log ratio", -1, 1)
	f[candidateRank] = feature("rank", "waiting jobs before its job in order, of all", 0, 1)
	f[candidateAge] = feature("age", "its job's time since submission against its run time, tanh of log ratio", -1, 1)

	f[candidateStarts] = feature("starts", "jobs that start, log2(1 + n) / 4", 0, 1)
	f[candidateStops] = feature("stops", "running jobs that stop, log2(1 + n) / 4", 0, 1)
	f[candidateRestarts] = feature("restarts", "running jobs that move or change size, log2(1 + n) / 4", 0, 1)
	f[candidateAtRisk] = feature("at_risk", "log of the work done by jobs that stop or move, summed", 0, 1)
	f[candidateOthersRun] = feature("others_run", "log of the run time of other jobs that start, summed", 0, 1)
	f[candidateOthersGPUTime] = feature("others_gpu_time", "log of that x GPUs that they hold, summed", 0, 1)
	return all
}
