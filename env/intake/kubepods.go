package intake

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// addPod keeps a pod that has not failed. It notes what of it a snapshot cannot represent.
func (k *kubeCluster) addPod(r *strictjson.Reader) {
	p := readPod(r)
	title := p.title()
	if r.Err() != nil || p.Phase == "Failed" {
		return
	}
	p.fraction, _ = pods.FractionOf(p.neutral())
	if p.gpus > 0 {
		p.fraction = pods.Fraction{}
	}
	if p.Phase == "Succeeded" { // it counts for the size of its gang
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
		if p.Node != "" {
			k.rest = append(k.rest, p)
		}
		if !p.Deleting {
			k.helpers = append(k.helpers, p)
		}
	case p.Node == "" && p.Phase == "Running":
		k.lost = append(k.lost, title)
	case p.Node != "" && p.Deleting:
		k.leaving = append(k.leaving, p)
	case p.Deleting:
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
		n := k.nodes[p.Node]
		switch {
		case p.Phase == "Succeeded" || p.Node == "":
		case n == nil:
			k.told.add("pods on nodes that are not in the input, left out: they count only for the quota of their queue",
				fmt.Sprintf("%s on %s", p.title(), p.Node))
			k.away = append(k.away, p)
			return true
		default:
			n.held += p.gpus
		}
		return false
	})
}
