package baselines

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/placement"
)

// ticket is a job's place in an order: by key, then tie, then id.
type ticket struct {
	key, tie time.Duration
	job      cluster.JobID
}

func (a ticket) compare(b ticket) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}

func (a ticket) before(b ticket) bool {
	if a.key != b.key {
		return a.key < b.key
	}
	if a.tie != b.tie {
		return a.tie < b.tie
	}
	return a.job < b.job
}

// queue is a binary heap of tickets, the first in order on top.
type queue []ticket

func (l *queue) push(t ticket) {
	h := append(*l, t)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !t.before(h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = t
	*l = h
}

func (l *queue) pop() ticket {
	h := *l
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*l = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return top
}

// waiting holds the waiting jobs in order, in one queue for each kind, so that one refusal counts for all jobs of a kind. In a
// pass that only starts jobs, free capacity shrinks, so a kind that was refused once stays refused.
type waiting struct {
	queues  []queue
	kinds   []placement.Kind
	find    map[placement.Kind]int
	refused []bool // in this pass
}

func (w *waiting) reset() {
	*w = waiting{find: map[placement.Kind]int{}}
}

func (w *waiting) push(k placement.Kind, t ticket) {
	w.queues[w.queue(k)].push(t)
}

// few is the number of kinds up to which it is faster to compare a kind with all than to look it up in a map.
const few = 16

// queue returns the queue for jobs of the kind.
func (w *waiting) queue(k placement.Kind) int {
	for i := range w.kinds[:min(len(w.kinds), few)] {
		if w.kinds[i].Shape.Workers == k.Shape.Workers && w.kinds[i] == k {
			return i
		}
	}
	i, ok := w.find[k]
	if !ok {
		i = len(w.queues)
		w.find[k] = i
		w.queues, w.kinds, w.refused = append(w.queues, nil), append(w.kinds, k), append(w.refused, false)
	}
	return i
}

// pass begins a pass, in which no kind has been refused yet.
func (w *waiting) pass() { clear(w.refused) }

// first returns the queue whose first job is next in order, among the kinds that are not refused; -1 if there is none.
func (w *waiting) first() int {
	best := -1
	for i := range w.queues {
		if len(w.queues[i]) > 0 && !w.refused[i] && (best < 0 || w.queues[i][0].before(w.queues[best][0])) {
			best = i
		}
	}
	return best
}

func (w *waiting) head(i int) ticket { return w.queues[i][0] }
func (w *waiting) pop(i int) ticket  { return w.queues[i].pop() }
func (w *waiting) refuse(i int)      { w.refused[i] = true }
