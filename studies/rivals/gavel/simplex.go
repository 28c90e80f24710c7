package gavel

import "slices"

// maxPivots is the largest number of pivots, in case rounding keeps the simplex method from ending. The solution is then still
// feasible. A few dozen are usual.
const maxPivots = 2000

// raise returns the allocation that gives the open classes the highest level. It begins with the allocation start, which gives
// them some level, and sets price to the prices that prove the result optimal.
//
// It is the revised simplex method on the program that mixes allocations k with weights θ:
//
//	maximise Σ θ_k level_k   subject to   Σ θ_k uses_k ≤ GPUs of every type,   Σ θ_k = 1,   θ ≥ 0.
//
// The columns are not listed: answer computes the best one for given prices. The last row is that of Σ θ = 1.
func (f *fair) raise(start column) column {
	b := newBasis(f.m.GPUs, start)
	f.price = make([]float64, len(f.m.GPUs))
	enter := make([]float64, len(f.m.GPUs)+1)
	for range maxPivots {
		value := b.prices(f.price)
		clear(enter)
		if cheap := slices.Index(f.price, slices.Min(f.price)); f.price[cheap] < -priceTol {
			enter[cheap] = 1 // the slack column: GPUs that are left over
			b.pivot(enter, nil)
			continue
		}
		for t := range f.price {
			f.price[t] = max(f.price[t], 0)
		}
		col := f.answer()
		gain := col.level - value
		for t, n := range col.uses {
			gain -= f.price[t] * n
		}
		if gain <= priceTol*max(1, value) {
			break
		}
		copy(enter, col.uses)
		enter[len(col.uses)] = 1
		b.pivot(enter, &col)
	}
	return b.mix()
}

// basis is a vertex of the program: as many columns as rows, and the inverse of their matrix.
type basis struct {
	columns []*column // by row; nil is the slack column of a type
	inverse [][]float64
	weight  []float64 // θ, by row
	move    []float64 // scratch
}

func newBasis(gpus []float64, start column) *basis {
	n := len(gpus) + 1
	b := &basis{
		columns: make([]*column, n), inverse: make([][]float64, n), weight: make([]float64, n), move: make([]float64, n),
	}
	for r := range b.inverse {
		b.inverse[r] = make([]float64, n)
		b.inverse[r][r] = 1
		if r < n-1 {
			b.inverse[r][n-1] = -start.uses[r]
			b.weight[r] = max(gpus[r]-start.uses[r], 0)
		}
	}
	b.columns[n-1], b.weight[n-1] = &start, 1
	return b
}

// prices sets the price of every type and returns that of the last row.
func (b *basis) prices(types []float64) (last float64) {
	clear(types)
	for r, col := range b.columns {
		if col == nil {
			continue
		}
		for t := range types {
			types[t] += col.level * b.inverse[r][t]
		}
		last += col.level * b.inverse[r][len(types)]
	}
	return last
}

// pivot brings the column in and removes the one that first becomes 0 as its weight grows.
func (b *basis) pivot(enter []float64, col *column) {
	out := -1
	for r, row := range b.inverse {
		b.move[r] = 0
		for i, v := range row {
			b.move[r] += v * enter[i]
		}
		if b.move[r] < priceTol {
			continue
		}
		if out < 0 || b.weight[r]*b.move[out] < b.weight[out]*b.move[r] {
			out = r
		}
	}
	if out < 0 {
		return // only through rounding: the last row bounds every column
	}
	step := b.weight[out] / b.move[out]
	for i := range b.inverse[out] {
		b.inverse[out][i] /= b.move[out]
	}
	for r := range b.inverse {
		if r == out || b.move[r] == 0 {
			continue
		}
		for i, v := range b.inverse[out] {
			b.inverse[r][i] -= b.move[r] * v
		}
		b.weight[r] = max(b.weight[r]-b.move[r]*step, 0)
	}
	b.columns[out], b.weight[out] = col, step
}

// mix returns the allocation at the vertex.
func (b *basis) mix() column {
	var all column
	for r, col := range b.columns {
		if col == nil {
			continue
		}
		if all.uses == nil {
			all = column{uses: make([]float64, len(col.uses)), share: make([]float64, len(col.share))}
		}
		w := b.weight[r]
		all.level += w * col.level
		for t, n := range col.uses {
			all.uses[t] += w * n
		}
		for i, part := range col.share {
			all.share[i] += w * part
		}
	}
	return all
}
