package intake

import (
	"maps"
	"slices"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// flavor is a ResourceFlavor: which nodes the pods of a Workload may use that Kueue admits to it, and what they then tolerate.
type flavor struct {
	Labels      map[string]string `kube:"nodeLabels,texts"`
	Tolerations []toleration      `kube:"tolerations"`
}

func (k *kubeCluster) readFlavor(r *strictjson.Reader) {
	var of struct {
		meta `kube:"metadata"`
		Spec *flavor `kube:"spec"`
	}
	if r.Struct(&of); of.Spec == nil {
		of.Spec = &flavor{}
	}
	k.kueue.flavors[of.Name] = of.Spec
}

// mostTerms is the most ways in which a job may be placed that are kept.
const mostTerms = 1 << 10

// restrict keeps the first pod of a Workload that waits on the nodes of the flavors with GPUs of its queue, and lets it tolerate
// what these say.
func (k *kubeCluster) restrict(w *workload, q *clusterQueue, first *pod) {
	const missing = "Workloads of queues with flavors that are not in the input (add resourceflavors): any node is taken to do"
	c, anywhere := &first.constraints, len(q.flavors) == 0
	var nodes [][]requirement
	for _, name := range q.flavors {
		f := k.kueue.flavors[name]
		if f == nil {
			f = &flavor{}
			if k.kinds > 1 {
				k.told.add(missing, w.job())
			}
		}
		anywhere = anywhere || len(f.Labels) == 0
		c.Tolerations = slices.Concat(c.Tolerations, f.Tolerations)
		var all []requirement
		for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
			all = append(all, requirement{key, "In", []string{f.Labels[key]}})
		}
		nodes = append(nodes, all)
	}
	switch {
	case anywhere:
	case len(nodes)*len(c.terms) > mostTerms:
		k.told.add("Workloads with too many flavors and terms of node affinity: those of the flavors are not kept", w.job())
	default:
		c.within(nodes)
	}
}

// within adds that one of several lists of requirements must hold.
func (c *constraints) within(nodes [][]requirement) {
	own := c.terms
	if !c.affine {
		own = [][]requirement{nil}
	}
	var terms [][]requirement
	for _, t := range own {
		if c.affine && len(t) == 0 { // it holds for no node
			continue
		}
		for _, n := range nodes {
			terms = append(terms, slices.Concat(t, n))
		}
	}
	c.terms, c.affine = terms, true
}
