package intake

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/env/cluster"
)

// constraints say which nodes a pod may use: its node selector, its required node affinity and its tolerations.
type constraints struct {
	Selector    map[string]string `kube:"nodeSelector,texts"`
	Tolerations []toleration      `kube:"tolerations"`
	Affinity    affinity          `kube:"affinity"`
	Spread      []spread          `kube:"topologySpreadConstraints"`
	Volumes     []volume          `kube:"volumes"`

	affine bool
	terms  [][]requirement // one of them must hold if affine
	others []string        // names of constraints that a snapshot cannot represent
}

type affinity struct {
	Node struct {
		Required *selector `kube:"requiredDuringSchedulingIgnoredDuringExecution"`
	} `kube:"nodeAffinity"`
	Pod  peers `kube:"podAffinity"`
	Anti peers `kube:"podAntiAffinity"`
}

type peers struct {
	Required bool `kube:"requiredDuringSchedulingIgnoredDuringExecution,some"`
}

type selector struct {
	Terms []term `kube:"nodeSelectorTerms"`
}

type term struct {
	Labels []requirement `kube:"matchExpressions"`
	Fields []requirement `kube:"matchFields"`
}

type spread struct {
	When string `kube:"whenUnsatisfiable,name"`
}

type volume struct {
	Claims bool `kube:"persistentVolumeClaim|ephemeral,there"`
}

// requirement is an expression of a node affinity. The key of an expression about a node's name is nodeName.
type requirement struct {
	Key      string   `kube:"key,name"`
	Operator string   `kube:"operator,name"`
	Values   []string `kube:"values,name"`
}

const nodeName = "metadata.name"

type toleration struct {
	Key      string `kube:"key,name"`
	Operator string `kube:"operator,name"`
	Value    string `kube:"value,name"`
	Effect   string `kube:"effect,name"`
}

type taint struct {
	Key    string `kube:"key,name"`
	Value  string `kube:"value,name"`
	Effect string `kube:"effect,name"`
}

// settle keeps of what was read about a pod with these containers what decides about its nodes, and forgets the rest.
func (c *constraints) settle(of []container) {
	if required := c.Affinity.Node.Required; required != nil {
		c.affine = true
		for _, t := range required.Terms {
			c.terms = append(c.terms, slices.Concat(t.Labels, t.Fields))
		}
	}
	for _, other := range []struct {
		name string
		is   bool
	}{
		{"podAffinity", c.Affinity.Pod.Required},
		{"podAntiAffinity", c.Affinity.Anti.Required},
		{"topologySpreadConstraints", slices.ContainsFunc(c.Spread, func(s spread) bool {
			return s.When != "" && s.When != "ScheduleAnyway"
		})},
		{"volumes of claims", slices.ContainsFunc(c.Volumes, func(v volume) bool { return v.Claims })},
		{"host ports", slices.ContainsFunc(of, func(c container) bool {
			return slices.ContainsFunc(c.Ports, func(p port) bool { return p.Host > 0 })
		})},
	} {
		if other.is {
			c.others = append(c.others, other.name)
		}
	}
	c.Affinity, c.Spread, c.Volumes = affinity{}, nil, nil
}

// key returns a text that is equal for constraints that allow the same nodes, or "" if there are none.
func (c *constraints) key() string {
	if len(c.Selector) == 0 && !c.affine && len(c.Tolerations) == 0 {
		return ""
	}
	return fmt.Sprintf("%q %t %q %q", c.Selector, c.affine, c.terms, c.Tolerations)
}

// allow reports whether the pod may use the node.
func (c *constraints) allow(n *node) bool {
	for key, value := range c.Selector {
		if have, ok := n.Labels[key]; !ok || have != value {
			return false
		}
	}
	for _, t := range n.Taints {
		if t.Effect != "PreferNoSchedule" && !slices.ContainsFunc(c.Tolerations, func(o toleration) bool { return o.tolerates(t) }) {
			return false
		}
	}
	return !c.affine || slices.ContainsFunc(c.terms, func(all []requirement) bool {
		return len(all) > 0 && !slices.ContainsFunc(all, func(q requirement) bool { return !q.holds(n) })
	})
}

func (o *toleration) tolerates(t taint) bool {
	return (o.Effect == "" || o.Effect == t.Effect) &&
		(o.Key == t.Key && (o.Operator == "Exists" || o.Value == t.Value) || o.Key == "" && o.Operator == "Exists")
}

// holds reports whether the node meets the requirement. An unknown operator is never met.
func (q *requirement) holds(n *node) bool {
	have, ok := n.Labels[q.Key]
	if q.Key == nodeName {
		have, ok = n.Name, true
	}
	switch q.Operator {
	case "In":
		return ok && slices.Contains(q.Values, have)
	case "NotIn":
		return !ok || !slices.Contains(q.Values, have)
	case "Exists":
		return ok
	case "DoesNotExist":
		return !ok
	case "Gt", "Lt":
		x, err := strconv.ParseInt(have, 10, 64)
		if !ok || err != nil || len(q.Values) != 1 {
			return false
		}
		y, err := strconv.ParseInt(q.Values[0], 10, 64)
		return err == nil && (q.Operator == "Gt" && x > y || q.Operator == "Lt" && x < y)
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
