package tbevent

import (
	"iter"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// limits returns TensorFlow's default bucket limits, ascending: powers of 1.1 from 1e-12 to 1e20, their negatives, 0, and the
// largest and smallest float64. The bucket of a limit counts the numbers below it and not below the limit before it.
func limits() []float64 {
	var up []float64
	for x := 1e-12; x < 1e20; x *= 1.1 {
		up = append(up, x)
	}
	up = append(up, math.MaxFloat64)
	all := make([]float64, 0, 2*len(up)+1)
	for _, x := range slices.Backward(up) {
		all = append(all, -x)
	}
	return append(append(all, 0), up...)
}

// histogram contains the fields of a HistogramProto. It counts only finite numbers.
type histogram struct {
	min, max, num, sum, squares float64
	limits, buckets             []float64 // from the first non-empty bucket to the last; adjacent empty buckets are merged
}

// count returns the histogram of the finite numbers among values.
func count(limits []float64, values iter.Seq[float64]) histogram {
	h := histogram{min: math.Inf(1), max: math.Inf(-1)}
	buckets := make([]float64, len(limits))
	first, last := len(limits), -1
	for x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		i, at := slices.BinarySearch(limits, x)
		if at {
			i++
		}
		i = min(i, len(limits)-1) // for the largest float64
		buckets[i]++
		first, last = min(first, i), max(last, i)
		h.min, h.max = min(h.min, x), max(h.max, x)
		h.num++
		h.sum += x
		h.squares += x * x
	}
	for i := first; i <= last; i++ {
		if n := len(h.buckets); buckets[i] == 0 && h.buckets[n-1] == 0 {
			h.limits[n-1] = limits[i]
			continue
		}
		h.limits, h.buckets = append(h.limits, limits[i]), append(h.buckets, buckets[i])
	}
	return h
}

func (h *histogram) encode() []byte {
	var b []byte
	for i, x := range []float64{h.min, h.max, h.num, h.sum, h.squares} {
		b = appendDouble(b, protowire.Number(i+1), x)
	}
	const limit, bucket = 6, 7
	return appendDoubles(appendDoubles(b, limit, h.limits), bucket, h.buckets)
}
