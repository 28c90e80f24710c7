package reproduce

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/env/sim"
)

// LyraOptions are the options of Lyra's experiments.
type LyraOptions struct {
	Scale     Scale
	Predictor Predictor // of inference usage
}

// The policies of Lyra's tables, as baselines.New reads them.
const (
	lyraAlone     = "lyra-literal"
	lyraBoth      = lyraAlone + "+loan"
	lyraRandom    = lyraBoth + ":reclaim=random"
	lyraSCF       = lyraBoth + ":reclaim=scf"
	lyraPlain     = "lyra-plain+loan"
	fifoPolicy    = "fifo"
	opportunistic = "opportunistic"
	gandivaPolicy = "gandiva"
	afsPolicy     = "afs"
	polluxPolicy  = "pollux-literal"
	sensitivity   = "Sensitivity (§7.2 to §7.4)"
	loaningOnly   = "Table 5: loaning only"
	scalingOnly   = "Table 5: scaling only"
	evenSpeed     = "Own: as if a job lost no speed on loan"
	busyLoad      = "Own: more work than the training servers can do"
	table5        = "Table 5: scenarios"
	table6        = "Table 6: no special placement of elastic jobs"
)

// Lyra returns the experiments of Lyra (Li et al., EuroSys 2023), whose preprint is Aryl (arXiv:2202.07896): Table 5 except its
// last row, Table 6, and the numbers in §7.2 to §7.4.
func Lyra(o LyraOptions) (*Experiment, error) {
	if err := o.Scale.Validate(); err != nil {
		return nil, err
	}
	e := &Experiment{
		Name:  "aryl",
		Title: "Lyra (Aryl): elastic scheduling with capacity loaning",
		Columns: []Metric{
			queueMean, queueMedian, queueP95, jctMean, jctMedian, jctP95, trainingUse, overallUse,
			trainingEnd, overallEnd, preemptionRate, unforced, loanUse,
		},
		Claims: lyraClaims(),
		About:  lyraAbout(o),
	}
	for _, r := range lyraRows() {
		r.row.episode = func(seed uint64) (sim.Episode, error) { return lyraEpisode(r.variant, o.Scale, o.Predictor, seed) }
		e.Rows = append(e.Rows, r.row)
	}
	return e, nil
}

// lyraRow is a row of Lyra's tables.
type lyraRow struct {
	row Row
	variant
}

