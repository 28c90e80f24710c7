package reproduce

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/sim"
)

// ASRPTOptions are the options of A-SRPT's experiments.
type ASRPTOptions struct {
	Scale Scale
}

// asrptSet contains A-SRPT as reconstructed, then two less likely readings, then the comparison set. In both readings later jobs
// may start when the first in the queue does not fit; in the second, jobs also need not wait for their end on the virtual
// machine.
var asrptSet = []string{"a-srpt", backfilling, projected, "spjf", "spwf", "wcs-duration", "wcs-workload", "wcs-subtime"}

const (
	backfilling = "a-srpt:backfill=true"
	projected   = "a-srpt:backfill=true:start=projected"
)

// setting is what A-SRPT's experiments vary.
type setting struct {
	load  float64 // GPU-time requested / GPU-time of the cluster
	heavy float64 // fraction of the jobs that train models with much communication
}

// asrptBase is the setting that each experiment varies.
var asrptBase = setting{load: .7, heavy: .6}

// ASRPT returns experiments in the style of A-SRPT (Luo et al., INFOCOM 2025, arXiv:2501.05563), of which only the abstract
// could be read: its comparison set over load, fraction of jobs that communicate much, prediction error and delay threshold.
// There are no published figures to compare with. The claims are only about order, and the paper's abstract claims no more than
// that A-SRPT comes first.
func ASRPT(o ASRPTOptions) (*Experiment, error) {
	if err := o.Scale.Validate(); err != nil {
		return nil, err
	}
	b := asrptBuilder{scale: o.Scale}
	for _, load := range []float64{.4, .55, asrptBase.load, .85} {
		s := asrptBase
		s.load = load
		name := fmt.Sprintf("Load %g, %g %% of jobs communicate much", load, 100*s.heavy)
		b.compare(fmt.Sprintf("load-%g", load), name, s, asrptSet)
	}
	for _, heavy := range []float64{0, .3, 1} {
		s := asrptBase
		s.heavy = heavy
		name := fmt.Sprintf("%g %% of jobs communicate much, load %g", 100*heavy, s.load)
		b.compare(fmt.Sprintf("heavy-%g", heavy), name, s, asrptSet)
	}
	for _, p := range []string{"granted", "group-mean", "group-median", "noisy(0.5)", "noisy(1)", "noisy(2)"} {
		var policies []string
		for _, name := range asrptSet[:len(asrptSet)-1] { // the last uses no predictor
			policies = append(policies, name+":predictor="+p)
		}
		b.compare("predictor-"+p, fmt.Sprintf("Predictor %s, load %g", p, asrptBase.load), asrptBase, policies)
	}
	all := asrptBase
	all.heavy = 1
	for _, tau := range []float64{0, .1, .5, 1, 2} {
		b.row("tau", fmt.Sprintf("Delay threshold τ, 100 %% of jobs communicate much, load %g", all.load), all,
			fmt.Sprintf("a-srpt:tau=%g", tau))
	}
	b.order("A-SRPT with the delay rule before one without", "tau/a-srpt:tau=0.5", "tau/a-srpt:tau=0")
	const mapping = "Mapping, load %g"
	for _, options := range []string{
		":place=bestfit", ":place=firstfit", ":place=random", ":tau=0", ":tau=0:place=firstfit", ":tau=0:place=random",
	} {
		b.row("mapping", fmt.Sprintf(mapping, asrptBase.load), asrptBase, "a-srpt"+options)
	}
	base := fmt.Sprintf("load-%g/a-srpt", asrptBase.load)
	b.order("Heavy-Edge mapping before first fit", base, "mapping/a-srpt:place=firstfit")
	b.order("Heavy-Edge mapping before random", base, "mapping/a-srpt:place=random")
	b.order("without the delay rule: Heavy-Edge mapping before first fit",
		"mapping/a-srpt:tau=0", "mapping/a-srpt:tau=0:place=firstfit")
	b.order("without the delay rule: Heavy-Edge mapping before random", "mapping/a-srpt:tau=0", "mapping/a-srpt:tau=0:place=random")
	b.row("rules", fmt.Sprintf("Start in projected order, load %g", asrptBase.load), asrptBase, "a-srpt:start=projected")
	plain := b.row("rules", fmt.Sprintf("Start in projected order, load %g", asrptBase.load), asrptBase, projected+":tau=0")
	first := []string{plain}
	for _, p := range asrptSet[3:] {
		first = append(first, fmt.Sprintf("load-%g/%s", asrptBase.load, p))
	}
	b.claims = append(b.claims, Claim{
		Text: "A-SRPT that backfills in projected order, without the delay rule, first", Metric: jctMean, First: first,
	})
	b.order("perfect predictions before the forest's", "predictor-granted/a-srpt:predictor=granted", base)
	b.order("the forest before group means", base, "predictor-group-mean/a-srpt:predictor=group-mean")
	b.order("less prediction error, lower JCT", "predictor-granted/a-srpt:predictor=granted",
		"predictor-noisy(0.5)/a-srpt:predictor=noisy(0.5)", "predictor-noisy(1)/a-srpt:predictor=noisy(1)",
		"predictor-noisy(2)/a-srpt:predictor=noisy(2)")
	return &Experiment{
		Name: "a-srpt", Title: "A-SRPT-style: prediction-assisted online scheduling",
		Columns: []Metric{jctMean, jctMedian, jctP95, completionSum, queueMean, queueMedian, trainingUse},
		Rows:    b.rows, Claims: b.claims, About: asrptAbout(o),
	}, nil
}

// asrptBuilder collects rows and claims.
type asrptBuilder struct {
	scale  Scale
	rows   []Row
	claims []Claim
}

func (b *asrptBuilder) row(key, table string, s setting, policy string) string {
	key += "/" + policy
	b.rows = append(b.rows, Row{
		Key: key, Table: table, Name: policy, Policy: policy, Paper: unknown(),
		episode: func(seed uint64) (sim.Episode, error) { return asrptEpisode(s, b.scale, seed) },
	})
	return key
}

// compare adds a row for each policy. The first three are readings of A-SRPT; for each of them it adds the claim that it is
// better than all policies of the comparison set.
func (b *asrptBuilder) compare(key, table string, s setting, policies []string) {
	var keys []string
	for _, p := range policies {
		keys = append(keys, b.row(key, table, s, p))
	}
	for i, name := range []string{"A-SRPT", "A-SRPT that backfills", "A-SRPT that backfills in projected order"} {
		first := append([]string{keys[i]}, keys[3:]...)
		b.claims = append(b.claims, Claim{Text: name + " first: " + table, Metric: jctMean, First: first})
	}
}

func (b *asrptBuilder) order(text string, keys ...string) {
	b.claims = append(b.claims, Claim{Text: text, Metric: jctMean, Order: slices.Clone(keys)})
}
