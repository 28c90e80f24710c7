package attention

import "github.com/clustergym/clustergym/internal/kernel"

// mean computes the mean of the valid rows of x [n,d] into dst [d]; it is zero if no row is valid.
func mean[T kernel.Float](dst, x, mask []T) {
	d, scale := len(dst), inverseCount(mask)
	clear(dst)
	for i, valid := range mask {
		if valid != 0 {
			kernel.Axpy(dst, scale, x[i*d:])
		}
	}
}

// inverseCount returns 1 / (the number of valid rows). Without valid rows it is infinite, and the caller does not use it.
func inverseCount[T kernel.Float](mask []T) T {
	var count T
	for _, m := range mask {
		if m != 0 {
			count++
		}
	}
	return 1 / count
}

// MeanOthers computes, for each valid row, the mean of the other valid rows of its group of n rows. An invalid row, or the only
// valid row of a group, gets zeros. x and dst are [B*n,d], mask [B*n]. The operation is symmetric: applied to the gradient of dst
// it gives the gradient of x.
func MeanOthers[T kernel.Float](dst, x, mask []T, n, d int) {
	rows := kernel.RowsOf("mean of others", dst, d)
	kernel.Want("mean of others' input", x, len(dst))
	kernel.Want("mean of others' mask", mask, rows)
	clear(dst)
	for from := 0; from < rows; from += n {
		m := mask[from : from+n]
		count := T(0)
		for _, valid := range m {
			if valid != 0 {
				count++
			}
		}
		if count < 2 {
			continue
		}
		for j := range d {
			var sum T
			for i, valid := range m {
				if valid != 0 {
					sum += x[(from+i)*d+j]
				}
			}
			for i, valid := range m {
				if valid != 0 {
					dst[(from+i)*d+j] = (sum - x[(from+i)*d+j]) / (count - 1)
				}
			}
		}
	}
}
