package reproduce

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
)

// The size of A-SRPT's experiments: own choices, because the paper's sizes are unknown.
const (
	asrptServers = 64 // of 8 GPUs
	asrptJobs    = 4000
	asrptRack    = 8 // servers per rack
	asrptIntra   = 12.5
	asrptNIC     = 1.25
	asrptUplink  = 40 // GB/s

	asrptRecurring = .8 // fraction of the jobs
	asrptPerUser   = 6  // number of recurring jobs per user
	asrptVariation = .2 // standard deviation of the logarithm of their run times
)

// Jobs of heavyModels communicate much: scattered over servers they take 4 to 20 times as long. Those of lightModels take up to
// about 2 times as long.
var (
	heavyModels = []string{"bert-large", "gpt2-1.5b", "llama-7b", "transformer-64"}
	lightModels = []string{"a3c", "recommendation-4096", "recommendation-8192"}
)

// asrptArrivals returns the parameters of the workload before recur makes jobs recur.
func asrptArrivals() trace.Params {
	size := func(workers int32, share float64) trace.SizeParams {
		return trace.SizeParams{Workers: workers, GPUMilli: cluster.WholeGPU, Share: share}
	}
	flat := make([]float64, 24)
	for i := range flat {
		flat[i] = 1
	}
	return trace.Params{
		Name:     "a-srpt",
		Arrivals: trace.ArrivalParams{PerDay: 400, Hourly: flat, DaySpread: .1, CV: 1.5},
		Sizes:    []trace.SizeParams{size(1, .3), size(2, .15), size(4, .2), size(8, .2), size(16, .1), size(32, .05)},
		Durations: []trace.DurationClass{{
			MaxWorkers: 32, Mixture: []trace.Lognormal{{Weight: 1, Mu: 7.6, Sigma: 1.3}}, Max: 3 * 86400, Passed: 1,
		}},
		Users: trace.UserParams{Count: 30, Zipf: 1, Sticky: .4}, // recur makes the users' jobs recur
	}
}

// recur makes most jobs runs of recurring jobs, as the paper says of its jobs. The first run of a recurring job determines size
// and run time; later runs have that size and about that run time. Group identifies the recurring job.
func recur(jobs []trace.Job, seed uint64) {
	draw := rng.Stream(seed, "reproduce", "a-srpt", "recur")
	first := map[string]int{}
	for i := range jobs {
		recurs, which, vary := draw.Float64(), draw.Float64(), draw.NormFloat64()
		if recurs >= asrptRecurring {
			continue
		}
		j := &jobs[i]
		// The square of a uniform number favours low numbers: some jobs run often, others rarely.
		j.Group = fmt.Sprintf("%s/%d", j.User, int(which*which*asrptPerUser))
		k, again := first[j.Group]
		if !again {
			first[j.Group] = i
			continue
		}
		j.Workers = jobs[k].Workers
		j.Work = max(time.Second, seconds(jobs[k].Work.Seconds()*math.Exp(asrptVariation*vary)))
	}
}

// asrptMix returns the mix of models; heavy is the fraction of the jobs that train heavyModels.
func asrptMix(heavy float64) trace.Mix {
	var models []trace.Weighted
	add := func(names []string, share float64, parallel bool) {
		for _, name := range names {
			if share > 0 {
				models = append(models, trace.Weighted{Model: name, Weight: share / float64(len(names)), Parallel: parallel})
			}
		}
	}
	add(heavyModels, heavy, true)
	add(lightModels, 1-heavy, false)
	return trace.Mix{Parallel: .5, Classes: []trace.Class{{Models: models}}}
}

func asrptEpisode(s setting, scale Scale, seed uint64) (sim.Episode, error) {
	servers := max(4, scale.of(asrptServers)) // the largest gang needs 4
	spec := cluster.Uniform(servers, perServer)
	for i := range spec.Servers {
		spec.Servers[i].Rack = int32(1 + i/asrptRack)
	}
	w, err := trace.Generate(asrptArrivals(), scale.of(asrptJobs), rng.Derive(seed, "reproduce", "a-srpt"))
	if err != nil {
		return sim.Episode{}, err
	}
	recur(w.Jobs, seed)
	if w, err = w.Rescale(s.load, servers*perServer); err != nil {
		return sim.Episode{}, err
	}
	mix := asrptMix(s.heavy)
	mix.Apply(w.Jobs, rng.Derive(seed, "reproduce", "a-srpt", "mix"))
	for i := range w.Jobs {
		w.Jobs[i].Estimate = w.Jobs[i].Work // used by predictor=granted and the noisy ones
	}
	return sim.Episode{Jobs: w.Jobs, Config: sim.Config{
		Cluster: spec, Physics: physics.Compose(physics.NewNetwork(asrptIntra, asrptNIC, asrptUplink)),
	}}, nil
}

// asrptAbout describes the experiments and their limits.
func asrptAbout(o ASRPTOptions) []string {
	return []string{
		`**No published figures.** The body of the paper could not be read: its workloads, cluster, settings and
results are unknown, and so is what exactly its comparison set does. What is held up here is order alone: that A-SRPT
comes first.`,
		`**Readings.** a-srpt is what is most likely: a job starts no sooner than it ends on the virtual machine (70
%), and the first of the queue blocks the others (60 %). The first rule costs waiting where GPUs are free, so no scheme
that waits for nothing can lose to it while nobody queues; the second idles GPUs while a large gang waits. Rows with
backfill=true and start=projected show what each is worth.`,
		fmt.Sprintf(`**Workload.** Generated, own choices throughout: %d jobs on %d servers of 8 GPUs, gangs of 1 to
32, run times of minutes to hours. %g %% of the jobs are runs of one of the %d that each of 30 users submits again and
again; run times of one differ by a factor of exp(%g·z), z normal, and its name is known (a job's group). Load is
isolated GPU-time over that of the cluster: what communication costs comes on top. Jobs that communicate much train
%s, half of the gangs in pipeline stages and tensor-parallel groups; the others train %s.`,
			o.Scale.of(asrptJobs), max(4, o.Scale.of(asrptServers)), 100*asrptRecurring, asrptPerUser, asrptVariation,
			list(heavyModels), list(lightModels)),
		fmt.Sprintf(`**Speed** follows from a job's mapping alone: network(%g,%g,%d) in GB/s, inside servers, of a NIC
and of the uplink of a rack of %d servers.`, asrptIntra, asrptNIC, asrptUplink, asrptRack),
		`**Choice of size.** The base load is one at which the comparison set still keeps up with what arrives:
scattered jobs run longer, so schemes fall behind well below a load of 1, and means then say more of the length of the
run than of the scheme. Above it, and with half the cluster, the most likely reading of A-SRPT is not first.`,
		`**Predictors.** All of the set share the random forest where nothing else is said. granted knows the truth,
noisy(σ) is it times exp(σ·z), z normal.`,
	}
}

// list joins names with commas and "and".
func list(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
