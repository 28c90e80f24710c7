package intake

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

const poolLabel = "clustergym.dev/pool" // on nodes

// isPodLabel reports whether the label of a pod, or of what owns it, counts.
func isPodLabel(key string) bool {
	return pods.Reads(key) || slices.ContainsFunc(workloadLabels, func(l workloadLabel) bool { return l.key == key })
}

// meta is the metadata of an object.
type meta struct {
	name, namespace string
	uid             string
	labels          map[string]string
	notes           map[string]string // annotations that package pods reads
	created         time.Time
	deleting        bool
	owner           owner
}

// owner is the controller of a pod.
type owner struct{ kind, name, uid string }

func (m *meta) title() string {
	if m.namespace == "" {
		return m.name
	}
	return m.namespace + "/" + m.name
}

var metaFields = []string{
	"name", "namespace", "uid", "labels", "annotations", "creationTimestamp", "deletionTimestamp", "ownerReferences",
}

// readMeta reads the metadata of an object. It keeps the labels that are wanted.
func readMeta(r *strictjson.Reader, label func(string) bool) (m meta) {
	object(r, metaFields, func(field string) {
		switch field {
		case "name":
			m.name = name(r)
		case "namespace":
			m.namespace = name(r)
		case "uid":
			m.uid = name(r)
		case "labels":
			m.labels = wanted(r, label)
		case "annotations":
			m.notes = wanted(r, pods.Reads)
		case "creationTimestamp":
			m.created = moment(r)
		case "deletionTimestamp":
			m.deleting = !moment(r).IsZero()
		case "ownerReferences":
			list(r, func(int) {
				var o owner
				controls := false
				object(r, []string{"kind", "name", "uid", "controller"}, func(field string) {
					switch field {
					case "kind":
						o.kind = name(r)
					case "name":
						o.name = name(r)
					case "uid":
						o.uid = name(r)
					case "controller":
						controls = !r.Null() && r.Flag()
					}
				})
				if controls {
					m.owner = o
				}
			})
		}
	})
	return m
}

// pod is a pod that has not failed.
type pod struct {
	meta
	amounts
	fraction    pods.Fraction // zero if it asks for whole GPUs
	node        string        // "" if it waits
	group       string        // its PodGroup of Kubernetes itself
	phase       string
	gated       bool
	claims      bool // it asks for devices by resource claims
	priority    int64
	class       string // of its priority
	started     time.Time
	constraints constraints
}

var podFields = []string{
	"nodeName", "containers", "initContainers", "volumes", "overhead", "resources", "schedulingGates", "schedulingGroup",
	"resourceClaims", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "priority", "priorityClassName",
}

func (c *Kubectl) readPod(r *strictjson.Reader) *pod {
	p := &pod{}
	object(r, []string{"metadata", "spec", "status"}, func(field string) {
		switch field {
		case "metadata":
			p.meta = readMeta(r, isPodLabel)
		case "spec":
			c.readPodSpec(r, p)
		case "status":
			p.readStatus(r)
		}
	})
	if p.name == "" {
		r.Bad("metadata.name", `""`, "the name of the pod")
	}
	return p
}

func (c *Kubectl) readPodSpec(r *strictjson.Reader, p *pod) {
	var run, sidecars, peak, overhead, whole, wholeLimit amounts
	object(r, podFields, func(field string) {
		switch field {
		case "nodeName":
			p.node = name(r)
		case "containers":
			list(r, func(int) {
				a, _ := c.container(r, p)
				run.add(a)
			})
		case "initContainers":
			list(r, func(int) {
				if a, stays := c.container(r, p); stays {
					sidecars.add(a)
					peak.atLeast(sidecars)
				} else {
					a.add(sidecars)
					peak.atLeast(a)
				}
			})
		case "overhead":
			overhead = c.amounts(r)
		case "resources":
			whole, wholeLimit = c.resources(r)
		case "priority":
			p.priority = readPriority(r)
		case "priorityClassName":
			p.class = name(r)
		case "schedulingGates":
			list(r, func(int) { p.gated = true; r.Skip() })
		case "schedulingGroup":
			object(r, []string{"podGroupName"}, func(string) { p.group = name(r) })
		case "resourceClaims":
			list(r, func(int) { p.claims = true; r.Skip() })
		default:
			p.constraints.read(r, field)
		}
	})
	run.add(sidecars)
	run.atLeast(peak)
	run.wholly(whole, wholeLimit)
	run.add(overhead)
	p.amounts = run
}

// container reads what a container requests, and whether it runs as long as the pod if it is an init container.
func (c *Kubectl) container(r *strictjson.Reader, p *pod) (a amounts, stays bool) {
	object(r, []string{"resources", "restartPolicy", "ports"}, func(field string) {
		switch field {
		case "ports":
			p.constraints.read(r, field)
		case "resources":
			var limit amounts
			a, limit = c.resources(r)
			a.orElse(limit)
		case "restartPolicy":
			stays = name(r) == "Always"
		}
	})
	return a, stays
}

func (c *Kubectl) resources(r *strictjson.Reader) (requests, limits amounts) {
	object(r, []string{"requests", "limits"}, func(field string) {
		if field == "requests" {
			requests = c.amounts(r)
		} else {
			limits = c.amounts(r)
		}
	})
	return requests, limits
}

func (p *pod) readStatus(r *strictjson.Reader) {
	object(r, []string{"phase", "startTime"}, func(field string) {
		switch field {
		case "phase":
			p.phase = name(r)
		case "startTime":
			p.started = moment(r)
		}
	})
}
