package baselines

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
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

// queue gives out tickets in order. As long as each new ticket comes after all others, as in order of submission, it is a sorted
// list; from the first that does not until the queue is empty it is a binary heap.
type queue struct {
	list []ticket // from index from on
	from int      // 0 for a heap
	heap bool
}

func (l *queue) len() int { return len(l.list) - l.from }

// top returns the first ticket in order. The queue must not be empty.
func (l *queue) top() ticket { return l.list[l.from] }

func (l *queue) reset() { *l = queue{list: l.list[:0]} }

func (l *queue) push(t ticket) {
	if l.from > len(l.list)/2 && len(l.list) == cap(l.list) {
		l.shift()
	}
	l.list = append(l.list, t)
	i := len(l.list) - 1
	if !l.heap {
		if l.len() == 1 || !t.before(l.list[i-1]) {
			return
		}
		l.shift() // a sorted list is a heap
		l.heap, i = true, len(l.list)-1
	}
	h := l.list
	for i > 0 {
		parent := (i - 1) / 2
		if !t.before(h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = t
}

// shift moves the tickets to the beginning of the list.
func (l *queue) shift() {
	l.list, l.from = l.list[:copy(l.list, l.list[l.from:])], 0
}

func (l *queue) pop() ticket {
	top := l.top()
	switch {
	case l.len() == 1:
		l.reset()
	case l.heap:
		l.sink()
	default:
		l.from++
	}
	return top
}

// sink removes the top of a heap of several tickets.
func (l *queue) sink() {
	last := l.list[len(l.list)-1]
	h := l.list[:len(l.list)-1]
	l.list = h
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
		w.queues, w.kinds, w.refused = append(w.queues, queue{}), append(w.kinds, k), append(w.refused, false)
	}
	return i
}

// pass begins a pass, in which no kind has been refused yet.
func (w *waiting) pass() { clear(w.refused) }

// first returns the queue whose first job is next in order, among the kinds that are not refused; -1 if there is none.
func (w *waiting) first() int {
	best := -1
	for i := range w.queues {
		if w.queues[i].len() > 0 && !w.refused[i] && (best < 0 || w.queues[i].top().before(w.queues[best].top())) {
			best = i
		}
	}
	return best
}

func (w *waiting) head(i int) ticket { return w.queues[i].top() }
func (w *waiting) pop(i int) ticket  { return w.queues[i].pop() }
func (w *waiting) refuse(i int)      { w.refused[i] = true }
