package kernel

// MeanPool computes for each group the mean of its valid rows: x [B*n,d], mask [B*n], dst [B,d]. A group without a valid
// row gives zeros.
func MeanPool[T Float](dst, x, mask []T, n, d int) {
	groups := poolGroups(dst, x, mask, n, d)
	clear(dst)
	for b := range groups {
		m, o := mask[b*n:(b+1)*n], dst[b*d:(b+1)*d]
		scale := inverseCount(m)
		for i, valid := range m {
			if valid != 0 {
				axpy(o, scale, x[(b*n+i)*d:(b*n+i+1)*d])
			}
		}
	}
}

// MeanPoolBack computes the gradient dx [B*n,d] of MeanPool's input from dy [B,d].
func MeanPoolBack[T Float](dx, dy, mask []T, n, d int) {
	groups := poolGroups(dy, dx, mask, n, d)
	clear(dx)
	for b := range groups {
		m := mask[b*n : (b+1)*n]
		scale := inverseCount(m)
		for i, valid := range m {
			if valid != 0 {
				axpy(dx[(b*n+i)*d:(b*n+i+1)*d], scale, dy[b*d:(b+1)*d])
			}
		}
	}
}

// MaxPool computes for each group and column the largest value of its valid rows: x [B*n,d], mask [B*n], dst [B,d]. A group
// without a valid row gives zeros.
func MaxPool[T Float](dst, x, mask []T, n, d int) {
	groups := poolGroups(dst, x, mask, n, d)
	clear(dst)
	for b := range groups {
		for j := range d {
			if i := argmax(x, mask, b, n, d, j); i >= 0 {
				dst[b*d+j] = x[i*d+j]
			}
		}
	}
}

// MaxPoolBack computes the gradient dx [B*n,d] of MaxPool's input x from dy [B,d]. Among equal values the lowest row gets
// the gradient.
func MaxPoolBack[T Float](dx, dy, x, mask []T, n, d int) {
	groups := poolGroups(dy, x, mask, n, d)
	want("pool input gradient", dx, len(x))
	clear(dx)
	for b := range groups {
		for j := range d {
			if i := argmax(x, mask, b, n, d, j); i >= 0 {
				dx[i*d+j] = dy[b*d+j]
			}
		}
	}
}

// argmax returns the row of x that holds the largest valid value of column j in group b, or -1.
func argmax[T Float](x, mask []T, b, n, d, j int) int {
	best := -1
	for i := b * n; i < (b+1)*n; i++ {
		if mask[i] != 0 && (best < 0 || x[i*d+j] > x[best*d+j]) {
			best = i
		}
	}
	return best
}

// inverseCount returns 1 over the number of valid rows. Without any it is infinite, and no row uses it.
func inverseCount[T Float](mask []T) T {
	var count T
	for _, m := range mask {
		if m != 0 {
			count++
		}
	}
	return 1 / count
}

func poolGroups[T Float](pooled, x, mask []T, n, d int) int {
	groups := rowsOf("pool output", pooled, d)
	want("pool mask", mask, groups*n)
	want("pool input", x, groups*n*d)
	return groups
}
