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
	k.noteResources("pods", title, p, p.workers() > 0)
	switch {
	case p.workers() == 0:
		if p.node != "" {
			k.rest = append(k.rest, p)
		}
		if !p.deleting {
			k.helpers = append(k.helpers, p)
		}
	case p.node == "" && p.phase == "Running":
		k.lost = append(k.lost, title)
	case p.node != "" && p.deleting:
		k.leaving = append(k.leaving, p)
	case p.deleting:
		k.told.add("waiting pods that are being deleted, left out", title)
	default:
		k.notePod(p)
		k.pods = append(k.pods, p)
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
			k.told.add("pods on nodes that are not in the input, left out: they count only for the quota of their queue",
				fmt.Sprintf("%s on %s", p.title(), p.node))
			k.away = append(k.away, p)
			return true
		default:
			n.held += p.gpus
		}
		return false
	})
}
