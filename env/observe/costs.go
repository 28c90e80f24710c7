package observe

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
)

// The positions of the features of an objective, behind all others of a job and of the cluster.
const (
	jobWaitCost = iota
	jobRunCost
	jobCostChange
	jobWaitCostAfter
	jobRunCostAfter
	jobStopCost
	jobLossCost
	jobLimit
	jobDeadline
	jobLastStart
	jobMissCost
)

const (
	globalPrice = iota
	globalNextPrice
	globalTogether
)

var (
	costJob = []Feature{
		jobWaitCost:      feature("wait_cost", "what an hour costs now if it waits, log", 0, 1),
		jobRunCost:       feature("run_cost", "what an hour costs now if it runs, log", 0, 1),
		jobCostChange:    feature("cost_change", "log time until a limit, deadline or price changes these, 1 if nothing does", 0, 1),
		jobWaitCostAfter: feature("wait_cost_after", "wait_cost then", 0, 1),
		jobRunCostAfter:  feature("run_cost_after", "run_cost then", 0, 1),
		jobStopCost:      feature("stop_cost", "what a stop and 10 min of restart cost now, log; 0 if it waits", 0, 1),
		jobLossCost:      feature("loss_cost", "what it costs besides if the stop destroys all its work, log", 0, 1),
		jobLimit:         feature("limit", "log time until the next limit, 1 if none is ahead", 0, 1),
		jobDeadline:      feature("deadline", "log time until the next deadline, 1 if none is ahead", 0, 1),
		jobLastStart:     feature("last_start", "log time until its last moment to start before it, 1 if none is ahead", 0, 1),
		jobMissCost:      feature("miss_cost", "what that deadline costs once when it passes, log", 0, 1),
	}
	costGlobal = []Feature{
		globalPrice:     feature("gpu_price", "price of a GPU-hour in this hour, of the highest of the day; 0 without a tariff", 0, 1),
		globalNextPrice: feature("gpu_price_1h", "the same an hour later", 0, 1),
		globalTogether:  feature("cluster_cost", "what an hour costs now of the cluster as a whole, log", 0, 1),
	}
	pricedJob          = slices.Concat(jobFeatures, costJob)
	uncertainPricedJob = slices.Concat(uncertainJob, costJob)
	pricedGlobal       = slices.Concat(globalFeatures, costGlobal)
)

// ShowsCosts reports whether rows of jobs with these features show what jobs cost.
func ShowsCosts(job []Feature) bool {
	return slices.ContainsFunc(job, func(f Feature) bool { return f.Name == costJob[0].Name })
}

// costs computes the features of an objective.
type costs struct {
	objective *objectives.Objective // that the foresight is of
	foresight *objectives.Foresight
	scale     float64
}

func (c *costs) look(o *objectives.Objective, s *cluster.View) {
	if c.objective != o {
		c.objective, c.foresight = o, objectives.NewForesight(o)
		c.scale = c.foresight.Scale()
	}
	c.foresight.Look(s)
}

// log maps a cost to [0, 1] on a logarithmic scale: the largest price of the objective to 0.5, a thousandth of it to 0.05, and a
// thousand times as much to 1.
func (c *costs) log(cost float64) float32 {
	if cost == 0 {
		return 0
	}
	return float32(min(math.Log1p(1e3*cost/c.scale)/logCostSpan, 1))
}

// logCostSpan is log1p(10^6).
const logCostSpan = 13.815511557963775

func (c *costs) observeJob(id cluster.JobID, row []float32) {
	x := c.foresight.Curve(id)
	row[jobWaitCost], row[jobRunCost] = c.log(x.Wait), c.log(x.Run)
	row[jobWaitCostAfter], row[jobRunCostAfter] = row[jobWaitCost], row[jobRunCost]
	if x.Change < cluster.Never {
		row[jobWaitCostAfter], row[jobRunCostAfter] = c.log(x.WaitAfter), c.log(x.RunAfter)
	}
	row[jobStopCost], row[jobLossCost], row[jobMissCost] = c.log(x.Stop), c.log(x.Lose), c.log(x.Miss)
	row[jobCostChange], row[jobLimit] = logTime(x.Change), logTime(x.Limit)
	row[jobDeadline], row[jobLastStart] = logTime(x.Deadline), logTime(x.Start)
}

func (c *costs) observeGlobal(row []float32) {
	now, most := c.foresight.GPUPrice(0)
	next, _ := c.foresight.GPUPrice(time.Hour)
	if most > 0 {
		row[globalPrice], row[globalNextPrice] = float32(now/most), float32(next/most)
	}
	row[globalTogether] = c.log(c.foresight.Together())
}
