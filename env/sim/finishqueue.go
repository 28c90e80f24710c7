package sim

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// queue orders the running jobs by the instant at which they finish, then by id. It is a binary heap whose entries can be
// changed.
type queue struct {
	heap  []entry
	place []int32 // by job: its index in heap, -1 if absent
}

type entry struct {
	at  time.Duration
	job cluster.JobID
}

func newQueue(jobs int) queue {
	q := queue{place: make([]int32, jobs)}
	for i := range q.place {
		q.place[i] = -1
	}
	return q
}

func (e entry) before(o entry) bool { return e.at < o.at || e.at == o.at && e.job < o.job }

func (q *queue) len() int { return len(q.heap) }

// min returns the earliest instant in the queue, which must not be empty.
func (q *queue) min() time.Duration { return q.heap[0].at }

func (q *queue) pop() cluster.JobID {
	id := q.heap[0].job
	q.remove(id)
	return id
}

// set adds a job or changes the instant at which it finishes.
func (q *queue) set(id cluster.JobID, at time.Duration) {
	e := entry{at, id}
	i := int(q.place[id])
	if i < 0 {
		i = len(q.heap)
		q.heap = append(q.heap, e)
	}
	q.down(q.up(i, e), e)
}

// remove drops a job from the queue. It does nothing if the job is not in it.
func (q *queue) remove(id cluster.JobID) {
	i := int(q.place[id])
	if i < 0 {
		return
	}
	q.place[id] = -1
	last := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	if i < len(q.heap) {
		q.down(q.up(i, last), last)
	}
}

func (q *queue) up(i int, e entry) int {
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(q.heap[parent]) {
			break
		}
		q.put(i, q.heap[parent])
		i = parent
	}
	q.put(i, e)
	return i
}

func (q *queue) down(i int, e entry) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			break
		}
		if child+1 < len(q.heap) && q.heap[child+1].before(q.heap[child]) {
			child++
		}
		if !q.heap[child].before(e) {
			break
		}
		q.put(i, q.heap[child])
		i = child
	}
	q.put(i, e)
}

func (q *queue) put(i int, e entry) {
	q.heap[i] = e
	q.place[e.job] = int32(i)
}
