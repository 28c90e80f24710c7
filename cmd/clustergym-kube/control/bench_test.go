package control

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/serve/decide"
)

// BenchmarkRound measures rounds on 1,000 nodes of 8 GPUs with 1,000 waiting gangs: it reads the objects, decides and finds the
// changes, without an API server. In the steady case one node in twenty has free GPUs. In the burst case every node may have free
// GPUs, and hundreds of gangs start at once. It reports the mean time of a round, and quantiles of the time of a decision.
func BenchmarkRound(b *testing.B) {
	for _, load := range []struct {
		name string
		idle int // one node in so many has free GPUs
	}{{"steady", 20}, {"burst", 1}} {
		objects := contended(1000, load.idle, 1000)
		for _, policy := range []string{"fifo", "srsf", "sjfskip", "las", "prior", "released"} {
			b.Run(load.name+"/"+policy, func(b *testing.B) { benchmarkRound(b, decider(b, policy), objects) })
		}
	}
}

func benchmarkRound(b *testing.B, d *decide.Decider, objects *mirror.Objects) {
	var decisions []time.Duration
	for b.Loop() {
		v := must.Get(mirror.Build(objects, &reading, noon))(b)
		r := decideRound(v, d, "r", limits{})
		if len(r.failed) > 0 || len(r.bind) == 0 {
			b.Fatalf("%d gangs bound, %v", len(r.bind), r.failed)
		}
		decisions = append(decisions, time.Duration(r.answers[0].Decision.Seconds*float64(time.Second)))
	}
	slices.Sort(decisions)
	for _, p := range []int{50, 99} {
		at := decisions[min(len(decisions)*p/100, len(decisions)-1)]
		b.ReportMetric(float64(at.Microseconds())/1000, fmt.Sprintf("decision-p%d-ms", p))
	}
}

// contended returns a cluster in which one node in idle has 0 to 3 free GPUs and the others none, with the given number of
// waiting gangs.
func contended(nodes, idle, waiting int) *mirror.Objects {
	draw := rand.New(rand.NewPCG(1, 2))
	o := &mirror.Objects{ReclaimBy: noon}
	for i := range nodes {
		name := fmt.Sprintf("n%04d", i)
		o.Nodes = append(o.Nodes, node(name, 8, nil))
		free := draw.IntN(4)
		if i%idle > 0 {
			free = 0
		}
		for left := 8 - free; left > 0; {
			n := min(1+draw.IntN(4), left)
			left -= n
			on := slices.Repeat([]string{name}, n)
			g := crew{name: fmt.Sprintf("r%04d-%d", i, left), pods: n, least: n, gpus: 1, on: on, asked: 2 * time.Hour}
			o.Pods = append(o.Pods, g.list()...)
		}
	}
	for i := range waiting {
		n := 1 << draw.IntN(5)
		g := crew{name: fmt.Sprintf("w%04d", i), pods: n, least: n, gpus: 1, asked: time.Duration(1+draw.IntN(3600)) * time.Second}
		crew := g.list()
		for _, pod := range crew {
			pod.Annotations[pods.EstimateNote] = fmt.Sprintf("%dm", 1+draw.IntN(600))
		}
		o.Pods = append(o.Pods, crew...)
	}
	return o
}
