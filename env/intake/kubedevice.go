package intake

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// resource is an amount of an extended resource, such as amd.com/gpu.
type resource struct {
	name string
	n    int64
}

// makers are the domains of device plugins all of whose resources are accelerators, but for those with otherWords.
var makers = []string{
	"nvidia.com", "amd.com", "habana.ai", "huawei.com", "cambricon.com", "hygon.com", "enflame.com", "metax-tech.com",
	"mthreads.com", "kunlunxin.com", "iluvatar.ai", "iluvatar.com",
	"tenstorrent.com", "furiosa.ai", "rebellions.ai", "graphcore.ai", "qualcomm.com",
}

// deviceWords are parts of the names of accelerators, and otherWords of the names of what belongs to one but counts no devices.
var (
	deviceWords = []string{
		"gpu", "mig-", "tpu", "npu", "xpu", "mlu", "dcu", "gcu", "neuron", "gaudi", "ascend", "i915", "accelerator",
	}
	otherWords = []string{"mem", "core", "percent", "monitoring", "tiles", "hostdev", "rdma", "mlnx"}
)

// isAccelerator reports whether a resource seems to count GPUs or the like.
func isAccelerator(name string) bool {
	domain, of, _ := strings.Cut(strings.ToLower(name), "/")
	has := func(part string) bool { return strings.Contains(of, part) }
	if slices.ContainsFunc(otherWords, has) {
		return false
	}
	return of == "xe" || slices.ContainsFunc(deviceWords, has) || slices.ContainsFunc(makers, func(maker string) bool {
		return domain == maker || strings.HasSuffix(domain, "."+maker)
	})
}

// device is what all nodes together have of a resource.
type device struct {
	resource
	nodes int
	label string // of these nodes: what seems to be the type of the device
}

func (d *device) flags(typeLabel string) string {
	if d.label == "" || d.label == typeLabel {
		return "--gpu " + d.name
	}
	return "--gpu " + d.name + " --gpu-label " + d.label
}

// devices returns the other resources of some nodes that count accelerators, or if there are none all others, the most first.
func devices(nodes map[string]*node) []*device {
	all := map[string]*device{}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[name]
		for _, r := range n.devices() {
			o := all[r.name]
			if o == nil {
				o = &device{resource: resource{name: r.name}}
				all[r.name] = o
			}
			o.n, o.nodes, o.label = o.n+r.n, o.nodes+1, cmp.Or(o.label, n.productLabel(r.name))
		}
	}
	list := slices.SortedFunc(maps.Values(all), func(a, b *device) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name))
	})
	gpus := slices.DeleteFunc(slices.Clone(list), func(o *device) bool { return !isAccelerator(o.name) })
	if len(gpus) > 0 {
		return gpus
	}
	return list
}

// offered returns the resources of a node beside that which counts GPUs, whether they are allocatable or not.
func (n *node) devices() []resource {
	most := map[string]int64{}
	for _, r := range slices.Concat(n.Has.others, n.Whole.others) {
		most[r.name] = max(most[r.name], r.n)
	}
	var all []resource
	for _, name := range slices.Sorted(maps.Keys(most)) {
		all = append(all, resource{name, most[name]})
	}
	return all
}

// productLabel returns the label of a node that a device plugin of the resource's domain gives to name the product, or "".
func (n *node) productLabel(resource string) string {
	domain, _, _ := strings.Cut(resource, "/")
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		if strings.HasPrefix(key, domain+"/") && strings.Contains(key, "product") {
			return key
		}
	}
	return ""
}

// noServers returns the error of an input whose nodes have none of the wanted GPUs. It says what they have instead.
func (k *kubeCluster) noServers() error {
	const most = 5 // devices that are named
	says := []string{fmt.Sprintf("%d nodes, none with allocatable %s, want at least one", len(k.nodes), k.GPU)}
	all := devices(k.nodes)
	var have []string
	for _, o := range all[:min(len(all), most)] {
		have = append(have, fmt.Sprintf("%s (%d on %s)", shorten(o.name), o.n, phrase.Count(o.nodes, "node")))
	}
	if len(all) > 0 {
		says = append(says, "they have "+strings.Join(have, ", ")+": name what counts as a GPU, such as "+all[0].flags(k.TypeLabel))
	} else {
		says = append(says, "--gpu names another resource")
	}
	if n := len(k.claiming); n > 0 {
		says = append(says, fmt.Sprintf("%s for devices by resource claims (DRA), which a snapshot does not read, for example %s",
			[]string{"1 pod asks", fmt.Sprintf("%d pods ask", n)}[min(n-1, 1)], cut(k.claiming[0])))
	}
	for _, driver := range slices.Sorted(maps.Keys(k.drivers))[:min(len(k.drivers), most)] {
		listed := phrase.Count(k.drivers[driver], "device")
		says = append(says, fmt.Sprintf("ResourceSlices (DRA) list %s of %s", listed, shorten(driver)))
	}
	return errors.New(strings.Join(says, "; "))
}

// readResourceSlice counts the devices that a driver has on a node by dynamic resource allocation.
func (k *kubeCluster) readResourceSlice(r *strictjson.Reader) {
	var of struct {
		Spec struct {
			Driver  string `kube:"driver,name"`
			Node    string `kube:"nodeName,name"`
			Devices int    `kube:"devices,count"`
		} `kube:"spec"`
	}
	r.Struct(&of)
	driver, n := of.Spec.Driver, of.Spec.Devices
	if n == 0 {
		return
	}
	k.drivers[driver] += n
	k.told.add("ResourceSlices of "+cmp.Or(driver, "no driver")+" (DRA), whose devices are not counted",
		fmt.Sprintf("%s on %s", phrase.Count(n, "device"), cmp.Or(of.Spec.Node, "no node of their own")))
}
