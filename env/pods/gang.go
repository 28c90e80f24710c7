package pods

import (
	"cmp"
	"slices"
)

// Gang is the pods that must run together, each list sorted by name.
type Gang struct {
	Group
	Bound []*Pod // those with a node
	Free  []*Pod // those that could be bound
	Gated []*Pod // those that wait for something else
	Ended []*Pod // those that have succeeded
	Other int32  // another Least that one of the pods states, 0 if all agree
}

// Gangs groups pods into gangs, in the order of their first pods by name. Pods that have failed, or are being deleted, must not
// be among them. The function of returns the group of a pod. The function ask returns a text that is equal for pods that ask for
// the same. Pods of an open gang that ask for something else than most of them are each alone: they have other roles, and nobody
// has stated that they must run together with the others.
func Gangs(all []*Pod, of func(*Pod) Group, ask func(*Pod) string) (gangs []*Gang) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, ByName)
	groups := make([]Group, len(all))
	for i, p := range all {
		groups[i] = of(p)
	}
	split(all, groups, ask)
	known := map[Key]*Gang{}
	for i, p := range all {
		g := &groups[i]
		c := known[g.Key]
		if c == nil {
			c = &Gang{Group: Group{Key: g.Key}}
			known[g.Key] = c
			gangs = append(gangs, c)
		}
		c.add(p, g)
	}
	return gangs
}

// split makes pods of open gangs alone that ask for something else than most of their gang.
func split(all []*Pod, groups []Group, ask func(*Pod) string) {
	asks, count := map[int]string{}, map[Key]map[string]int{}
	for i, p := range all {
		g := &groups[i]
		if !g.Open || p.Succeeded {
			continue
		}
		if count[g.Key] == nil {
			count[g.Key] = map[string]int{}
		}
		asks[i] = ask(p)
		count[g.Key][asks[i]]++
	}
	usual := map[Key]string{}
	for key, of := range count {
		for text, n := range of {
			if best, known := usual[key]; !known || n > of[best] || n == of[best] && text < best {
				usual[key] = text
			}
		}
	}
	for i, text := range asks {
		if text != usual[groups[i].Key] {
			groups[i] = alone(all[i])
		}
	}
}

func (c *Gang) add(p *Pod, g *Group) {
	if p.Succeeded {
		c.Ended = append(c.Ended, p)
		return
	}
	if c.Err == nil {
		c.Err = g.Err
	}
	switch {
	case len(c.Bound)+len(c.Free)+len(c.Gated) == 0: // what a pod states that has ended does not count
		c.Least, c.Open, c.Annotations = g.Least, g.Open, g.Annotations
	case c.Least != g.Least && c.Other == 0:
		c.Other = g.Least
	}
	switch {
	case p.Bound:
		c.Bound = append(c.Bound, p)
	case p.Gated:
		c.Gated = append(c.Gated, p)
	default:
		c.Free = append(c.Free, p)
	}
}

// Need returns how many pods of the gang must run together, at least 1. Those that have succeeded need no room any more. They
// count only if they have the same controller as the live pods, because an earlier run may have had the same name. An open gang
// that runs needs the pods that run, and one that waits all that could be bound.
func (c *Gang) Need() int32 {
	if c.Open {
		if len(c.Bound) > 0 {
			return int32(len(c.Bound))
		}
		return int32(max(len(c.Free), 1))
	}
	need := c.Least
	if live := slices.Concat(c.Bound, c.Free, c.Gated); len(live) > 0 {
		for _, p := range c.Ended {
			if p.Owner.UID == live[0].Owner.UID {
				need--
			}
		}
	}
	return max(need, 1)
}

// Elastic reports whether the number of the gang's pods may change: each has one GPU, and somebody states how many must run
// together.
func (c *Gang) Elastic(podGPUs int32) bool { return podGPUs == 1 && c.API != Alone && !c.Open }

// Size returns the number of workers of an elastic gang with so many pods, of which so many are bound, limited to the bounds that
// users state: need, t.Min and t.Max, where 0 is not stated. A running gang gets bounds that include its bound pods. The bounds
// are equal if the gang is not elastic after all.
func (t *Terms) Size(need, pods, bound int32, running bool) (workers, least, most int32) {
	least, most = max(need, t.Min), cmp.Or(t.Max, pods)
	if running {
		least, most = min(least, bound), max(most, bound)
	}
	most = max(most, least)
	return min(max(pods, least), most), least, most
}
