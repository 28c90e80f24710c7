package intake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// mostNested is how deep lists may stand in lists: jq -s makes a list of what several commands printed, and a List may contain
// lists of one kind.
const mostNested = 3

// kindOf is what a list says about its items, or an object about itself.
type kindOf struct{ kind, version string }

// readText reads what kubectl prints: a list of objects or a single one, or several of these one after the other.
func (k *kubeCluster) readText(r *strictjson.Reader) {
	for _, at := range r.Values(mostObjects) {
		k.readValue(r, element{"", at}, kindOf{}, 0)
	}
}

// readValue reads a list or an object. common is what the list around it says about its items, which need not repeat it.
func (k *kubeCluster) readValue(r *strictjson.Reader, e element, common kindOf, depth int) {
	r.Return(e.path, e.at)
	if r.IsList() {
		k.readList(r, e, common, depth)
		return
	}
	own, list := kindOf{}, element{}
	r.Fields([]string{"items", "kind", "apiVersion"}, 0, func(field int) {
		switch field {
		case 0:
			list = element{within(e.path, "items"), r.Skip()}
		case 1:
			own.kind = name(r)
		default:
			own.version = name(r)
		}
	})
	of, named := strings.CutSuffix(own.kind, "List")
	switch {
	case r.Err() != nil:
	case own.kind == "" && list.path == "" && common.kind == "" && depth == 0:
		r.Bad("items", "missing", "a list, as kubectl get -o json prints, or an object with a kind")
	case own.kind == "" && list.path != "" || named:
		if of != "" {
			common = kindOf{of, own.version}
		}
		k.readList(r, list, common, depth)
	default:
		r.Return(e.path, e.at)
		k.readObject(r, kindOf{cmp.Or(own.kind, common.kind), cmp.Or(own.version, common.version)})
	}
}

func within(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// readList reads the objects of a list, which may be null or missing.
func (k *kubeCluster) readList(r *strictjson.Reader, list element, common kindOf, depth int) {
	r.Return(list.path, list.at)
	if list.at == (strictjson.Place{}) || r.Null() {
		return
	}
	if depth == mostNested {
		r.Refuse(fmt.Sprintf("objects, or lists at most %d deep", mostNested))
	}
	var items []element
	r.List(mostObjects, func(i int) { items = append(items, element{fmt.Sprintf("%s[%d]", list.path, i), r.Skip()}) })
	for _, item := range items {
		if r.Err() != nil {
			return
		}
		k.readValue(r, item, common, depth+1)
	}
}

// readObject reads an object of a known kind.
func (k *kubeCluster) readObject(r *strictjson.Reader, of kindOf) {
	k.read[of.kind]++
	k.label = map[string]func(string) bool{"Node": anyKey, "Pod": isPodLabel}[of.kind]
	if slices.Contains(owningKinds, of.kind) {
		k.label = isPodLabel
	}
	switch kueue := strings.HasPrefix(of.version, "kueue.x-k8s.io/"); {
	case of.kind == "Node":
		k.addNode(r)
	case of.kind == "Pod":
		k.addPod(r)
	case of.kind == "PodGroup":
		k.addGroup(r, of.version)
	case of.kind == "ClusterQueue" && kueue:
		k.readQueue(r, of.kind, k.kueue.queues)
	case of.kind == "LocalQueue" && kueue:
		k.readLocalQueue(r)
	case of.kind == "Workload" && kueue:
		k.readWorkload(r)
	case of.kind == "Cohort" && kueue:
		k.readQueue(r, of.kind, k.kueue.cohorts)
	case of.kind == "ResourceFlavor" && kueue:
		k.readFlavor(r)
	case slices.Contains(owningKinds, of.kind):
		k.addOwner(r)
	case of.kind == "ResourceSlice" && strings.HasPrefix(of.version, "resource.k8s.io/"):
		k.readResourceSlice(r)
	case of.kind == "Status":
		var status struct {
			Message string `kube:"message,text"`
		}
		r.Struct(&status)
		r.Bad("message", status.Message, "objects: kubectl could not get them")
	default:
		k.told.add("objects of kinds that are not read, ignored", cmp.Or(of.kind, "one without a kind"))
	}
}
