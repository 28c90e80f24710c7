package intake

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// addPod keeps a pod that has not failed. It notes what of it a snapshot cannot represent.
func (k *kubeCluster) addPod(r *strictjson.Reader) {
	p := k.readPod(r)
	title := p.title()
	if r.Err() != nil || p.phase == "Failed" {
		return
	}
	p.fraction, _ = pods.FractionOf(p.neutral())
	if p.gpus > 0 {
		p.fraction = pods.Fraction{}
	}
	if p.phase == "Succeeded" { // it counts for the size of its gang
		k.pods = append(k.pods, p)
		return
	}
	if k.titles[title] {
		r.Bad("metadata.name", title, "each pod once")
	}
	k.titles[title] = true
	k.tellOthers(p)
	switch {
	case p.workers() == 0:
		if p.node != "" {
			k.rest = append(k.rest, p)
		}
		if !p.deleting {
			k.helpers = append(k.helpers, p)
		}
	case p.node != "" && p.deleting:
		k.leaving = append(k.leaving, p)
	case p.deleting:
		k.told.add("waiting pods that are being deleted, left out", title)
	default:
		for _, field := range p.constraints.others {
			k.told.add("pods whose required "+field+" a snapshot cannot represent", title)
		}
		k.pods = append(k.pods, p)
	}
}

// tellOthers notes what else a pod asks for than the GPUs, CPU and memory of a snapshot.
func (k *kubeCluster) tellOthers(p *pod) {
	title := p.title()
	slices.Sort(p.others)
	for _, resource := range slices.Compact(p.others) {
		if p.workers() > 0 {
			k.told.add("pods with GPUs that also ask for "+resource+", which a snapshot does not model", title)
		} else {
			k.told.add("pods that ask for "+resource+" and for no "+k.GPU+", left out", title)
		}
	}
	if p.claims {
		k.told.add("pods with resource claims, whose devices are not counted", title)
	}
}

// placed leaves out the pods on nodes that are not in the input, and adds the whole GPUs of the others to their nodes. Those that
// only count for the size of their gang hold none.
func (k *kubeCluster) placed(list []*pod) []*pod {
	return slices.DeleteFunc(list, func(p *pod) bool {
		n := k.nodes[p.node]
		switch {
		case p.phase == "Succeeded" || p.node == "":
		case n == nil:
			k.told.add("pods on nodes that are not in the input, left out", fmt.Sprintf("%s on %s", p.title(), p.node))
			return true
		default:
			n.gpus += p.gpus
		}
		return false
	})
}
