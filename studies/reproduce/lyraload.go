package reproduce

import (
	"cmp"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
)

// LyraJobs is the number of jobs of Lyra's trace.
const LyraJobs = 50390

// Lyra's setting (EuroSys 2023, §7.1; fractions of jobs from §2).
const (
	lyraDays      = 15
	lyraTraining  = 443 // servers of 8 V100
	lyraInference = 520 // servers of 8 T4: 4,160 GPUs

	lyraElastic      = 0.05 // fraction of the jobs
	lyraElasticLoad  = 0.36 // fraction of the training GPU-time
	lyraElasticTime  = 14.2 * float64(time.Hour/time.Second)
	lyraFungible     = 0.21
	lyraMixed        = 0.10
	lyraMixedSpeed   = 0.70
	lyraMost         = 2 // largest number of workers / requested number
	lyraRestart      = 63 * time.Second
	lyraWrongWithin  = 0.25 // fraction of the run time
	lyraImperfection = 0.8  // throughput of a worker beyond the least, relative to 1
)

// The calibration: the free parameters of the workload were set on calibrationSeed so that fifo resembles row 1 of Table 5, and
// not changed afterwards. TestCalibration checks this.
const (
	calibrationSeed = 1
	// lyraLoad is GPU-time requested / GPU-time of the training servers, over the 15 days.
	lyraLoad = 0.89
	lyraBusy = 1.2 // load of the rows that test a cluster without free room
	// The longest jobs. FIFO still runs the last of them after all others have ended.
	lyraLongest        = 3 * 24 * time.Hour
	lyraLongestElastic = 5 * 24 * time.Hour
)

// lyraArrivals returns the workload's parameters after the calibration: those of sizes, run times and bursts that the paper does
// not give. Its run times are those of rigid jobs; elasticJobs draws elastic jobs.
func lyraArrivals() trace.Params {
	size := func(workers int32, share float64) trace.SizeParams {
		return trace.SizeParams{Workers: workers, GPUMilli: cluster.WholeGPU, Share: share}
	}
	times := func(upTo int32, shorter float64) trace.DurationClass {
		return trace.DurationClass{
			MaxWorkers: upTo,
			Mixture:    []trace.Lognormal{{Weight: shorter, Mu: 4.3, Sigma: 1.5}, {Weight: 1 - shorter, Mu: 9.2, Sigma: 1.4}},
			Max:        10 * 86400, Passed: 1,
		}
	}
	return trace.Params{
		Name: "lyra",
		Arrivals: trace.ArrivalParams{
			PerDay: LyraJobs / lyraDays,
			Hourly: []float64{
				.79, .46, .33, .22, .13, .13, .13, .22, .46, 1, 2.1, 2.44, 1.49, 1.78, 2.44, 2.44, 2.44, 2.1, 1.78, 1.49, 1.49, 1.49, 1.23, 1,
			},
			DaySpread: .1, CV: 2,
		},
		Sizes: []trace.SizeParams{
			size(1, .45), size(2, .15), size(4, .14), size(8, .16), size(16, .06), size(32, .028), size(64, .012),
		},
		Durations: []trace.DurationClass{times(2, .76), times(8, .72), times(64, .68)},
		Users:     trace.UserParams{Count: 400, Zipf: .9, Sticky: .4, Repeat: .3, Spread: .05},
	}
}

// variant is what a row of the tables changes.
type variant struct {
	elastic    share   // which jobs are elastic: none, the fraction lyraElastic, or all
	fungible   float64 // fraction of the jobs
	mixed      float64 // fraction of the jobs that may hold both GPU types at once
	ideal      bool    // gangs on both types lose nothing
	load       float64 // of the training servers; 0 stands for lyraLoad
	even       bool    // a job loses no speed on loan
	gain       float64 // throughput of a worker beyond the least; 0 stands for 1
	checkpoint bool    // a stopped job keeps its progress
	wrong      float64 // fraction of the estimates that are wrong
}

type share uint8

const (
	none share = iota
	some
	every
)

