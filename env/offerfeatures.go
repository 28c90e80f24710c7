package env

// OfferFeatures tells the meaning of an offer's numbers. Read only.
func OfferFeatures() []Feature { return offerFeatures }

// The places of an offer's features, after one for each kind.
const (
	offerActs = int(offerKinds) + iota
	offerRuns
	offerPlaced
	offerForeseen
	offerRival

	offerSpeed
	offerGain
	offerTypeSpeed
	offerRunTime
	offerGPUTime

	offerWorkers
	offerGPUShare
	offerCPU
	offerMemory
	offerScatter
	offerRacks

	offerTakes
	offerTakesAll
	offerFrees
	offerShared
	offerPartner

	offerDelay
	offerHarm
	offerRelief

	offerLeaves
	offerFills
	offerBreaks
	offerWaste
	offerDelays
	offerBlocks

	offerWait
	offerPatience
	offerEnd
	offerCost
	offerRank
	offerAge

	offerStarts
	offerStops
	offerRestarts
	offerAtRisk
	offerOthersRun
	offerOthersGPUTime
	offerWidth
)

var offerFeatures = listOfferFeatures()

func listOfferFeatures() []Feature {
	f := make([]Feature, offerWidth)
	for k := range offerKinds {
		f[k] = feature(k.String(), "flag: it is of this kind", 0, 1)
	}
	f[offerActs] = feature("acts", "flag: something happens at once", 0, 1)
	f[offerRuns] = feature("runs", "flag: its job runs now", 0, 1)
	f[offerPlaced] = feature("placed", "flag: its job runs if it is chosen", 0, 1)
	f[offerForeseen] = feature("foreseen", "flag: an estimate and a profile tell how long its job runs", 0, 1)
	f[offerRival] = feature("rival", "flag: the base's own offer is about the same job", 0, 1)

	f[offerSpeed] = feature("speed", "log2 of its job's speed against as requested on its best type / 3", -1, 1)
	f[offerGain] = feature("gain", "log2 of its running job's speed against now / 3", -1, 1)
	f[offerTypeSpeed] = feature("type_speed", "speed of its type of GPU, of the best that will do; 1 if not known", 0, 1)
	f[offerRunTime] = feature("run_time", "log time that its job runs once placed, as requested if it waits", 0, 1)
	f[offerGPUTime] = feature("gpu_time", "log of that x GPUs that it holds", 0, 1)

	f[offerWorkers] = feature("workers", "log2 of workers against those asked for / 3", -1, 1)
	f[offerGPUShare] = feature("gpu_share", "GPUs a worker", 0, 1)
	f[offerCPU] = feature("cpu", "log2 of CPU a worker against that asked for / 3", -1, 1)
	f[offerMemory] = feature("memory", "log2 of memory a worker against that asked for / 3", -1, 1)
	f[offerScatter] = feature("scatter", "servers beyond the fewest that could hold it, of those it is on", 0, 1)
	f[offerRacks] = feature("racks", "workers outside the rack that holds most, of all", 0, 1)

	f[offerTakes] = feature("takes", "GPUs taken that nobody uses, of the free", 0, 1)
	f[offerTakesAll] = feature("takes_all", "GPUs taken that nobody uses, of all", 0, 1)
	f[offerFrees] = feature("frees", "GPUs freed now, of all", 0, 1)
	f[offerShared] = feature("shared", "workers on GPUs with others, of all", 0, 1)
	f[offerPartner] = feature("partner", "its job's end against the last partner's, tanh of log ratio", -1, 1)

	f[offerDelay] = feature("delay", "log of the time that running jobs lose, summed", 0, 1)
	f[offerHarm] = feature("harm", "speed that the worst hit running job loses, of its own", 0, 1)
	f[offerRelief] = feature("relief", "log of the time that running jobs gain, summed", 0, 1)

	f[offerLeaves] = feature("leaves", "GPUs left free on the servers that it places on, of theirs", 0, 1)
	f[offerFills] = feature("fills", "servers whose last free GPU it takes, of those that it places on", 0, 1)
	f[offerBreaks] = feature("breaks", "free servers that it takes a part of, of all that are free", 0, 1)
	f[offerWaste] = feature("waste", "GPUs left free that jobs waiting cannot fill, of those servers'", 0, 1)
	f[offerDelays] = feature("delays", "log time by which the GPUs of the first held job come later", 0, 1)
	f[offerBlocks] = feature("blocks", "log time by which the first server that could hold it does so later", 0, 1)

	f[offerWait] = feature("expected_wait", "log time until what it waits for", 0, 1)
	f[offerPatience] = feature("patience", "that against its job's run time, tanh of log ratio; 0 without", -1, 1)
	f[offerEnd] = feature("end", "its job's end against that of the base's own offer, tanh of log ratio", -1, 1)
	f[offerCost] = feature("cost", "its cost against that of the base's own offer, tanh of log ratio", -1, 1)
	f[offerRank] = feature("rank", "waiting jobs before its job in order, of all", 0, 1)
	f[offerAge] = feature("age", "its job's time since submission against its run time, tanh of log ratio", -1, 1)

	f[offerStarts] = feature("starts", "jobs that start, log2(1 + n) / 4", 0, 1)
	f[offerStops] = feature("stops", "running jobs that stop, log2(1 + n) / 4", 0, 1)
	f[offerRestarts] = feature("restarts", "running jobs that move or change size, log2(1 + n) / 4", 0, 1)
	f[offerAtRisk] = feature("at_risk", "log of the work done by jobs that stop or move, summed", 0, 1)
	f[offerOthersRun] = feature("others_run", "log of the run time of other jobs that start, summed", 0, 1)
	f[offerOthersGPUTime] = feature("others_gpu_time", "log of that x GPUs that they hold, summed", 0, 1)
	return f
}
