package belief

import "slices"

// Copy returns a learner of a kind that has learned the same and is independent of l: an Age learner from a History is as if it
// had learned from the same jobs itself. Copying takes time linear in the number of sets of similar jobs. Several goroutines may
// copy a learner that nobody uses otherwise.
func (l *Learner) Copy(kind Kind, by Rank) *Learner {
	c := New(kind, by)
	c.ended = l.ended
	own := make([]set, 0, len(l.sets))
	for k, s := range l.sets {
		if int(k.Level) < c.tuning.levels {
			own = append(own, *s)
			c.sets[k] = &own[len(own)-1]
		}
	}
	return c
}

// Copy returns a belief that has learned the same and is independent of l. What l has computed for later calls is not computed
// again. Copying takes time linear in the number of jobs and circles. Several goroutines may copy a belief that nobody uses
// otherwise.
func (l *Speeds) Copy() *Speeds {
	c := *l
	c.types = append([]string(nil), l.types...)
	c.ids = nil
	c.circles = make(map[circle]*evidence, len(l.circles))
	for k, e := range l.circles {
		own := *e
		c.circles[k] = &own
	}
	c.units = make(map[circle]*units, len(l.units))
	for k, u := range l.units {
		own := *u
		c.units[k] = &own
	}
	c.jobs = make(map[string]*measured, len(l.jobs))
	for name, j := range l.jobs {
		own := *j // circles and kinds never change
		own.Differences, own.settled = slices.Clone(j.Differences), slices.Clone(j.settled)
		for i, of := range own.circles {
			own.known[i] = c.circles[of]
		}
		own.found, own.believed = c.made, nil
		c.jobs[name] = &own
	}
	c.beliefs = make(map[asked]*believed, len(l.beliefs))
	for k, b := range l.beliefs {
		own := *b // its coefficients never change
		c.beliefs[k] = &own
	}
	return &c
}
