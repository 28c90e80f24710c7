package elastic

// heap returns its items one by one in order. It takes time only for the items that are asked for.
type heap[T any] struct {
	items  []T
	before func(a, b *T) bool
}

// heapify makes a heap of the items, which the heap then owns.
func heapify[T any](items []T, before func(a, b *T) bool) heap[T] {
	h := heap[T]{items, before}
	for i := len(items)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
	return h
}

func (h *heap[T]) len() int { return len(h.items) }

func (h *heap[T]) pop() T {
	top, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	h.sink(0)
	return top
}

// sink moves item i down to its place, after it may have become a later one.
func (h *heap[T]) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			return
		}
		if child+1 < len(h.items) && h.before(&h.items[child+1], &h.items[child]) {
			child++
		}
		if !h.before(&h.items[child], &h.items[i]) {
			return
		}
		h.items[i], h.items[child] = h.items[child], h.items[i]
		i = child
	}
}