// lyraRows returns the rows with the paper's figures, in the paper's order.
func lyraRows() []lyraRow {
	basic := variant{elastic: some, fungible: lyraFungible}
	with := func(change func(*variant)) variant {
		v := basic
		change(&v)
		return v
	}
	advanced := with(func(v *variant) { v.mixed = lyraMixed })
	heterogeneous := with(func(v *variant) { v.fungible, v.mixed = 0, lyraMixed })
	ideal := variant{elastic: every, mixed: 1, ideal: true}
	imperfect := ideal
	imperfect.gain = lyraImperfection
	loaning := with(func(v *variant) { v.elastic = none })
	scaling := with(func(v *variant) { v.fungible = 0 })
	row := func(key, table, name, policy string, v variant, paper Figures) lyraRow {
		return lyraRow{Row{Key: key, Table: table, Name: name, Policy: policy, Paper: paper}, v}
	}
	percent := func(x float64) float64 { return x / 100 }
	full := func(queue, queue50, queue95, jct, jct50, jct95, training, overall, preempted float64) Figures {
		return known(map[Metric]float64{
			queueMean: queue, queueMedian: queue50, queueP95: queue95, jctMean: jct, jctMedian: jct50, jctP95: jct95,
			trainingUse: training, overallUse: overall, preemptionRate: percent(preempted), unforced: math.NaN(),
		})
	}
	scaled := func(queue, queue50, queue95, jct, jct50, jct95, training float64) Figures {
		return full(queue, queue50, queue95, jct, jct50, jct95, training, math.NaN(), math.NaN())
	}
	some := func(queue, jct, preempted float64) Figures {
		return known(map[Metric]float64{queueMean: queue, jctMean: jct, preemptionRate: percent(preempted)})
	}
	unforced := func(f Figures, share float64) Figures {
		f[unforced] = share
		return f
	}
	rows := []lyraRow{
		row("fifo", table5, "FIFO, no loans, no scaling", fifoPolicy, basic, full(3072, 55, 8357, 16610, 791, 82933, .72, .52, 0)),
		row("basic", table5, "Lyra, Basic", lyraBoth, basic, unforced(full(2010, 26, 3358, 11236, 568, 56477, .86, .65, 12.24), .535)),
		row("advanced", table5, "Lyra, Advanced", lyraBoth, advanced, full(1835, 24, 3238, 10434, 525, 56553, .86, .68, 7.35)),
		row("heterogeneous", table5, "Lyra, Heterogeneous", lyraBoth, heterogeneous,
			full(1944, 27, 3574, 12113, 604, 57392, .78, .64, 11.23)),
		row("ideal", table5, "Lyra, Ideal", lyraBoth, ideal, unforced(full(1157, 22, 3204, 8891, 422, 41146, .93, .72, 5.72), .835)),

		row("opportunistic", loaningOnly, "Opportunistic", opportunistic, loaning,
			full(2788, 22, 5256, 14828, 744, 67843, .74, .63, 19.35)),
		row("random", loaningOnly, "Random", lyraRandom, loaning, full(2901, 23, 5478, 14678, 731, 62923, .76, .64, 20.89)),
		row("scf", loaningOnly, "SCF", lyraSCF, loaning, full(2783, 24, 4994, 14923, 695, 62456, .76, .64, 17.48)),
		row("loaning", loaningOnly, "Lyra", lyraBoth, loaning, full(2212, 23, 3427, 12947, 662, 57987, .76, .65, 14.94)),

		row("gandiva", scalingOnly, "Gandiva", gandivaPolicy, scaling, scaled(3035, 49, 6632, 15912, 755, 80567, .79)),
		row("afs", scalingOnly, "AFS", afsPolicy, scaling, scaled(2284, 47, 3488, 15045, 686, 60883, .95)),
		row("pollux", scalingOnly, "Pollux", polluxPolicy, scaling, scaled(2791, 58, 5883, 14534, 721, 72123, .93)),
		row("scaling", scalingOnly, "Lyra", lyraAlone, scaling, scaled(2275, 47, 3475, 12048, 602, 57597, .92)),

		row("plain-basic", table6, "Basic", lyraPlain, basic, some(2231, 13872, 13.22)),
		row("plain-advanced", table6, "Advanced", lyraPlain, advanced, some(1944, 12474, 10.04)),
		row("plain-ideal", table6, "Ideal", lyraPlain, ideal, some(1273, 9982, 10.93)),

		row("imperfect-basic", sensitivity, "Basic, a worker more brings 80 %", lyraBoth,
			with(func(v *variant) { v.gain = lyraImperfection }),
			known(map[Metric]float64{queueMean: 2010 * 1.0303, jctMean: 11236 * 1.0582})),
		row("imperfect-ideal", sensitivity, "Ideal, a worker more brings 80 %", lyraBoth,
			imperfect, known(map[Metric]float64{jctMean: 9828})),
		row("checkpoint", sensitivity, "loaning only, with checkpoints", lyraBoth,
			with(func(v *variant) { v.elastic, v.checkpoint = none, true }),
			known(map[Metric]float64{jctMean: 12947 / 1.24, preemptionRate: .0026})),
	}
	for _, wrong := range []struct{ percent, queue, jct float64 }{{20, 2.21, 1.52}, {40, 2.17, 1.49}, {60, 1.76, 1.38}} {
		rows = append(rows, row(fmt.Sprintf("wrong-%g", wrong.percent), sensitivity,
			fmt.Sprintf("Basic, %g %% of estimates wrong", wrong.percent), lyraBoth,
			with(func(v *variant) { v.wrong = percent(wrong.percent) }),
			known(map[Metric]float64{queueMean: 3072 / wrong.queue, jctMean: 16610 / wrong.jct})))
	}
	busy := func(v variant) variant {
		v.load = lyraBusy
		return v
	}
	even := func(v variant) variant {
		v.even = true
		return v
	}
	rows = append(rows,
		row("even-basic", evenSpeed, "Basic", lyraBoth, even(basic), unknown()),
		row("even-advanced", evenSpeed, "Advanced", lyraBoth, even(advanced), unknown()),
		row("even-plain", evenSpeed, "Basic, no special placement", lyraPlain, even(basic), unknown()),
		row("even-loaning", evenSpeed, "loaning only", lyraBoth, even(loaning), unknown()),
		row("busy-fifo", busyLoad, "FIFO", fifoPolicy, busy(basic), unknown()),
		row("busy-basic", busyLoad, "Lyra, Basic", lyraBoth, busy(basic), unknown()),
		row("busy-plain", busyLoad, "Basic, no special placement", lyraPlain, busy(basic), unknown()),
		row("busy-scaling", busyLoad, "scaling only", lyraAlone, busy(scaling), unknown()),
		row("busy-random", busyLoad, "loaning only, Random", lyraRandom, busy(loaning), unknown()),
		row("busy-scf", busyLoad, "loaning only, SCF", lyraSCF, busy(loaning), unknown()),
		row("busy-loaning", busyLoad, "loaning only, Lyra", lyraBoth, busy(loaning), unknown()),
		row("busy-checkpoint", busyLoad, "loaning only, Lyra, with checkpoints", lyraBoth,
			busy(with(func(v *variant) { v.elastic, v.checkpoint = none, true })), unknown()))
	return rows
}
