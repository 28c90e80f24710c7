package intake

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// constraints say which nodes a pod may use: its node selector, its required node affinity and its tolerations.
type constraints struct {
	selector    map[string]string
	affine      bool
	terms       [][]requirement // one of them must hold if affine
	tolerations []toleration
	others      []string // names of constraints that a snapshot cannot represent
}

// requirement is an expression of a node affinity. The key of an expression about a node's name is nodeName.
type requirement struct {
	key, operator string
	values        []string
}

const nodeName = "metadata.name"

type toleration struct{ key, operator, value, effect string }

type taint struct{ key, value, effect string }

func (c *constraints) read(r *strictjson.Reader, field string) {
	switch field {
	case "nodeSelector":
		c.selector = wanted(r, func(string) bool { return true })
	case "tolerations":
		list(r, func(int) { c.tolerations = append(c.tolerations, readToleration(r)) })
	case "topologySpreadConstraints":
		list(r, func(int) {
			object(r, []string{"whenUnsatisfiable"}, func(string) {
				if name(r) != "ScheduleAnyway" {
					c.unknown("topologySpreadConstraints")
				}
			})
		})
	case "volumes":
		list(r, func(int) {
			object(r, []string{"persistentVolumeClaim", "ephemeral"}, func(string) {
				if !r.Null() {
					c.unknown("volumes of claims")
					r.Skip()
				}
			})
		})
	case "ports":
		list(r, func(int) {
			object(r, []string{"hostPort"}, func(string) {
				if !r.Null() && r.Number(0, 1<<16) > 0 {
					c.unknown("host ports")
				}
			})
		})
	case "affinity":
		object(r, []string{"nodeAffinity", "podAffinity", "podAntiAffinity"}, func(kind string) {
			object(r, []string{"requiredDuringSchedulingIgnoredDuringExecution"}, func(string) {
				if kind == "nodeAffinity" {
					c.readTerms(r)
					return
				}
				some := false
				list(r, func(int) { some = true; r.Skip() })
				if some {
					c.unknown(kind)
				}
			})
		})
	default:
		r.Skip()
	}
}

// unknown notes once that the pod has a constraint that a snapshot cannot represent.
func (c *constraints) unknown(name string) {
	if !slices.Contains(c.others, name) {
		c.others = append(c.others, name)
	}
}

func readToleration(r *strictjson.Reader) (t toleration) {
	object(r, []string{"key", "operator", "value", "effect"}, func(field string) {
		switch v := name(r); field {
		case "key":
			t.key = v
		case "operator":
			t.operator = v
		case "value":
			t.value = v
		case "effect":
			t.effect = v
		}
	})
	return t
}

func (c *constraints) readTerms(r *strictjson.Reader) {
	object(r, []string{"nodeSelectorTerms"}, func(string) {
		c.affine = true
		list(r, func(int) {
			var all []requirement
			object(r, []string{"matchExpressions", "matchFields"}, func(string) {
				list(r, func(int) { all = append(all, readRequirement(r)) })
			})
			c.terms = append(c.terms, all)
		})
	})
}

func readRequirement(r *strictjson.Reader) (q requirement) {
	object(r, []string{"key", "operator", "values"}, func(field string) {
		switch field {
		case "key":
			q.key = name(r)
		case "operator":
			q.operator = name(r)
		case "values":
			list(r, func(int) { q.values = append(q.values, name(r)) })
		}
	})
	return q
}

// key returns a text that is equal for constraints that allow the same nodes, or "" if there are none.
func (c *constraints) key() string {
	if len(c.selector) == 0 && !c.affine && len(c.tolerations) == 0 {
		return ""
	}
	return fmt.Sprintf("%q %t %q %q", c.selector, c.affine, c.terms, c.tolerations)
}

// allow reports whether the pod may use the node.
func (c *constraints) allow(n *node) bool {
	for key, value := range c.selector {
		if have, ok := n.labels[key]; !ok || have != value {
			return false
		}
	}
	for _, t := range n.taints {
		if t.effect != "PreferNoSchedule" && !slices.ContainsFunc(c.tolerations, func(o toleration) bool { return o.tolerates(t) }) {
			return false
		}
	}
	return !c.affine || slices.ContainsFunc(c.terms, func(all []requirement) bool {
		return len(all) > 0 && !slices.ContainsFunc(all, func(q requirement) bool { return !q.holds(n) })
	})
}

func (o *toleration) tolerates(t taint) bool {
	return (o.effect == "" || o.effect == t.effect) &&
		(o.key == t.key && (o.operator == "Exists" || o.value == t.value) || o.key == "" && o.operator == "Exists")
}

// holds reports whether the node meets the requirement. An unknown operator is never met.
func (q *requirement) holds(n *node) bool {
	have, ok := n.labels[q.key]
	if q.key == nodeName {
		have, ok = n.name, true
	}
	switch q.operator {
	case "In":
		return ok && slices.Contains(q.values, have)
	case "NotIn":
		return !ok || !slices.Contains(q.values, have)
	case "Exists":
		return ok
	case "DoesNotExist":
		return !ok
	case "Gt", "Lt":
		x, err := strconv.ParseInt(have, 10, 64)
		if !ok || err != nil || len(q.values) != 1 {
			return false
		}
		y, err := strconv.ParseInt(q.values[0], 10, 64)
		return err == nil && (q.operator == "Gt" && x > y || q.operator == "Lt" && x < y)
	}
	return false
}

// mostConstraints is the most different constraints of pods that are checked against every node.
const mostConstraints = 1 << 10

// places finds the servers that constraints allow. Equal constraints share one set, which is nil if they allow every server.
type places struct {
	nodes []*node // by server
	known map[string]*cluster.ServerSet
	sets  cluster.ServerSets
}

// of returns the servers that the pods' constraints allow, and those on which the gang runs, whatever has changed since it began.
func (p *places) of(first *pod, pieces []piece, told *notes) *cluster.ServerSet {
	key := first.constraints.key()
	set, known := p.known[key]
	if !known && len(p.known) >= mostConstraints {
		told.add(fmt.Sprintf("gangs with node constraints beyond the first %d different ones, not kept", mostConstraints),
			first.title())
		return nil
	}
	if !known {
		set = cluster.NewServerSet(len(p.nodes))
		all := true
		for i, n := range p.nodes {
			if first.constraints.allow(n) {
				set.Add(cluster.ServerID(i))
			} else {
				all = false
			}
		}
		if set = p.sets.Of(set); all {
			set = nil
		}
		p.known[key] = set
	}
	for i := range pieces {
		if id := pieces[i].Server; set != nil && !set.Has(id) {
			set = set.Clone()
			set.Add(id)
		}
	}
	if set == nil {
		return nil
	}
	return p.sets.Of(set)
}