// lyraWorkload draws the jobs. Draws depend only on the seed and the job, so that all variants of one seed have the same jobs,
// sizes and run times.
func lyraWorkload(v variant, scale float64, n, gpus int, seed uint64) ([]trace.Job, error) {
	w, err := trace.Generate(lyraArrivals(), n, rng.Derive(seed, "reproduce", "lyra"))
	if err != nil {
		return nil, err
	}
	jobs := w.Jobs
	span := float64(lyraDays*24*time.Hour) / float64(max(jobs[n-1].Submit-jobs[0].Submit, 1))
	first := jobs[0].Submit
	for i := range jobs {
		if j := &jobs[i]; j.Workers > perServer { // a gang of a tenth of the cluster remains one
			j.Workers = max(perServer, perServer*int32(math.Round(scale*float64(j.Workers)/perServer)))
		}
	}
	elastic := elasticJobs(jobs, seed)
	scaleWork(jobs, elastic, loadAt(cmp.Or(v.load, lyraLoad), scale)*float64(gpus)*(lyraDays*24*time.Hour).Seconds())
	draw := rng.Stream(seed, "reproduce", "lyra", "kinds")
	wrong := rng.Stream(seed, "reproduce", "lyra", "estimates")
	for i := range jobs {
		j := &jobs[i]
		j.Submit = time.Duration(float64(j.Submit-first) * span).Truncate(time.Second)
		kind, errs, by := draw.Float64(), wrong.Float64(), wrong.Float64()
		j.GPUType = homeType
		if j.Mixed = kind >= 1-v.mixed; j.Mixed || kind < v.fungible {
			j.GPUType = ""
		}
		if v.elastic == every || v.elastic == some && elastic[i] {
			j.MinWorkers, j.MaxWorkers = j.Workers, lyraMost*j.Workers
		}
		j.Estimate = j.Work
		if errs < v.wrong {
			j.Estimate = time.Duration(float64(j.Work) * (1 + lyraWrongWithin*(2*by-1)))
		}
	}
	return jobs, nil
}

// elasticJobs makes the fraction lyraElastic of the jobs elastic, with the paper's sizes and times: larger and longer than the
// others.
func elasticJobs(jobs []trace.Job, seed uint64) []bool {
	draw := rng.Stream(seed, "reproduce", "lyra", "elastic")
	elastic := make([]bool, len(jobs))
	for i := range jobs {
		pick, size, time := draw.Float64(), draw.Float64(), draw.NormFloat64()
		if pick >= lyraElastic {
			continue
		}
		elastic[i] = true
		j := &jobs[i]
		switch {
		case size < .25:
			j.Workers = 2
		case size < .6:
			j.Workers = 4
		default:
			j.Workers = 8
		}
		j.Work = seconds(math.Exp(.85 * time))
	}
	return elastic
}

// scaleWork scales run times so that each of the two kinds of jobs has exactly its share of total, a number of GPU-seconds, and
// no job runs longer than the limit of its kind.
func scaleWork(jobs []trace.Job, elastic []bool, total float64) {
	for _, kind := range []struct {
		elastic bool
		total   float64
		longest time.Duration
	}{{false, total * (1 - lyraElasticLoad), lyraLongest}, {true, total * lyraElasticLoad, lyraLongestElastic}} {
		for range 50 { // repeat, because what the limit cuts off goes to the other jobs
			asked := 0.0
			for i := range jobs {
				if elastic[i] == kind.elastic {
					asked += jobs[i].GPUs() * jobs[i].Work.Seconds()
				}
			}
			if asked == 0 || math.Abs(kind.total/asked-1) < 1e-6 {
				break
			}
			for i := range jobs {
				if elastic[i] == kind.elastic {
					work := min(seconds(jobs[i].Work.Seconds()*kind.total/asked), kind.longest)
					jobs[i].Work = max(work, time.Second)
				}
			}
		}
	}
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// loadAt returns the load for a cluster of another size. By the square-root rule its relative slack is proportional to 1/√size,
// so that random fluctuations are equally dangerous for small and large clusters.
func loadAt(load, scale float64) float64 {
	if load >= 1 {
		return load
	}
	return max(.3, 1-(1-load)/math.Sqrt(scale))
}
