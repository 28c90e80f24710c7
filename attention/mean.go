package attention

import "github.com/clustergym/clustergym/internal/kernel"

// mean computes the mean dst [d] of the valid rows of x [n,d], mask [n], and zeros if there is none.
func mean[T kernel.Float](dst, x, mask []T) {
	d, scale := len(dst), inverseCount(mask)
	clear(dst)
	for i, valid := range mask {
		if valid != 0 {
			kernel.Axpy(dst, scale, x[i*d:])
		}
	}
}

// inverseCount returns 1 over the number of valid rows. Without any it is infinite, and no row uses it.
func inverseCount[T kernel.Float](mask []T) T {
	var count T
	for _, m := range mask {
		if m != 0 {
			count++
		}
	}
	return 1 / count
}

// MeanOthers computes for each valid row of a group the mean of the group's other valid rows, and zeros for a row that is
// alone or not valid: x and dst [B*n,d], mask [B*n]. It is symmetric: applied to the gradient of dst it gives that of x.
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
