package belief

import "github.com/clustergym/clustergym/env/cluster"

// answers are the believed speeds of one job in the configurations that were asked about last.
type answers struct {
	all  [8]answer
	next int // index in all at which the next one goes
}

// question is all on which the believed speed of a job depends, besides what is believed of its kind.
type question struct {
	cluster.Configuration
	request            cluster.Amount
	workers, perServer int32
}

type answer struct {
	question
	version int // of what was believed, above 0
	speed   float64
}

func (a *answers) find(q *question) *answer {
	for i := range a.all {
		if a.all[i].question == *q {
			return &a.all[i]
		}
	}
	return nil
}

// add replaces the answer to the same question, or else the oldest one.
func (a *answers) add(answer *answer) {
	if old := a.find(&answer.question); old != nil {
		*old = *answer
		return
	}
	a.all[a.next] = *answer
	a.next = (a.next + 1) % len(a.all)
}
