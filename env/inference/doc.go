// Package inference is the inference side of capacity loaning: how many servers inference needs over time, how many it will
// need a moment later, and how many it therefore lends. It knows nothing of training jobs, nor which servers are lent.
package inference
